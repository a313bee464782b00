//! The heartbeat of the tick thread, for a watchdog.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::goal::{NavigationId, NavigationResult};
use crate::bt::{CurrentNode, HaltReason};

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
    /// Whether [`Goals::overtaking`] is set. Read at each tick.
    is_overtaken: AtomicBool,
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
    /// See [`Heartbeat::overtake`]. The thread has not processed it.
    overtaking: Option<Overtaking>,
}

/// A request to cancel a navigation goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CancelRequest {
    pub(crate) goal: NavigationId,
    /// The error message for the client of the goal, if the request is not its own.
    pub(crate) message: Option<&'static str>,
}

/// The reason why all leaves of a tree were halted without its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overtaking {
    /// The goal of the tree was cancelled.
    Cancel(CancelRequest),
    /// The node is deactivated, or the process ends.
    Halt(HaltReason),
}

impl Goals {
    fn cancel_of(&self, goal: NavigationId) -> Option<&CancelRequest> {
        self.cancels.iter().find(|request| request.goal == goal)
    }

    fn active_cancel(&self) -> Option<CancelRequest> {
        self.cancel_of(self.active_goal?).copied()
    }
}

impl CancelRequest {
    /// The result of the goal.
    pub(crate) fn result(&self) -> NavigationResult {
        match self.message {
            Some(message) => NavigationResult::stopped(message),
            None => NavigationResult::canceled(""),
        }
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

    /// Whether a cancel of this goal waits for the thread.
    pub(super) fn has_cancel_of(&self, goal: NavigationId) -> bool {
        self.goals().cancel_of(goal).is_some()
    }

    /// The cancel of the active goal that waits for the thread. A cancel of another goal is no reason to stop this one.
    pub(super) fn waiting_cancel(&self) -> Option<CancelRequest> {
        self.goals().active_cancel()
    }

    /// Halts all leaves without the thread, by `halt_all`: their goals and their jobs. What they ask for in the tick that
    /// the thread may execute has no effect, so the thread ends that run. `halt_all` must not wait.
    ///
    /// The thread cannot begin with another tree in between: the halt of all leaves would be about leaves of that tree.
    /// If the client of the goal has cancelled it before, that is the reason.
    pub(crate) fn overtake<T>(&self, reason: HaltReason, halt_all: impl FnOnce() -> T) -> T {
        let mut goals = self.goals();
        let overtaking = goals
            .active_cancel()
            .map_or(Overtaking::Halt(reason), Overtaking::Cancel);
        self.overtake_with(&mut goals, overtaking, halt_all)
    }

    /// Like [`Heartbeat::overtake`], because of a cancel of this goal that waits for the thread. Returns `None` if it does
    /// not wait any more, or if the tree of another goal runs: then nothing is halted.
    pub(crate) fn overtake_for_cancel<T>(
        &self,
        goal: NavigationId,
        halt_all: impl FnOnce() -> T,
    ) -> Option<T> {
        let mut goals = self.goals();
        let request = goals.active_cancel().filter(|request| request.goal == goal)?;
        Some(self.overtake_with(&mut goals, Overtaking::Cancel(request), halt_all))
    }

    fn overtake_with<T>(&self, goals: &mut Goals, overtaking: Overtaking, halt_all: impl FnOnce() -> T) -> T {
        goals.overtaking.get_or_insert(overtaking);
        self.0.is_overtaken.store(true, Ordering::Release);
        halt_all()
    }

    /// Whether all leaves of the tree were halted without the thread. Costs one load.
    pub(super) fn is_overtaken(&self) -> bool {
        self.0.is_overtaken.load(Ordering::Acquire)
    }

    /// Takes the reason for which they were halted.
    pub(super) fn take_overtaking(&self) -> Option<Overtaking> {
        if !self.is_overtaken() {
            return None;
        }
        let mut goals = self.goals();
        self.0.is_overtaken.store(false, Ordering::Release);
        goals.overtaking.take()
    }

    /// A tree is about to run whose leaves were not halted. Forgets what was done to the tree before it.
    pub(super) fn begin_session(&self) {
        self.take_overtaking();
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
