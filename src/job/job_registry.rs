//! A registry of running jobs, for a watchdog and for code that waits for their end.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use super::CancellationToken;
use super::stall_detector::{StallDetector, StallNotice};
use crate::bt::{Resource, Time};
use crate::robot_name;

/// The jobs of trees that have this registry as a resource. Leaves made of an `async fn` enter their jobs. Clones share
/// the registry.
#[derive(Clone)]
pub struct JobRegistry {
    entries: Arc<Mutex<Vec<Entry>>>,
    /// All jobs were cancelled, and no navigation has begun since.
    is_halted: Arc<AtomicBool>,
    cancel_timeout: Duration,
    on_end: Option<EndListener>,
}

/// A function that is called when a job has ended and its leaf can see the result.
pub type EndListener = Arc<dyn Fn() + Send + Sync>;

impl Default for JobRegistry {
    fn default() -> Self {
        Self::with_cancel_timeout(CANCEL_TIMEOUT)
    }
}

/// Default of the maximum time for which a cancelled job delays the next job of its leaf.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

struct Entry {
    leaf: Arc<str>,
    cancel: CancellationToken,
    /// Number of starts and ends of polls: odd during a poll.
    beats: Arc<AtomicU64>,
    ended: bool,
    /// Whether it did not end in time after its cancel and is no longer waited for.
    abandoned: bool,
    poll_stall: StallDetector,
    cancel_stall: StallDetector,
}

impl Entry {
    fn is_stopping(&self) -> bool {
        !self.ended && self.cancel.is_cancelled()
    }
}

/// A guard that a future holds until its end.
struct EndGuard {
    job_registry: JobRegistry,
    beats: Arc<AtomicU64>,
}

impl Drop for EndGuard {
    /// Also runs when the future panicked or its executor dropped it.
    fn drop(&mut self) {
        let mut entries = self.job_registry.entries();
        let own = |entry: &Entry| Arc::ptr_eq(&entry.beats, &self.beats);
        let Some(index) = entries.iter().position(own) else {
            return;
        };
        let entry = &mut entries[index];
        entry.ended = true;
        let token = std::mem::take(&mut entry.cancel);
        // The watchdog keeps an entry that it has reported until it has reported the end.
        if !entry.poll_stall.has_reported() && !entry.cancel_stall.has_reported() {
            entries.remove(index);
        }
        drop(entries);
        // Dropped without the lock: dropping the token also drops its wakers, and a waker may own another job.
        drop(token);
    }
}

/// A poll that takes this many times the watchdog's limit is reported. A job may block its own thread; a leaf may not.
const POLL_FACTOR: u32 = 10;

