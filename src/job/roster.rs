//! Which jobs are under way, for a watchdog.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use super::CancellationToken;
use super::suspicion::{Suspicion, Verdict};
use crate::bt::{Resource, Time};

/// The jobs of trees that were given it as a resource: leaves made of an `async fn` enter theirs. Clones are the same
/// roster.
#[derive(Clone, Default)]
pub struct Roster(Arc<Mutex<Vec<Entry>>>);

struct Entry {
    leaf: Arc<str>,
    cancel: CancellationToken,
    pulse: Arc<JobPulse>,
    in_one_step: Suspicion,
    after_cancel: Suspicion,
}

/// What a future tells of itself.
#[derive(Default)]
struct JobPulse {
    /// Counts beginnings and ends of its steps: odd while it is polled.
    beats: AtomicU64,
    ended: AtomicBool,
}

impl Drop for EndOf {
    /// Also when the future panicked, or its executor dropped it.
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

struct EndOf(Arc<JobPulse>);

/// A step that takes so many times the watchdog's limit is reported. A job may block its thread, where that is its own;
/// a leaf may not.
const STEP: u32 = 10;

impl Roster {
    /// Without jobs.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a job: what comes back is to be run in its place.
    pub(super) fn enter<F: Future>(
        &self,
        leaf: &Arc<str>,
        cancel: &CancellationToken,
        future: F,
    ) -> impl Future<Output = F::Output> + use<F> {
        let pulse = Arc::new(JobPulse::default());
        self.entries().push(Entry {
            leaf: Arc::clone(leaf),
            cancel: cancel.clone(),
            pulse: Arc::clone(&pulse),
            in_one_step: Suspicion::default(),
            after_cancel: Suspicion::default(),
        });
        // Made here and not at the first step: a future that is dropped before it has ended as well.
        let end = EndOf(pulse);
        async move {
            let mut future = pin!(future);
            std::future::poll_fn(|cx| {
                end.0.beats.fetch_add(1, Ordering::Relaxed);
                let step: Poll<F::Output> = future.as_mut().poll(cx);
                end.0.beats.fetch_add(1, Ordering::Relaxed);
                step
            })
            .await
        }
    }

    /// Jobs that have not ended.
    pub fn len(&self) -> usize {
        let goes_on = |entry: &&Entry| !entry.pulse.ended.load(Ordering::Relaxed);
        self.entries().iter().filter(goes_on).count()
    }

    /// Whether all have ended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What there is to say about jobs that go on although they were cancelled longer than `limit` ago, or that have
    /// been in one step for ten times as long. To be called every so often.
    pub fn look(&self, now: Time, limit: Duration) -> Vec<String> {
        let mut said = Vec::new();
        self.entries().retain_mut(|entry| {
            let ended = entry.pulse.ended.load(Ordering::Relaxed);
            let leaf = &entry.leaf;
            let beats = if ended {
                0
            } else {
                entry.pulse.beats.load(Ordering::Relaxed)
            };
            match entry.in_one_step.look(beats, now, limit * STEP) {
                Some(Verdict::Hangs(time)) => {
                    said.push(format!(
                        "the job of leaf `{leaf}` has kept its thread for {time:.1?}"
                    ));
                }
                Some(Verdict::CameBack(time)) => {
                    said.push(format!(
                        "the job of leaf `{leaf}` has let its thread go after {time:.1?}"
                    ));
                }
                None => {}
            }
            let wanted = u64::from(!ended && entry.cancel.is_cancelled());
            match entry.after_cancel.look(wanted, now, limit) {
                Some(Verdict::Hangs(time)) => {
                    said.push(format!(
                        "the job of leaf `{leaf}` goes on {time:.1?} after it was cancelled"
                    ));
                }
                Some(Verdict::CameBack(time)) => {
                    said.push(format!(
                        "the job of leaf `{leaf}` has ended {time:.1?} after it was cancelled"
                    ));
                }
                None => {}
            }
            !ended
        });
        said
    }
}

impl std::fmt::Debug for Roster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Roster").field("len", &self.len()).finish()
    }
}

impl Resource for Roster {
    fn as_any_mut(&mut self) -> &mut dyn std::any::Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::super::{Threads, register_function};
    use super::*;
    use crate::bt::builder::{forest, leaf, tree};
    use crate::bt::{HaltReason, NodeStatus, Registry, Tree, compile};

    const LIMIT: Duration = Duration::from_secs(1);

    /// A job that blocks its thread and looks at no token: it hangs until the test lets it go.
    #[test]
    fn a_job_that_goes_on_after_its_cancel_is_named() {
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
        let roster = Roster::new();
        run.insert_resource(roster.clone());
        assert_eq!(run.tick(Time::ZERO), Ok(NodeStatus::Running));
        inside.recv_timeout(Duration::from_secs(60)).unwrap();
        let at = |milliseconds| roster.look(Time::from_millis(milliseconds), LIMIT);
        assert!(at(0).is_empty());
        assert!(at(9_000).is_empty(), "a job may take its time");
        assert_eq!(
            at(10_000),
            ["the job of leaf `arm` has kept its thread for 10.0s"]
        );
        run.halt(HaltReason::Preempted, Time::ZERO);
        assert!(at(10_100).is_empty());
        assert_eq!(
            at(11_200),
            ["the job of leaf `arm` goes on 1.1s after it was cancelled"]
        );
        assert!(at(11_300).is_empty(), "said once, and again when it has doubled");
        assert_eq!(roster.len(), 1);
        let_go.send(()).unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while !roster.is_empty() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(
            at(12_100),
            [
                "the job of leaf `arm` has let its thread go after 12.1s",
                "the job of leaf `arm` has ended 2.0s after it was cancelled"
            ]
        );
        assert!(at(20_000).is_empty());
    }
}
