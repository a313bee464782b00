//! Notices a leaf that keeps the tick thread, and jobs that do not end.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::bt::{Time, Whereabouts};
use crate::job::{Roster, Suspicion, Verdict};

/// What the tick thread tells of itself, for two stores a tick. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Pulse(Arc<PulseInner>);

#[derive(Debug, Default)]
struct PulseInner {
    /// Counts beginnings and ends of work: odd while the thread is at it.
    beats: AtomicU64,
    /// Of the tree that runs.
    whereabouts: Mutex<Option<Whereabouts>>,
    /// Somebody wants a goal cancelled, and the thread has not taken note.
    cancel_waits: AtomicBool,
}

impl Pulse {
    /// A thread at rest.
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread begins to work.
    pub(crate) fn begin(&self) {
        self.step();
    }

    /// It has done its work.
    pub(crate) fn end(&self) {
        self.step();
    }

    fn step(&self) {
        // Written by the tick thread only.
        let beats = self.0.beats.load(Ordering::Relaxed);
        self.0.beats.store(beats + 1, Ordering::Relaxed);
    }

    /// Another tree is about to run.
    pub(crate) fn follow(&self, whereabouts: Whereabouts) {
        *self.0.whereabouts.lock().unwrap_or_else(PoisonError::into_inner) = Some(whereabouts);
    }

    /// Somebody has asked for a cancel, or the thread has taken note of it.
    pub(crate) fn set_cancel_waits(&self, waits: bool) {
        self.0.cancel_waits.store(waits, Ordering::Relaxed);
    }

    fn beats(&self) -> u64 {
        self.0.beats.load(Ordering::Relaxed)
    }

    /// The leaf that the thread is in, where that is one of those that may keep it.
    pub fn leaf(&self) -> Option<Arc<str>> {
        let whereabouts = self.0.whereabouts.lock().unwrap_or_else(PoisonError::into_inner);
        whereabouts.as_ref().and_then(Whereabouts::path)
    }
}

/// A thread that looks every so often, and says what it does not like.
#[derive(Debug)]
pub struct Watchdog {
    end: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Watches the tick thread and the jobs of its trees. `limit`: how long work may take before it is reported. `stop` is
    /// called when a cancel waits for a thread that hangs: goals can be cancelled without it.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn start(
        pulse: Pulse,
        jobs: Roster,
        limit: Duration,
        mut report: impl FnMut(String) + Send + 'static,
        mut stop: impl FnMut() + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = mpsc::channel();
        let period = (limit / 4).clamp(Duration::from_millis(10), Duration::from_millis(500));
        let thread = std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(move || {
                let started = Instant::now();
                let mut ticks = Suspicion::default();
                let (mut hanging, mut stopped) = (false, false);
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(period) {
                    let now = Time::ZERO + started.elapsed();
                    // The leaf first: if it has come back by the time the count is read, nothing is said.
                    let leaf = pulse.leaf();
                    match ticks.look(pulse.beats(), now, limit) {
                        Some(Verdict::Hangs(time)) => {
                            hanging = true;
                            report(hangs(leaf.as_deref(), time));
                        }
                        Some(Verdict::CameBack(time)) => {
                            (hanging, stopped) = (false, false);
                            report(format!("the tick thread goes on after {time:.1?}"));
                        }
                        None => {}
                    }
                    if hanging && !stopped && pulse.0.cancel_waits.load(Ordering::Relaxed) {
                        stopped = true;
                        report(
                            "a cancel waits for the tick thread: goals are cancelled without it".to_owned(),
                        );
                        stop();
                    }
                    for text in jobs.look(now, limit) {
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
    let advice = "a node must return at once, and leave what takes longer to a job";
    match leaf {
        Some(leaf) => format!("leaf `{leaf}` has kept the tick thread for {time:.1?}: {advice}"),
        None => {
            format!("the tick thread has not come back for {time:.1?}, and is in no node but navtree's own")
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
