//! Detects a thread that is blocked in the middleware.

use std::process;
use std::time::{Duration, Instant};

use crate::bt::Time;
use crate::job::{StallDetector, StallNotice};
use crate::ros::{GoalTrackerHandle, RosHandle};

/// A thread without a round for this time counts as stalled. Fast DDS limits a write to 0.1 s; a profile of the user
/// may have no limit.
const STALL_LIMIT: Duration = Duration::from_secs(10);

/// Maximum delay of a check. The process did not run in the rest of a longer delay (SIGSTOP, a suspended machine).
const MAX_CHECK_DELAY: Duration = Duration::from_secs(1);

/// Checks the threads that send and receive. A stalled thread sends or receives no cancel, so the robot continues to
/// move (G3). If there are active goals and a guardian runs, the process is aborted and the guardian cancels the goals
/// (G11). Otherwise the stall is reported.
#[derive(Debug)]
pub(super) struct StalledThreads {
    threads: Vec<(&'static str, StallDetector)>,
    /// The time in which the process ran.
    now: Time,
    last_check: Instant,
    /// The abort of the process was logged. The line has until the next check to be written.
    aborts_at_next_check: bool,
}

impl Default for StalledThreads {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            now: Time::ZERO,
            last_check: Instant::now(),
            aborts_at_next_check: false,
        }
    }
}

impl StalledThreads {
    /// Checks once. Call it at least once in [`MAX_CHECK_DELAY`]. `has_guardian`: a guardian that knows the goals runs now.
    pub(super) fn check(&mut self, ros: &RosHandle, goal_tracker: &GoalTrackerHandle, has_guardian: bool) {
        let check_time = Instant::now();
        let elapsed = check_time.duration_since(std::mem::replace(&mut self.last_check, check_time));
        self.now = self.now + elapsed.min(MAX_CHECK_DELAY);
        // The end of a thread is handled elsewhere.
        if ros.thread_exit().is_some() {
            return;
        }
        let may_abort = has_guardian && goal_tracker.may_have_goals();
        for (thread, beats) in [ros.beats(), ("goal-tracker", goal_tracker.beats())] {
            match self.detect_stall(thread, beats) {
                Some(StallNotice::Recovered(time)) => {
                    tracing::error!("watchdog: thread `{thread}` responds again after {time:.1?}");
                }
                Some(StallNotice::Stalled(time)) if !may_abort => tracing::error!(
                    "watchdog: thread `{thread}` has been blocked in the middleware for {time:.1?}: goals can be \
                     neither sent nor cancelled"
                ),
                Some(StallNotice::Stalled(_)) | None => {}
            }
        }
        // Not only when the stall begins: the guardian may have ended, and is started again later.
        let stalled = self.threads.iter().find(|(_, detector)| detector.has_reported());
        match stalled.filter(|_| may_abort) {
            Some(_) if self.aborts_at_next_check => process::abort(),
            Some((thread, _)) => {
                tracing::error!(
                    "watchdog: thread `{thread}` has been blocked in the middleware for {STALL_LIMIT:?} or longer: aborting \
                     the process, so that the guardian cancels its goals"
                );
                self.aborts_at_next_check = true;
            }
            None => self.aborts_at_next_check = false,
        }
    }

    /// The stall notice of a thread, if any.
    fn detect_stall(&mut self, thread: &'static str, beats: u64) -> Option<StallNotice> {
        let index = self.threads.iter().position(|(known, _)| *known == thread);
        let index = index.unwrap_or_else(|| {
            self.threads.push((thread, StallDetector::default()));
            self.threads.len() - 1
        });
        let (_, stall_detector) = self.threads.get_mut(index)?;
        stall_detector.check(beats, self.now, STALL_LIMIT)
    }
}
