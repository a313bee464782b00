//! What the tick thread tells of itself, for whoever watches it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bt::CurrentNode;
use crate::goal::GoalId;

/// What the tick thread tells of itself, for two stores a tick. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<HeartbeatInner>);

#[derive(Debug, Default)]
struct HeartbeatInner {
    /// Counts beginnings and ends of work: odd while the thread is at it.
    beats: AtomicU64,
    /// Of the tree that runs.
    current_node: Mutex<Option<CurrentNode>>,
    goals: Mutex<Goals>,
    /// Whether [`Goals::cancelled_without`] is there: looked at before every tick.
    is_cancelled_without: AtomicBool,
}

/// The navigation goals that matter to a watchdog.
#[derive(Debug, Default)]
struct Goals {
    /// Whose tree runs.
    pursued: Option<GoalId>,
    /// Those that somebody wants cancelled, while the thread has not taken note.
    cancels: Vec<GoalId>,
    /// What its tree had started was cancelled without the thread, which has not taken note.
    cancelled_without: Option<GoalId>,
}

impl Heartbeat {
    /// A thread at rest.
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread begins to work.
    pub(crate) fn begin(&self) {
        self.step();
    }

    /// It has done its work.
    pub(crate) fn end(&self) {
        self.step();
    }

    fn step(&self) {
        // Written by the tick thread only.
        let beats = self.0.beats.load(Ordering::Relaxed);
        self.0.beats.store(beats + 1, Ordering::Relaxed);
    }

    /// Another tree is about to run.
    pub(crate) fn follow(&self, current_node: CurrentNode) {
        *self.0.current_node.lock().unwrap_or_else(PoisonError::into_inner) = Some(current_node);
    }

    fn goals(&self) -> MutexGuard<'_, Goals> {
        self.0.goals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree is about to run for this goal.
    pub(crate) fn pursue(&self, goal: GoalId) {
        self.goals().pursued = Some(goal);
    }

    /// No tree runs any more: whatever the thread does next is done for no goal that may be cancelled.
    pub(crate) fn pursue_nothing(&self) {
        self.goals().pursued = None;
    }

    /// Somebody has asked for a cancel.
    pub(crate) fn cancel_asked(&self, goal: GoalId) {
        let mut goals = self.goals();
        if !goals.cancels.contains(&goal) {
            goals.cancels.push(goal);
        }
    }

    /// The thread has taken note of it.
    pub(crate) fn cancel_taken(&self, goal: GoalId) {
        self.goals().cancels.retain(|asked| *asked != goal);
    }

    /// The goal that is pursued, where a cancel of it waits for the thread. A cancel of another goal is no reason to
    /// stop this one.
    pub(super) fn waiting_cancel(&self) -> Option<GoalId> {
        let goals = self.goals();
        goals.pursued.filter(|goal| goals.cancels.contains(goal))
    }

    /// What leaves had started was cancelled without the thread, for the sake of this goal.
    pub(crate) fn cancelled_without(&self, goal: GoalId) {
        self.goals().cancelled_without = Some(goal);
        self.0.is_cancelled_without.store(true, Ordering::Release);
    }

    /// Whether the thread has not taken note of that: a load.
    pub(super) fn is_cancelled_without(&self) -> bool {
        self.0.is_cancelled_without.load(Ordering::Acquire)
    }

    /// Takes note of that.
    pub(crate) fn take_cancelled_without(&self) -> Option<GoalId> {
        if !self.is_cancelled_without() {
            return None;
        }
        self.0.is_cancelled_without.store(false, Ordering::Release);
        self.goals().cancelled_without.take()
    }

    pub(super) fn beats(&self) -> u64 {
        self.0.beats.load(Ordering::Relaxed)
    }

    /// The leaf that the thread is in, where that is one of those that may keep it.
    pub fn leaf(&self) -> Option<Arc<str>> {
        let current_node = self.0.current_node.lock().unwrap_or_else(PoisonError::into_inner);
        current_node.as_ref().and_then(CurrentNode::path)
    }
}