impl JobRegistry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty registry. A cancelled job delays the next job of its leaf by at most `cancel_timeout`, on the
    /// tree's clock.
    pub fn with_cancel_timeout(cancel_timeout: Duration) -> Self {
        Self {
            entries: Arc::default(),
            is_halted: Arc::default(),
            cancel_timeout,
            on_end: None,
        }
    }

    /// The same registry. It calls `listener` at the end of each job that a leaf starts through it.
    pub fn with_end_listener(self, listener: EndListener) -> Self {
        Self {
            on_end: Some(listener),
            ..self
        }
    }

    pub(super) fn end_listener(&self) -> Option<&EndListener> {
        self.on_end.as_ref()
    }

    /// See [`JobRegistry::with_cancel_timeout`].
    pub fn cancel_timeout(&self) -> Duration {
        self.cancel_timeout
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a job and returns the future to run in its place.
    pub(super) fn enter<F: Future>(
        &self,
        leaf: &Arc<str>,
        cancel: &CancellationToken,
        future: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        let beats = Arc::new(AtomicU64::new(0));
        self.entries().push(Entry {
            leaf: Arc::clone(leaf),
            cancel: cancel.clone(),
            beats: Arc::clone(&beats),
            ended: false,
            abandoned: false,
            poll_stall: StallDetector::default(),
            cancel_stall: StallDetector::default(),
        });
        // Read after the entry: a call of `halt_all` finds the entry, or is seen here.
        if self.is_halted.load(Ordering::Acquire) {
            cancel.cancel();
        }
        // Created here and not at the first poll, so a future that is dropped before its first poll also ends.
        let end = EndGuard {
            job_registry: self.clone(),
            beats,
        };
        async move {
            let mut future = pin!(future);
            std::future::poll_fn(|cx| {
                end.beats.fetch_add(1, Ordering::Relaxed);
                let step: Poll<F::Output> = future.as_mut().poll(cx);
                end.beats.fetch_add(1, Ordering::Relaxed);
                step
            })
            .await
        }
    }

    /// The number of jobs that have not ended.
    pub fn len(&self) -> usize {
        self.entries().iter().filter(|entry| !entry.ended).count()
    }

    /// Whether all jobs have ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cancels all jobs, and those that are entered before [`JobRegistry::begin_session`]. Their leaves stay RUNNING
    /// until they are halted. For a tree before its halt, or for the end of the process. Does not wait and runs no code of
    /// a user: [`HaltedJobs::wake_on_thread`] wakes the jobs that wait for their cancel.
    pub fn halt_all(&self) -> HaltedJobs {
        let entries = self.entries();
        self.is_halted.store(true, Ordering::Release);
        let tokens = entries
            .iter()
            .map(|entry| entry.cancel.clone())
            .collect::<Vec<_>>();
        tokens.iter().for_each(CancellationToken::set);
        HaltedJobs(tokens)
    }

    /// A navigation begins. Its jobs run.
    pub fn begin_session(&self) {
        self.is_halted.store(false, Ordering::Release);
    }

    /// Whether all cancelled jobs have ended, except those that were [given up](JobRegistry::give_up).
    pub fn is_settled(&self) -> bool {
        !self
            .entries()
            .iter()
            .any(|entry| entry.is_stopping() && !entry.abandoned)
    }

    /// Gives up all cancelled jobs that have not ended. Returns one text for each, including those given up before.
    pub fn give_up(&self) -> Vec<String> {
        let mut entries = self.entries();
        let left = entries.iter_mut().filter(|entry| entry.is_stopping());
        left.map(|entry| {
            entry.abandoned = true;
            format!("job of {} (cancelled, not ended)", entry.leaf)
        })
        .collect()
    }

    /// Reports jobs that have not ended `limit` after their cancel, jobs whose poll takes ten times as long, and the
    /// end of these. Must be called periodically.
    pub fn check(&self, now: Time, limit: Duration) -> Vec<String> {
        let mut reports = Vec::new();
        self.entries().retain_mut(|entry| {
            let ended = entry.ended;
            let leaf = &entry.leaf;
            let beats = if ended {
                0
            } else {
                entry.beats.load(Ordering::Relaxed)
            };
            match entry.poll_stall.check(beats, now, limit * POLL_FACTOR) {
                Some(StallNotice::Stalled(time)) => {
                    reports.push(format!(
                        "job of leaf `{leaf}` has blocked its thread for {time:.1?}"
                    ));
                }
                Some(StallNotice::Recovered(time)) => {
                    reports.push(format!(
                        "job of leaf `{leaf}` released its thread after {time:.1?}"
                    ));
                }
                None => {}
            }
            let wanted = u64::from(entry.is_stopping());
            match entry.cancel_stall.check(wanted, now, limit) {
                Some(StallNotice::Stalled(time)) => {
                    reports.push(format!(
                        "job of leaf `{leaf}` still runs {time:.1?} after it was cancelled"
                    ));
                }
                Some(StallNotice::Recovered(time)) => {
                    reports.push(format!(
                        "job of leaf `{leaf}` ended {time:.1?} after it was cancelled"
                    ));
                }
                None => {}
            }
            !ended
        });
        reports
    }
}

/// Jobs that are cancelled and may wait for it.
#[must_use = "the jobs are to be woken"]
#[derive(Debug)]
pub struct HaltedJobs(Vec<CancellationToken>);

