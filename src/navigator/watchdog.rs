//! Detects a leaf that blocks the tick thread, and jobs that do not end.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Heartbeat;
use super::thread::CallOnDrop;
use crate::bt::Time;
use crate::fault;
use crate::job::{JobRegistry, StallDetector, StallNotice};

/// A thread that checks periodically and reports stalls.
#[derive(Debug)]
pub struct Watchdog {
    end: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Watches the tick thread and the jobs of its trees.
    ///
    /// - `limit`: maximum time of a tick or a job before it is reported. Zero: the tick thread and the jobs are not
    ///   watched, and only `check_threads` is called.
    /// - `report`: logs a message.
    /// - `cancel_all_goals`: called when a cancel of the active goal waits for a blocked tick thread. The goals of its
    ///   leaves and their jobs can be cancelled without that thread. The tree is halted as soon as the thread returns.
    /// - `check_threads`: called in each period, to check other threads.
    /// - `on_end`: called at the end of the watchdog's thread, also after a panic.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        heartbeat: Heartbeat,
        jobs: JobRegistry,
        limit: Duration,
        mut report: impl FnMut(String) + Send + 'static,
        mut cancel_all_goals: impl FnMut() + Send + 'static,
        mut check_threads: impl FnMut() + Send + 'static,
        on_end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (end, end_receiver) = mpsc::channel();
        let is_watching = !limit.is_zero();
        let max_period = Duration::from_millis(500);
        let period = if is_watching { limit / 4 } else { max_period };
        let period = period.clamp(Duration::from_millis(10), max_period);
        let thread = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || {
                let _on_end = CallOnDrop::new(on_end);
                let started = Instant::now();
                let mut tick_stalls = StallDetector::default();
                let (mut is_blocked, mut cancelled_for) = (false, None);
                while let Err(RecvTimeoutError::Timeout) = end_receiver.recv_timeout(period) {
                    fault::point();
                    check_threads();
                    if !is_watching {
                        continue;
                    }
                    let now = Time::ZERO + started.elapsed();
                    // The leaf is read first: if it returns before the count is read, nothing is reported.
                    let leaf = heartbeat.leaf();
                    match tick_stalls.check(heartbeat.beats(), now, limit) {
                        Some(StallNotice::Stalled(time)) => {
                            is_blocked = true;
                            report(blocked_message(leaf.as_deref(), time));
                        }
                        Some(StallNotice::Recovered(time)) => {
                            (is_blocked, cancelled_for) = (false, None);
                            report(format!("tick thread responds again after {time:.1?}"));
                        }
                        None => {}
                    }
                    if is_blocked
                        && let Some(goal) = heartbeat.waiting_cancel()
                        && cancelled_for != Some(goal)
                    {
                        cancelled_for = Some(goal);
                        report(
                            "tick thread is blocked and its goal is cancelled: the watchdog cancels all goals"
                                .to_owned(),
                        );
                        cancel_all_goals();
                        jobs.cancel_all();
                        // Not earlier: when the tick thread reads this, the goals and jobs of its tree must be
                        // cancelled.
                        heartbeat.cancelled_externally(goal);
                    }
                    for text in jobs.check(now, limit) {
                        report(text);
                    }
                }
            })?;
        Ok(Self {
            end,
            thread: Some(thread),
        })
    }
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

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.end.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
