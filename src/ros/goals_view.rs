//! The state of the GoalTracker's thread for all other threads.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::goal::{AbandonedGoal, Counters, GoalIncident, LiveGoal, Ticket};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The state of the goals, readable without waiting for the thread that owns them.
#[derive(Clone, Debug, Default)]
pub struct GoalsView {
    /// Goals that have not ended, oldest first, with the tickets of their links.
    pub live: Vec<LiveGoal>,
    /// The names of their servers, in the same order.
    pub servers: Vec<Arc<str>>,
    /// Abandoned goals that may still be executing, oldest first, and the names of their servers.
    pub abandoned: Vec<(AbandonedGoal, Arc<str>)>,
    /// Whether the GoalTracker has no work left; after a shutdown, the process can exit.
    pub idle: bool,
    /// Counts of events so far.
    pub counters: Counters,
    /// Unanswered requests of all clients.
    pub pending_requests: PendingRequests,
    /// The latest reports, oldest first, at most [`GoalsView::REPORTS`].
    pub reports: VecDeque<GoalIncident>,
}

impl GoalsView {
    /// The maximum number of reports.
    pub const REPORTS: usize = 50;
}

/// Counts of unanswered requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PendingRequests {
    /// Requests whose answer may still arrive.
    pub unanswered: usize,
    /// Requests whose server has disappeared since: they may still be answered.
    pub written_off: u64,
}

impl std::ops::AddAssign for PendingRequests {
    fn add_assign(&mut self, other: Self) {
        self.unanswered += other.unanswered;
        self.written_off += other.written_off;
    }
}

/// Holds the view, two counts that tell whether it includes all inputs, and whether the thread waits or works.
pub(super) struct GoalsBoard {
    /// The counts of inputs that change goals: sent and handled. The view is as old as `handled`.
    sent: AtomicU64,
    handled: AtomicU64,
    /// The number of changes between waiting and working.
    beats: AtomicU64,
    view: Mutex<GoalsView>,
    change_listeners: Mutex<Vec<ChangeListener>>,
}

/// Called after a change of the live goals. It must not wait.
pub(super) type ChangeListener = Box<dyn Fn() + Send>;

impl Default for GoalsBoard {
    /// A view without goals.
    fn default() -> Self {
        Self {
            sent: AtomicU64::new(0),
            handled: AtomicU64::new(0),
            beats: AtomicU64::new(0),
            view: Mutex::new(GoalsView {
                idle: true,
                ..GoalsView::default()
            }),
            change_listeners: Mutex::default(),
        }
    }
}

impl GoalsBoard {
    /// Counts an input. Call it before the input is sent: a thread must not find the goals settled while this
    /// input waits.
    pub(super) fn count_in(&self) {
        self.sent.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts handled inputs. Call it after the view was published: a thread that finds its input handled also finds
    /// its effects in the view.
    pub(super) fn count_out(&self, handled: u64) {
        self.handled.fetch_add(handled, Ordering::AcqRel);
    }

    /// Whether inputs wait, so the view may lack goals.
    pub(super) fn has_unhandled(&self) -> bool {
        self.handled.load(Ordering::Acquire) != self.sent.load(Ordering::Acquire)
    }

    /// Records that the thread begins to work or is about to wait.
    pub(super) fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// A counter that grows when the thread begins to work and when it waits again; odd while it works.
    pub(super) fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Whether all inputs so far were handled and no goal with a ticket of the session keeps it from ending.
    pub(super) fn is_settled(&self, of_session: impl Fn(Ticket) -> bool) -> bool {
        !self.has_unhandled()
            && !self
                .view()
                .live
                .iter()
                .any(|goal| goal.delays_result(&of_session))
    }

    /// The view, locked; release it soon.
    pub(super) fn view(&self) -> MutexGuard<'_, GoalsView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a listener for [`GoalsBoard::notify_change`].
    pub(super) fn on_change(&self, listener: ChangeListener) {
        self.change_listeners().push(listener);
    }

    /// Reports that the live goals have changed. Call it after [`GoalsBoard::count_out`]: a listener may check at once
    /// whether its goals are settled.
    pub(super) fn notify_change(&self) {
        for listener in self.change_listeners().iter() {
            listener();
        }
    }

    /// Publishes the current state, without the reports. Returns whether the live goals have changed.
    pub(super) fn show(&self, now: GoalsView) -> bool {
        let mut view = self.view();
        let same = view.live == now.live;
        let reports = std::mem::take(&mut view.reports);
        *view = GoalsView { reports, ..now };
        !same
    }

    fn change_listeners(&self) -> MutexGuard<'_, Vec<ChangeListener>> {
        self.change_listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