impl HaltedJobs {
    /// Wakes the jobs, on a thread of its own: wakers and destructors of a user's executor may take long, and the caller
    /// has other duties.
    ///
    /// # Errors
    /// There is no thread. The jobs are cancelled and not woken.
    pub fn wake_on_thread(self) -> io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let thread = std::thread::Builder::new().name("cancel-jobs".to_owned());
        thread.spawn(robot_name::inherit(move || self.wake()))?;
        Ok(())
    }

    /// Called without the lock of the registry: a waker may make an executor end its job.
    pub(super) fn wake(&self) {
        self.0.iter().for_each(CancellationToken::wake);
    }
}

impl std::fmt::Debug for JobRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobRegistry").field("len", &self.len()).finish()
    }
}

impl Resource for JobRegistry {
    fn as_any_mut(&mut self) -> &mut dyn std::any::Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::super::{Local, Threads, register_function};
    use super::*;
    use crate::bt::builder::{forest, leaf, tree};
    use crate::bt::{HaltReason, NodeStatus, Registry, Tree, compile};

    const LIMIT: Duration = Duration::from_secs(1);

    #[test]
    fn ended_jobs_are_removed_without_a_watchdog() {
        let executor = Local::new();
        let mut registry = Registry::builtin();
        register_function(&mut registry, "Quick", executor.clone(), |_| async {
            NodeStatus::Success
        })
        .unwrap();
        let compiled = compile(&forest([tree("Main", leaf("Quick"))]), "Main", &registry).unwrap();
        let mut run = Tree::new(compiled.def);
        let job_registry = JobRegistry::new();
        run.insert_resource(job_registry.clone());
        for _ in 0..10_000 {
            assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
            executor.run_until_stalled();
            assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Success));
        }
        // A cancelled job continues until it ends.
        run.tick(Time::ZERO).unwrap();
        drop(run);
        assert_eq!(job_registry.len(), 1);
        executor.run_until_stalled();
        assert_eq!(job_registry.entries().len(), 0);
    }

    /// A job that blocks its thread and checks no token. It hangs until the test releases it.
    #[test]
    fn a_job_that_continues_after_its_cancel_is_reported() {
        let (let_go, gate) = channel::<()>();
        let (entered, inside) = channel();
        let gate = Arc::new(Mutex::new(gate));
        let mut registry = Registry::builtin();
        register_function(&mut registry, "Stubborn", Threads, move |_| {
            let (gate, entered) = (Arc::clone(&gate), entered.clone());
            async move {
                let _ = entered.send(());
                let _ = gate.lock().unwrap().recv_timeout(Duration::from_secs(60));
                NodeStatus::Success
            }
        })
        .unwrap();
        let root = leaf("Stubborn").name("arm");
        let compiled = compile(&forest([tree("Main", root)]), "Main", &registry).unwrap();
        let mut run = Tree::new(compiled.def);
        let job_registry = JobRegistry::new();
        run.insert_resource(job_registry.clone());
        assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
        inside.recv_timeout(Duration::from_secs(60)).unwrap();
        let at = |milliseconds| job_registry.check(Time::from_millis(milliseconds), LIMIT);
        assert!(at(0).is_empty());
        assert!(at(9_000).is_empty(), "a job may take its time");
        assert_eq!(at(10_000), ["job of leaf `arm` has blocked its thread for 10.0s"]);
        run.halt(HaltReason::Preempted, Time::ZERO);
        assert!(at(10_100).is_empty());
        assert_eq!(
            at(11_200),
            ["job of leaf `arm` still runs 1.1s after it was cancelled"]
        );
        assert!(
            at(11_300).is_empty(),
            "reported once, and again when it has doubled"
        );
        assert_eq!(job_registry.len(), 1);
        let_go.send(()).unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while !job_registry.is_empty() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(
            at(12_100),
            [
                "job of leaf `arm` released its thread after 12.1s",
                "job of leaf `arm` ended 2.0s after it was cancelled"
            ]
        );
        assert!(at(20_000).is_empty());
    }
}
