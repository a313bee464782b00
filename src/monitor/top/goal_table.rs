//! The goals and calls of a run.

use std::collections::{BTreeMap, VecDeque};

use crate::bt::Time;

/// Number of ended goals that are kept.
const MAX_ENDED: usize = 30;

/// A goal, a call or a cancel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Goal {
    /// `goal`, `call` or `cancel`.
    pub(super) kind: String,
    /// The number of the leaf.
    pub(super) leaf: Option<u32>,
    pub(super) server: String,
    pub(super) state: String,
    /// Why it ended so.
    pub(super) details: String,
    pub(super) sent: Time,
    /// When it ended.
    pub(super) ended: Option<Time>,
}

/// The goals by their tickets, and those that ended, the newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct GoalTable {
    live: BTreeMap<u64, Goal>,
    ended: VecDeque<Goal>,
}

impl GoalTable {
    /// A goal was sent.
    pub(super) fn send(&mut self, ticket: u64, kind: &str, leaf: Option<u32>, server: &str, time: Time) {
        let goal = Goal {
            kind: kind.to_owned(),
            leaf,
            server: server.to_owned(),
            state: "sent".to_owned(),
            details: String::new(),
            sent: time,
            ended: None,
        };
        self.live.insert(ticket, goal);
    }

    /// A goal has another state.
    pub(super) fn update(&mut self, ticket: u64, state: &str) {
        if let Some(goal) = self.live.get_mut(&ticket).filter(|_| state != "updated") {
            state.clone_into(&mut goal.state);
        }
    }

    /// A goal ended. Returns its leaf.
    pub(super) fn end(&mut self, ticket: u64, state: &str, details: &str, time: Time) -> Option<u32> {
        let mut goal = self.live.remove(&ticket)?;
        let leaf = goal.leaf;
        state.clone_into(&mut goal.state);
        details.clone_into(&mut goal.details);
        goal.ended = Some(time);
        self.ended.push_front(goal);
        self.ended.truncate(MAX_ENDED);
        leaf
    }

    /// The goals in flight, and then those that ended.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Goal> {
        self.live.values().chain(&self.ended)
    }
}
