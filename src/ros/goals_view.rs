//! What the GoalTracker's thread shows to all others.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Wake;
use crate::goal::{AbandonedGoal, Counters, GoalIncident, LiveGoal, Ticket};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// What others may know about the goals without waiting for their owner.
#[derive(Clone, Debug, Default)]
pub struct GoalsView {
    /// Goals that have not ended, oldest first, tickets as their link knows them.
    pub live: Vec<LiveGoal>,
    /// The names of their servers, in the same order.
    pub servers: Vec<Arc<str>>,
    /// Goals that were given up and may be executing, oldest first, and the names of their servers.
    pub abandoned: Vec<(AbandonedGoal, Arc<str>)>,
    /// Whether nothing at all is left to look after; after a shut-down, the moment to exit.
    pub idle: bool,
    /// What has happened so far.
    pub counters: Counters,
    /// Requests of all clients that have had no answer.
    pub pending_requests: PendingRequests,
    /// The latest reports, oldest first, at most [`GoalsView::REPORTS`].
    pub reports: VecDeque<GoalIncident>,
}

impl GoalsView {
    /// How many reports are kept.
    pub const REPORTS: usize = 50;
}

/// Requests without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PendingRequests {
    /// Those whose answer may still come.
    pub unanswered: usize,
    /// Those whose server has vanished since: what r2r has leaked.
    pub written_off: u64,
}

impl std::ops::AddAssign for PendingRequests {
    fn add_assign(&mut self, other: Self) {
        self.unanswered += other.unanswered;
        self.written_off += other.written_off;
    }
}

/// Where the view hangs, two counts that tell whether it is up to date for whoever asked for something, and whether the
/// thread waits or works.
pub(super) struct GoalsBoard {
    /// Inputs that change goals: those sent and those handled. The view is as old as the second.
    sent: AtomicU64,
    handled: AtomicU64,
    /// Beginnings and ends of what the thread does between two waits.
    beats: AtomicU64,
    view: Mutex<GoalsView>,
    wakes: Mutex<Vec<Wake>>,
}

impl Default for GoalsBoard {
    /// Without goals.
    fn default() -> Self {
        Self {
            sent: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            beats: AtomicU64::new(0),
            view: Mutex::new(GoalsView {
                idle: true,
                ..GoalsView::default()
            }),
            wakes: Mutex::default(),
        }
    }
}

impl GoalsBoard {
    /// Counts an input. Before it is sent: whoever sent it must not find it settled before it was handled.
    pub(super) fn count_in(&self) {
        self.sent.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts inputs that were handled. After the view was shown, so that who sees its input handled sees what came of
    /// it.
    pub(super) fn count_out(&self, handled: u64) {
        self.handled.fetch_add(handled, Ordering::AcqRel);
    }

    /// The thread begins to work, or is about to wait.
    pub(super) fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Grows whenever the thread begins to work and when it waits again; odd while it works.
    pub(super) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Whether all inputs so far were handled and no goal keeps a session with these tickets from being over.
    pub(super) fn is_settled(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        let handled = self.handled.load(Ordering::Acquire) == self.sent.load(Ordering::Acquire);
        handled && !self.view().live.iter().any(|goal| goal.holds_up(&of_session))
    }

    /// The view, for a moment.
    pub(super) fn view(&self) -> MutexGuard<'_, GoalsView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings whenever the live goals have changed.
    pub(super) fn ring_on_change(&self, wake: Wake) {
        self.wakes().push(wake);
    }

    /// Shows the present state, but for the reports.
    pub(super) fn show(&self, now: GoalsView) {
        let mut view = self.view();
        let same = view.live == now.live;
        let reports = std::mem::take(&mut view.reports);
        *view = GoalsView { reports, ..now };
        drop(view);
        if !same {
            for wake in self.wakes().iter() {
                wake.ring();
            }
        }
    }

    fn wakes(&self) -> MutexGuard<'_, Vec<Wake>> {
        self.wakes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
