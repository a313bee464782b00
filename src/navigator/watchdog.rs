//! Detects a leaf that blocks the tick thread, and jobs that do not end.

use std::time::{Duration, Instant};

#[cfg(feature = "ros")]
use super::Handle;
use super::Heartbeat;
use super::goal::NavigationId;
use super::heartbeat::CancelRequest;
#[cfg(feature = "ros")]
use crate::bt::HaltReason;
use crate::bt::Time;
use crate::job::{HaltedJobs, JobRegistry, StallDetector, StallNotice};

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

/// The period of a watchdog that watches nothing, or an idle thread.
const MAX_PERIOD: Duration = Duration::from_millis(500);

impl Watchdog {
    /// Watches the tick thread and the jobs of its trees.
    ///
    /// - `limit`: maximum time of a tick or a job before it is reported. Zero: they are not watched.
    /// - `report`: logs a message.
    /// - `cancel_all_goals`: called when a cancel of the active goal waits for a blocked tick thread. The goals of its
    ///   leaves and their jobs can be cancelled without that thread. The tree is halted as soon as the thread returns.
    ///   It must not wait.
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
        if self.limit.is_zero() || self.heartbeat.current_goal().is_none() {
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
            && let Some(CancelRequest { goal, .. }) = self.heartbeat.waiting_cancel()
            && self.cancelled_for != Some(goal)
            && let Some(jobs) = self.heartbeat.overtake_for_cancel(goal, || {
                (self.cancel_all_goals)();
                self.jobs.halt_all()
            })
        {
            self.cancelled_for = Some(goal);
            (self.report)(
                "tick thread is blocked and its goal has to end: the watchdog cancels all goals".to_owned(),
            );
            if let Err(error) = jobs.wake_on_thread() {
                self.cancelled_for = None;
                (self.report)(format!(
                    "jobs not woken for their cancel, next attempt soon: {error}"
                ));
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
    let halt_all = || {
        cancel_all_goals();
        jobs.halt_all()
    };
    if let Some(jobs) = heartbeat.overtake_for_cancel(goal, halt_all) {
        wake(jobs);
    }
}

/// The same because the node is deactivated, or because the process ends.
#[cfg(feature = "ros")]
pub(crate) fn halt_without_ticks(
    reason: HaltReason,
    ticks: &Handle,
    jobs: &JobRegistry,
    cancel_all_goals: impl FnOnce(),
) {
    wake(ticks.overtake(reason, || {
        cancel_all_goals();
        jobs.halt_all()
    }));
}

fn wake(jobs: HaltedJobs) {
    if let Err(error) = jobs.wake_on_thread() {
        tracing::error!("jobs are not woken for their cancel: {error}");
    }
}

fn blocked_message(leaf: Option<&str>, time: Duration) -> String {
    let advice = "a tick must return at once; move long work to a job";
    match leaf {
        Some(leaf) => format!("leaf `{leaf}` has blocked the tick thread for {time:.1?}: {advice}"),
        None => {
            format!(
                "tick thread has been blocked for {time:.1?}, not in the tick or halt of a leaf: the set-up or the drop \
                 of a custom leaf may block"
            )
        }
    }
}
