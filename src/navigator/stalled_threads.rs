//! Notices a thread of the middleware that does not come back.

use std::process;
use std::time::{Duration, Instant};

use crate::bt::Time;
use crate::job::{StallDetector, StallNotice};
use crate::ros::{GoalTrackerHandle, RosHandle};

/// After so long without a round a thread is taken to have stalled. Fast DDS bounds a write at 0.1 s; a profile of the
/// user's may not bound it at all.
const LIMIT: Duration = Duration::from_secs(10);

/// A look may be this late. What is more was not time in which the process ran (SIGSTOP, a suspended machine).
const LATE: Duration = Duration::from_secs(1);

/// Looks after the threads that send and receive. Through a stalled one no cancel leaves and none arrives, so the robot
/// drives on (G3). Where goals are alive and there is a guardian, the process is aborted, and the guardian cancels them
/// (G11); otherwise it is reported.
#[derive(Debug)]
pub(super) struct StalledThreads {
    threads: Vec<(&'static str, StallDetector)>,
    /// Time in which the process ran.
    now: Time,
    looked: Instant,
    /// That the process is aborted was logged: the line has until the next look to be written.
    aborts: bool,
}

impl Default for StalledThreads {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            now: Time::ZERO,
            looked: Instant::now(),
            aborts: false,
        }
    }
}

impl StalledThreads {
    /// Looks once. To be called at least once in [`LATE`].
    pub(super) fn look(&mut self, ros: &RosHandle, goal_tracker: &GoalTrackerHandle, is_guarded: bool) {
        if self.aborts {
            process::abort();
        }
        let looked = Instant::now();
        let passed = looked.duration_since(std::mem::replace(&mut self.looked, looked));
        self.now = self.now + passed.min(LATE);
        // A thread that has ended is another's concern.
        if ros.thread_exit().is_some() {
            return;
        }
        for (thread, beats) in ros.beats().chain([("goal-tracker", goal_tracker.beats())]) {
            let time = match self.verdict(thread, beats) {
                Some(StallNotice::Stalled(time)) => time,
                Some(StallNotice::Recovered(time)) => {
                    tracing::error!("watchdog: the thread `{thread}` goes on after {time:.1?}");
                    continue;
                }
                None => continue,
            };
            if is_guarded && goal_tracker.may_have_goals() {
                tracing::error!(
                    "watchdog: the thread `{thread}` has not come back from the middleware for {time:.1?}: the process \
                     is aborted, so that the guardian cancels its goals"
                );
                self.aborts = true;
            } else {
                tracing::error!(
                    "watchdog: the thread `{thread}` has not come back from the middleware for {time:.1?}: goals can \
                     neither be sent nor cancelled"
                );
            }
        }
    }

    /// What is to be said of a thread.
    fn verdict(&mut self, thread: &'static str, beats: u64) -> Option<StallNotice> {
        let index = self.threads.iter().position(|(known, _)| *known == thread);
        let index = index.unwrap_or_else(|| {
            self.threads.push((thread, StallDetector::default()));
            self.threads.len() - 1
        });
        let (_, stall_detector) = self.threads.get_mut(index)?;
        stall_detector.look(beats, self.now, LIMIT)
    }
}
