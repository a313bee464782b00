//! The heartbeat of the tick thread, for a watchdog.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::goal::NavigationId;
use crate::bt::CurrentNode;

/// The activity of the tick thread, at a cost of two stores per tick. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Heartbeat(Arc<HeartbeatInner>);

#[derive(Debug, Default)]
struct HeartbeatInner {
    /// Number of begins and ends of work: odd while the thread works.
    beats: AtomicU64,
    /// The current node of the running tree.
    current_node: Mutex<Option<CurrentNode>>,
    goals: Mutex<Goals>,
    /// Whether [`Goals::cancelled_externally`] is set. Read before each tick.
    is_cancelled_externally: AtomicBool,
}

/// The navigation goals that a watchdog needs.
#[derive(Debug, Default)]
struct Goals {
    /// The goal whose tree runs.
    active_goal: Option<NavigationId>,
    /// The goal whose tree has ended or was halted, while its goals and jobs stop.
    stopping_goal: Option<NavigationId>,
    /// The cancel requests that the thread has not processed.
    cancels: Vec<CancelRequest>,
    /// The request for which all goals and jobs of the tree were cancelled without the thread. The thread has not
    /// processed this yet.
    cancelled_externally: Option<CancelRequest>,
}

/// A request to cancel a navigation goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CancelRequest {
    pub(crate) goal: NavigationId,
    /// The error message for the client of the goal, if the request is not its own.
    pub(crate) message: Option<&'static str>,
}

impl Goals {
    fn cancel_of(&self, goal: NavigationId) -> Option<&CancelRequest> {
        self.cancels.iter().find(|request| request.goal == goal)
    }
}

impl Heartbeat {
    /// The heartbeat of an idle thread.
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread begins to work.
    pub(crate) fn begin(&self) {
        self.step();
    }

    /// The thread ends its work.
    pub(crate) fn end(&self) {
        self.step();
    }

    fn step(&self) {
        // Only the tick thread writes it.
        let beats = self.0.beats.load(Ordering::Relaxed);
        self.0.beats.store(beats + 1, Ordering::Relaxed);
    }

    /// Sets the current node of the tree that is about to run.
    pub(crate) fn follow(&self, current_node: CurrentNode) {
        *self.0.current_node.lock().unwrap_or_else(PoisonError::into_inner) = Some(current_node);
    }

    fn goals(&self) -> MutexGuard<'_, Goals> {
        self.0.goals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the goal whose tree is about to run.
    pub(crate) fn set_goal(&self, goal: NavigationId) {
        let mut goals = self.goals();
        (goals.active_goal, goals.stopping_goal) = (Some(goal), None);
    }

    /// No tree runs any more. The following work of the thread belongs to no goal whose leaves can be cancelled.
    pub(crate) fn goal_is_stopping(&self) {
        let mut goals = self.goals();
        goals.stopping_goal = goals.active_goal.take();
    }

    /// All goals and jobs of the stopping goal have stopped.
    pub(crate) fn goal_has_stopped(&self) {
        self.goals().stopping_goal = None;
    }

    /// The goal whose tree runs.
    pub fn active_goal(&self) -> Option<NavigationId> {
        self.goals().active_goal
    }

    /// The goal whose tree runs, or which is stopping. Another goal may wait until it has stopped.
    pub fn current_goal(&self) -> Option<NavigationId> {
        let goals = self.goals();
        goals.active_goal.or(goals.stopping_goal)
    }

    /// Adds a cancel request of the client of the goal.
    pub(crate) fn cancel_requested(&self, goal: NavigationId) {
        self.add_cancel(goal, None);
    }

    /// Adds a cancel request of an operator, with the error message for the client of the goal.
    pub(crate) fn end_requested(&self, goal: NavigationId, message: &'static str) {
        self.add_cancel(goal, Some(message));
    }

    /// Adds a cancel request. The first one for a goal counts.
    fn add_cancel(&self, goal: NavigationId, message: Option<&'static str>) {
        let mut goals = self.goals();
        if goals.cancel_of(goal).is_none() {
            goals.cancels.push(CancelRequest { goal, message });
        }
    }

    /// Removes a cancel request, which the thread has processed.
    pub(crate) fn cancel_processed(&self, goal: NavigationId) {
        self.goals().cancels.retain(|request| request.goal != goal);
    }

    /// The active goal, if its cancel waits for the thread. A cancel of another goal is no reason to stop this one.
    pub(super) fn waiting_cancel(&self) -> Option<NavigationId> {
        let goals = self.goals();
        goals.active_goal.filter(|goal| goals.cancel_of(*goal).is_some())
    }

    /// Records that the goals and jobs of the leaves were cancelled without the thread, because of a cancel of this
    /// goal.
    pub(crate) fn cancelled_externally(&self, goal: NavigationId) {
        let mut goals = self.goals();
        let message = goals.cancel_of(goal).and_then(|request| request.message);
        goals.cancelled_externally = Some(CancelRequest { goal, message });
        drop(goals);
        self.0.is_cancelled_externally.store(true, Ordering::Release);
    }

    /// Returns whether the thread has not processed that record. Costs one load.
    pub(super) fn is_cancelled_externally(&self) -> bool {
        self.0.is_cancelled_externally.load(Ordering::Acquire)
    }

    /// Takes that record.
    pub(crate) fn take_cancelled_externally(&self) -> Option<CancelRequest> {
        if !self.is_cancelled_externally() {
            return None;
        }
        self.0.is_cancelled_externally.store(false, Ordering::Release);
        self.goals().cancelled_externally.take()
    }

    pub(super) fn beats(&self) -> u64 {
        self.0.beats.load(Ordering::Relaxed)
    }

    /// The leaf that the thread executes, if it is one that may block the thread.
    pub fn leaf(&self) -> Option<Arc<str>> {
        let current_node = self.0.current_node.lock().unwrap_or_else(PoisonError::into_inner);
        current_node.as_ref().and_then(CurrentNode::path)
    }
}
