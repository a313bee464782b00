//! Detects a leaf that blocks the tick thread, and jobs that do not end.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Heartbeat;
use super::thread::AtEnd;
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
    /// Watches the tick thread and the jobs of its trees. `limit`: maximum time of work before it is reported; zero: the
    /// tick thread and the jobs are not watched, and only `look` is called. `stop`
    /// is called when a cancel of the active goal waits for a blocked tick thread: the goals of its leaves can be
    /// cancelled without that thread, and so can their jobs. The tree is halted as soon as the thread returns. `look`
    /// is called in each check, for further checks. `tell` is called at the end of the watchdog's thread, by a panic or
    /// otherwise.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        heartbeat: Heartbeat,
        jobs: JobRegistry,
        limit: Duration,
        mut report: impl FnMut(String) + Send + 'static,
        mut stop: impl FnMut() + Send + 'static,
        mut look: impl FnMut() + Send + 'static,
        tell: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let is_watching = !limit.is_zero();
        let longest = Duration::from_millis(500);
        let period = if is_watching { limit / 4 } else { longest };
        let period = period.clamp(Duration::from_millis(10), longest);
        let thread = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || {
                let _tell = AtEnd::new(tell);
                let started = Instant::now();
                let mut ticks = StallDetector::default();
                let (mut hanging, mut stopped) = (false, None);
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(period) {
                    fault::point();
                    look();
                    if !is_watching {
                        continue;
                    }
                    let now = Time::ZERO + started.elapsed();
                    // The leaf is read first: if it returns before the count is read, nothing is reported.
                    let leaf = heartbeat.leaf();
                    match ticks.check(heartbeat.beats(), now, limit) {
                        Some(StallNotice::Stalled(time)) => {
                            hanging = true;
                            report(hangs(leaf.as_deref(), time));
                        }
                        Some(StallNotice::Recovered(time)) => {
                            (hanging, stopped) = (false, None);
                            report(format!("tick thread responds again after {time:.1?}"));
                        }
                        None => {}
                    }
                    if hanging
                        && let Some(goal) = heartbeat.waiting_cancel()
                        && stopped != Some(goal)
                    {
                        stopped = Some(goal);
                        report(
                            "tick thread is blocked and its goal is to stop: the watchdog cancels all goals"
                                .to_owned(),
                        );
                        stop();
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

fn hangs(leaf: Option<&str>, time: Duration) -> String {
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
