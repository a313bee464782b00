//! The cancels of a goal that its leaf has not requested: by Cancel nodes of the tree, and by other clients.

use crate::goal::{Outcome, Ticket};
use crate::nav::link::Payload;

/// The end of a request of a Cancel node.
pub(super) enum CancelAnswer {
    /// The tickets of the goals of this tree that it cancels; `None` for a goal that ended long ago.
    Of(Vec<Option<Ticket>>),
    /// There was no answer: it may cancel goals.
    Missing,
    /// It was not sent, or failed: it cancels no goal.
    None,
}

impl CancelAnswer {
    pub(super) fn of(outcome: &Outcome<Payload>) -> Self {
        match outcome {
            Outcome::CancelAnswered(goals) => Self::Of(goals.clone()),
            Outcome::ResponseTimeout | Outcome::ServerGone => Self::Missing,
            _ => Self::None,
        }
    }
}

/// The cancels of one goal. A server does not say who cancels a goal. If the answer to a Cancel node names the goal, the
/// tree has cancelled it. If all Cancel nodes have their answers and none names it, another client has. Until then it is
/// not decided.
#[derive(Clone, Debug, Default)]
pub(in crate::nav) struct GoalCancels {
    /// The server cancels the goal, or has cancelled it.
    is_seen: bool,
    /// A Cancel node of the tree cancels the goal: its server says so.
    is_by_tree: bool,
    /// The requests of Cancel nodes that may cancel the goal and are not answered yet, with the number of updates of the
    /// goal that were requested before.
    open: Vec<(Ticket, u64)>,
    /// One of those requests got no answer.
    is_unanswered: bool,
    /// The number of updates that were requested before the last Cancel node whose request is answered.
    stopped_updates: u64,
}

impl GoalCancels {
    /// The server says that it cancels the goal.
    pub(super) fn seen(&mut self) {
        self.is_seen = true;
    }

    /// A Cancel node sends a request, after this number of updates of the goal. It may cancel the goal, unless the server has
    /// said before that it cancels it.
    pub(super) fn requested(&mut self, request: Ticket, updates: u64) {
        if !self.is_seen {
            self.open.push((request, updates));
        }
    }

    /// A request of a Cancel node, which may cancel the goal, has no answer.
    pub(super) fn unanswered(&mut self) {
        self.is_unanswered = true;
    }

    /// A request of a Cancel node has ended. `goal` is the ticket of this goal. Returns whether the request could cancel
    /// this goal.
    pub(super) fn answered(
        &mut self,
        request: Ticket,
        answer: &CancelAnswer,
        goal: Ticket,
        has_ended: bool,
    ) -> bool {
        let Some(index) = self.open.iter().position(|(open, _)| *open == request) else {
            return false;
        };
        let (_, updates) = self.open.swap_remove(index);
        if let CancelAnswer::Of(goals) = answer {
            self.stopped_updates = self.stopped_updates.max(updates);
            // An entry without a ticket may be any goal that has ended.
            let names_goal = |named: &Option<Ticket>| named.map_or(has_ended, |named| named == goal);
            self.is_by_tree |= goals.iter().any(names_goal);
        }
        true
    }

    /// Whether an open request of a Cancel node may be the cause of the cancel. The leaf waits for its answer: if another
    /// client has stopped the robot, nothing else of the tree runs (guarantee G3).
    pub(in crate::nav) fn are_undecided(&self) -> bool {
        self.is_seen && !self.is_by_tree && !self.open.is_empty()
    }

    /// Whether an update of the goal, if it has not left yet, may not be sent any more: another client or a Cancel node has
    /// stopped the robot. `number`: the number of updates with this one. Also if a Cancel node came after the update, and the
    /// goal ended by itself before its server handled that request.
    pub(super) fn stop_update(&self, number: u64) -> bool {
        self.is_seen || self.stopped_updates >= number
    }

    /// Whether it depends on an open request of a Cancel node, which came after this update, if the update may be sent.
    pub(super) fn may_stop_update(&self, number: u64) -> bool {
        !self.stop_update(number) && self.open.iter().any(|(_, updates)| *updates >= number)
    }

    /// Whether another client has cancelled the goal, and no Cancel node of the tree.
    pub(in crate::nav) fn are_by_another(&self) -> bool {
        self.is_seen && !self.is_by_tree && self.open.is_empty()
    }

    /// The error message of a leaf whose goal is cancelled, and not by the leaf.
    pub(in crate::nav) fn words(&self) -> &'static str {
        if !self.are_by_another() {
            "a Cancel node cancelled the goal"
        } else if self.is_unanswered {
            "another client or a Cancel node, whose request was not answered, cancelled the goal"
        } else {
            "another client cancelled the goal"
        }
    }
}
