//! Detects a leaf that blocks the tick thread, and jobs that do not end.

use std::time::{Duration, Instant};

use super::Heartbeat;
use super::goal::NavigationId;
use crate::bt::Time;
use crate::job::{JobRegistry, StallDetector, StallNotice};
use crate::robot_name;

/// Watches one tick thread and the jobs of its trees. A thread that never waits for the watched ones calls
/// [`Watchdog::check`] once in each period.
pub struct Watchdog {
    heartbeat: Heartbeat,
    jobs: JobRegistry,
    limit: Duration,
    report: Box<dyn FnMut(String) + Send>,
    cancel_all_goals: Box<dyn FnMut() + Send>,
    started: Instant,
    tick_stalls: StallDetector,
    is_blocked: bool,
    cancelled_for: Option<NavigationId>,
}

impl std::fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watchdog")
            .field("is_blocked", &self.is_blocked)
            .finish_non_exhaustive()
    }
}

/// The period of a watchdog that watches nothing. Others are called with it as well.
const MAX_PERIOD: Duration = Duration::from_millis(500);

impl Watchdog {
    /// Watches the tick thread and the jobs of its trees.
    ///
    /// - `limit`: maximum time of a tick or a job before it is reported. Zero: they are not watched.
    /// - `report`: logs a message.
    /// - `cancel_all_goals`: called when a cancel of the active goal waits for a blocked tick thread. The goals of its
    ///   leaves and their jobs can be cancelled without that thread. The tree is halted as soon as the thread returns.
    pub fn new(
        heartbeat: Heartbeat,
        jobs: JobRegistry,
        limit: Duration,
        report: impl FnMut(String) + Send + 'static,
        cancel_all_goals: impl FnMut() + Send + 'static,
    ) -> Self {
        Self {
            heartbeat,
            jobs,
            limit,
            report: Box::new(report),
            cancel_all_goals: Box::new(cancel_all_goals),
            started: Instant::now(),
            tick_stalls: StallDetector::default(),
            is_blocked: false,
            cancelled_for: None,
        }
    }

    /// The time between two checks.
    pub fn period(&self) -> Duration {
        if self.limit.is_zero() {
            return MAX_PERIOD;
        }
        (self.limit / 4).clamp(Duration::from_millis(10), MAX_PERIOD)
    }

    /// Checks once.
    pub fn check(&mut self) {
        if self.limit.is_zero() {
            return;
        }
        let now = Time::ZERO + self.started.elapsed();
        self.check_ticks(now);
        for text in self.jobs.check(now, self.limit) {
            (self.report)(text);
        }
    }

    fn check_ticks(&mut self, now: Time) {
        // The leaf is read first: if it returns before the count is read, nothing is reported.
        let leaf = self.heartbeat.leaf();
        match self.tick_stalls.check(self.heartbeat.beats(), now, self.limit) {
            Some(StallNotice::Stalled(time)) => {
                self.is_blocked = true;
                (self.report)(blocked_message(leaf.as_deref(), time));
            }
            Some(StallNotice::Recovered(time)) => {
                (self.is_blocked, self.cancelled_for) = (false, None);
                (self.report)(format!("tick thread responds again after {time:.1?}"));
            }
            None => {}
        }
        if self.is_blocked
            && let Some(goal) = self.heartbeat.waiting_cancel()
            && self.cancelled_for != Some(goal)
        {
            self.cancelled_for = Some(goal);
            (self.report)(
                "tick thread is blocked and its goal is cancelled: the watchdog cancels all goals".to_owned(),
            );
            (self.cancel_all_goals)();
            let (jobs, heartbeat) = (self.jobs.clone(), self.heartbeat.clone());
            // Without another look at the cancel: the leaves are halted, and the tick thread, which may have answered in
            // between and begun with the next goal, has to know.
            let cancel_jobs = move || cancel_jobs(goal, &heartbeat, &jobs);
            // Wakers and destructors of a user's executor may take long, and this thread has other duties.
            let started = std::thread::Builder::new()
                .name("cancel-jobs".to_owned())
                .spawn(robot_name::inherit(cancel_jobs));
            if let Err(error) = started {
                self.cancelled_for = None;
                (self.report)(format!("jobs not cancelled, next attempt soon: {error}"));
            }
        }
    }
}

/// Cancels the goals and jobs of the tree of a goal without the tick thread, if its cancel still waits for the thread: a
/// leaf blocks it. The thread halts the tree when it answers again.
pub fn cancel_without_ticks(
    goal: NavigationId,
    heartbeat: &Heartbeat,
    jobs: &JobRegistry,
    cancel_all_goals: impl FnOnce(),
) {
    if heartbeat.waiting_cancel() != Some(goal) {
        return;
    }
    cancel_all_goals();
    cancel_jobs(goal, heartbeat, jobs);
}

fn cancel_jobs(goal: NavigationId, heartbeat: &Heartbeat, jobs: &JobRegistry) {
    jobs.cancel_all();
    // Not earlier: when the tick thread reads this, the goals and jobs of its tree must be cancelled.
    heartbeat.cancelled_externally(goal);
}

fn blocked_message(leaf: Option<&str>, time: Duration) -> String {
    let advice = "a tick must return at once; move long work to a job";
    match leaf {
        Some(leaf) => format!("leaf `{leaf}` has blocked the tick thread for {time:.1?}: {advice}"),
        None => {
            format!("tick thread has been blocked for {time:.1?}, not by a custom leaf")
        }
    }
}
