//! The leaf that starts a job and waits for its result.

use std::future::Future;
use std::sync::Arc;

use super::job_registry::{CANCEL_TIMEOUT, EndListener};
use super::{BoxFuture, CancellationToken, Job, JobRegistry, Progress, Spawn};
use crate::bt::{
    Behavior, Context, HaltReason, NodeKind, NodeStatus, Ports, Registry, RegistryError, Thrown, Tick, Time,
};

/// A node type with the work in an `async fn`.
pub trait AsyncNode: Send + Sync + Sized + 'static {
    /// The input of the work, by value.
    type Input: Send + 'static;
    /// The result of the work.
    type Output: Send + 'static;
    /// The ID in tree files.
    const ID: &'static str;
    /// One to three sentences for the reference page and the palette.
    const DOC: &'static str;

    /// Declares all ports and returns their bindings.
    fn bind(ports: &mut Ports<'_>) -> Self;

    /// Reads the ports at each activation.
    ///
    /// # Errors
    /// [`Thrown`], from a port that cannot be read.
    fn input(&self, cx: &mut Context<'_>) -> Result<Self::Input, Thrown>;

    /// Does the work. `cancel` is set when the leaf was halted or is about to be halted: the result is no longer
    /// needed, and the future must stop all started work before it ends. If the work itself sets `cancel`, its leaf
    /// stays RUNNING until it is halted. The leaf starts its next job after the end of this one, or after
    /// [`JobRegistry::cancel_timeout`].
    fn run(
        input: Self::Input,
        cancel: CancellationToken,
    ) -> impl Future<Output = Self::Output> + Send + 'static;

    /// Writes the ports and returns the status. Not called for a cancelled job.
    ///
    /// # Errors
    /// [`Thrown`], from a port that cannot be written.
    fn output(&self, cx: &mut Context<'_>, output: Self::Output) -> Tick;
}

/// The behavior of an [`AsyncNode`].
pub struct AsyncLeaf<N> {
    node: N,
    executor: Arc<dyn Spawn>,
}

/// The job of a leaf in one tree. Dropping the tree drops and cancels it.
#[derive(Default)]
enum Activation<T> {
    #[default]
    None,
    Running(Job<T>),
    /// Cancelled. Its result is ignored (guarantee G4); only its end matters. The time of the leaf's first tick since:
    /// another leaf may have blocked the tick of the halt.
    Stopping(Job<T>, Option<Time>),
}

impl<N: AsyncNode> Behavior for AsyncLeaf<N> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let start = |cx: &mut Context<'_>| {
            let input = self.node.input(cx)?;
            let cancel = CancellationToken::new();
            let work = N::run(input, cancel.clone());
            Ok(begin(cx, &self.executor, cancel, work))
        };
        advance(cx, start, |cx, output| self.node.output(cx, output))
    }

    fn halt(&self, cx: &mut Context<'_>, _reason: HaltReason) {
        stop::<N::Output>(cx);
    }
}

/// Starts a future after the tick, when the preempted jobs are cancelled (guarantee G2). A watchdog monitors it if the
/// tree has one.
fn begin<F>(
    cx: &mut Context<'_>,
    executor: &Arc<dyn Spawn>,
    cancel: CancellationToken,
    work: F,
) -> Job<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let leaf = Arc::clone(&cx.definition().node(cx.node()).path);
    let token = cancel.clone();
    let (job, future) = match cx.resource::<JobRegistry>() {
        Some(job_registry) => {
            let work = job_registry.enter(&leaf, &cancel, work);
            Job::prepare(cancel, work)
        }
        None => Job::prepare(cancel, work),
    };
    let end_listener = cx
        .resource::<JobRegistry>()
        .and_then(|job_registry| job_registry.end_listener().cloned());
    let executor = Arc::clone(executor);
    cx.start_outside(move || {
        // A job that is halted in the tick of its start never runs.
        if !token.is_cancelled() {
            executor.spawn(match end_listener {
                Some(listener) => Box::pin(notify_at_end(future, NotifyOnDrop(listener))),
                None => future,
            });
        }
    });
    job
}

struct NotifyOnDrop(EndListener);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Notifies after the end of a future, also if the future panics or its executor drops it.
async fn notify_at_end(future: BoxFuture, notify: NotifyOnDrop) {
    let _notify = notify;
    future.await;
}

/// Cancels the job of a halted leaf.
fn stop<T: Send + 'static>(cx: &mut Context<'_>) {
    let activation = cx.state::<Activation<T>>();
    *activation = match std::mem::take(activation) {
        Activation::Running(job) => {
            job.cancel();
            Activation::Stopping(job, None)
        }
        other => other,
    };
}

/// Starts a job on activation, after the last job has ended or its cancel timeout has passed (guarantee G5), then
/// checks for the result in every tick. The first tick never completes, even with a fast executor, so the same tree
/// gives the same trace (guarantee G9).
fn advance<T: Send + 'static>(
    cx: &mut Context<'_>,
    start: impl FnOnce(&mut Context<'_>) -> Result<Job<T>, Thrown>,
    finish: impl FnOnce(&mut Context<'_>, T) -> Tick,
) -> Tick {
    // A leaf that is ticked again without a reset repeats its result, as BehaviorTree.CPP's StatefulActionNode does.
    if let done @ (NodeStatus::Success | NodeStatus::Failure) = cx.status() {
        return Ok(done);
    }
    let now = cx.now();
    let cancel_timeout = cx
        .resource::<JobRegistry>()
        .map_or(CANCEL_TIMEOUT, |job_registry| job_registry.cancel_timeout());
    let activation = cx.state::<Activation<T>>();
    match activation {
        // The job is cancelled and the leaf is about to be halted: the result is ignored (guarantee G4).
        Activation::Running(job) if job.is_cancelled() => return Ok(NodeStatus::Running),
        Activation::Running(job) => match job.poll() {
            Progress::Running => return Ok(NodeStatus::Running),
            Progress::Done(output) => {
                *activation = Activation::None;
                return finish(cx, output);
            }
            Progress::Lost => {
                *activation = Activation::None;
                return Err(
                    cx.throw("its job ended without a result: it panicked, or its executor was shut down")
                );
            }
        },
        Activation::Stopping(job, since) => {
            let since = *since.get_or_insert(now);
            if matches!(job.poll(), Progress::Running) && now.since(since) < cancel_timeout {
                return Ok(NodeStatus::Running);
            }
        }
        Activation::None => {}
    }
    let job = start(cx)?;
    // Later than the activation if the leaf waited for its last job.
    cx.note_inputs_read();
    *cx.state::<Activation<T>>() = Activation::Running(job);
    Ok(NodeStatus::Running)
}

/// Adds an asynchronous node type with jobs on `executor`.
///
/// # Errors
/// [`RegistryError`].
pub fn register<N: AsyncNode>(registry: &mut Registry, executor: impl Spawn) -> Result<(), RegistryError> {
    let executor: Arc<dyn Spawn> = Arc::new(executor);
    registry.register_with(N::ID, NodeKind::Action, (0, 0), N::DOC, move |ports| {
        Box::new(AsyncLeaf {
            node: N::bind(ports),
            executor: Arc::clone(&executor),
        })
    })
}

/// Adds an asynchronous action without ports, from a function that returns a future.
///
/// # Errors
/// [`RegistryError`].
pub fn register_function<W, F>(
    registry: &mut Registry,
    id: &str,
    executor: impl Spawn,
    work: W,
) -> Result<(), RegistryError>
where
    W: Fn(CancellationToken) -> F + Send + Sync + 'static,
    F: Future<Output = NodeStatus> + Send + 'static,
{
    let executor: Arc<dyn Spawn> = Arc::new(executor);
    let work = Arc::new(work);
    registry.register_with(id, NodeKind::Action, (0, 0), "", move |_| {
        Box::new(FunctionLeaf {
            work: Arc::clone(&work),
            executor: Arc::clone(&executor),
        })
    })
}

struct FunctionLeaf<W> {
    work: Arc<W>,
    executor: Arc<dyn Spawn>,
}

impl<W, F> Behavior for FunctionLeaf<W>
where
    W: Fn(CancellationToken) -> F + Send + Sync + 'static,
    F: Future<Output = NodeStatus> + Send + 'static,
{
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let start = |cx: &mut Context<'_>| {
            let cancel = CancellationToken::new();
            let work = (self.work)(cancel.clone());
            Ok(begin(cx, &self.executor, cancel, work))
        };
        advance(cx, start, |_, status| Ok(status))
    }

    fn halt(&self, cx: &mut Context<'_>, _reason: HaltReason) {
        stop::<NodeStatus>(cx);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::{BoxFuture, Local};
    use super::*;
    use crate::bt::builder::{forest, leaf, reactive_fallback, reactive_sequence, sequence, tree};
    use crate::bt::{HaltOrder, Input, NodeBuilder, Output, Tree, Value, compile};

    /// The number of jobs of `Add` that noticed their cancel.
    static CANCELLED: AtomicU32 = AtomicU32::new(0);

    struct Add {
        a: Input<i32>,
        sum: Output<i32>,
    }

    impl AsyncNode for Add {
        type Input = i32;
        type Output = i32;
        const ID: &'static str = "Add";
        const DOC: &'static str = "Adds one, in its own time.";

        fn bind(ports: &mut Ports<'_>) -> Self {
            Self {
                a: ports.input("a").required().bind(),
                sum: ports.output("sum").bind(),
            }
        }

        fn input(&self, cx: &mut Context<'_>) -> Result<i32, Thrown> {
            self.a.require(cx)
        }

        async fn run(a: i32, cancel: CancellationToken) -> i32 {
            if a == 0 {
                cancel.cancelled().await;
                CANCELLED.fetch_add(1, Ordering::SeqCst);
            }
            a + 1
        }

        fn output(&self, cx: &mut Context<'_>, sum: i32) -> Tick {
            self.sum.set(cx, sum)?;
            Ok(NodeStatus::Success)
        }
    }

    fn run(root: NodeBuilder) -> (Tree, Local) {
        let executor = Local::new();
        let mut registry = Registry::builtin();
        register::<Add>(&mut registry, executor.clone()).unwrap();
        let compiled = compile(&forest([tree("Main", root)]), "Main", &registry).unwrap();
        (Tree::new(compiled.def), executor)
    }

    fn add() -> NodeBuilder {
        leaf("Add").port("a", "{a}").port("sum", "{sum}")
    }

    #[test]
    fn a_job_owns_its_inputs_and_a_tick_writes_its_outputs() {
        let (mut tree, executor) = run(add());
        tree.set("a", 1).unwrap();
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Running);
        tree.set("a", 5).unwrap();
        executor.run_until_stalled();
        assert_eq!(tree.get("sum"), None);
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Success);
        assert_eq!(tree.get("sum"), Some(&Value::Int(2)));
    }

    /// Guarantee G4 for jobs: a job that ends after the halt changes nothing, not even the next activation.
    #[test]
    fn g4_a_halted_job_is_cancelled_and_its_result_is_dropped() {
        let (mut tree, executor) = run(reactive_sequence([
            leaf("ScriptCondition").port("code", "go"),
            add(),
        ]));
        tree.set("a", 0).unwrap();
        tree.set("go", true).unwrap();
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Running);
        executor.run_until_stalled();
        tree.set("go", false).unwrap();
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Failure);
        executor.run_until_stalled();
        assert_eq!(CANCELLED.load(Ordering::SeqCst), 1);
        assert!(executor.is_empty());
        tree.set("go", true).unwrap();
        tree.set("a", 7).unwrap();
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Running);
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Running);
        assert_eq!(tree.get("sum"), None);
        executor.run_until_stalled();
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Success);
        assert_eq!(tree.get("sum"), Some(&Value::Int(8)));
    }

    #[test]
    fn a_lost_job_is_an_error() {
        let mut registry = Registry::builtin();
        register::<Add>(&mut registry, |future: super::super::BoxFuture| drop(future)).unwrap();
        let compiled = compile(
            &forest([tree("Main", leaf("Add").port("a", 1))]),
            "Main",
            &registry,
        );
        let mut tree = Tree::new(compiled.unwrap().def);
        assert_eq!(tree.tick(Time::ZERO).unwrap(), NodeStatus::Running);
        assert!(
            tree.tick(Time::ZERO)
                .unwrap_err()
                .to_string()
                .contains("without a result")
        );
    }

    /// A leaf whose jobs clean up until the gate opens, and the number of running jobs.
    fn cleans_up() -> (Tree, Local, CancellationToken, Arc<AtomicU32>) {
        let (executor, gate) = (Local::new(), CancellationToken::new());
        let under_way: Arc<AtomicU32> = Arc::default();
        let mut registry = Registry::builtin();
        let (count, until) = (Arc::clone(&under_way), gate.clone());
        register_function(&mut registry, "Arm", executor.clone(), move |cancel| {
            let (count, until) = (Arc::clone(&count), until.clone());
            async move {
                count.fetch_add(1, Ordering::SeqCst);
                cancel.cancelled().await;
                until.cancelled().await;
                count.fetch_sub(1, Ordering::SeqCst);
                NodeStatus::Success
            }
        })
        .unwrap();
        let compiled = compile(&forest([tree("Main", leaf("Arm"))]), "Main", &registry).unwrap();
        (Tree::new(compiled.def), executor, gate, under_way)
    }

    #[test]
    fn g5_a_leaf_waits_for_its_stopping_job_before_it_starts_the_next() {
        let (mut run, executor, gate, under_way) = cleans_up();
        let at = Time::from_millis;
        assert_eq!(run.tick(at(0)), Ok(NodeStatus::Running));
        executor.run_until_stalled();
        for time in [10, 20, 30] {
            run.halt(HaltReason::Preempted, at(time));
            assert_eq!(run.tick(at(time)), Ok(NodeStatus::Running));
            executor.run_until_stalled();
            assert_eq!(under_way.load(Ordering::SeqCst), 1);
        }
        gate.cancel();
        executor.run_until_stalled();
        assert_eq!(under_way.load(Ordering::SeqCst), 0);
        assert_eq!(run.tick(at(40)), Ok(NodeStatus::Running));
        executor.run_until_stalled();
        assert_eq!(under_way.load(Ordering::SeqCst), 1, "the next one");
        assert_eq!(
            run.tick(at(50)),
            Ok(NodeStatus::Running),
            "what the last one found is not this one's"
        );
    }

    #[test]
    fn g4_the_result_of_an_externally_cancelled_job_is_ignored() {
        let (mut run, executor, gate, under_way) = cleans_up();
        let job_registry = JobRegistry::new();
        run.insert_resource(job_registry.clone());
        let at = Time::from_millis;
        assert_eq!(run.tick(at(0)), Ok(NodeStatus::Running));
        executor.run_until_stalled();
        gate.cancel();
        job_registry.halt_all().wake();
        executor.run_until_stalled();
        assert_eq!(under_way.load(Ordering::SeqCst), 0, "it has returned SUCCESS");
        assert_eq!(run.tick(at(10)), Ok(NodeStatus::Running));
        run.halt(HaltReason::GoalCanceled, at(20));
        assert_eq!(run.tick(at(30)), Ok(NodeStatus::Running));
        executor.run_until_stalled();
        assert_eq!(run.tick(at(40)), Ok(NodeStatus::Running), "the next activation");
    }

    #[test]
    fn a_job_that_does_not_end_delays_the_next_for_the_cancel_timeout() {
        // Another leaf may block the tick of the halt.
        for first in [10, 5_000] {
            let (mut run, executor, _gate, under_way) = cleans_up();
            let at = Time::from_millis;
            assert_eq!(run.tick(at(0)), Ok(NodeStatus::Running));
            executor.run_until_stalled();
            run.halt(HaltReason::Preempted, at(10));
            for (time, jobs) in [(first, 1), (first + 1_990, 1), (first + 2_000, 2)] {
                assert_eq!(run.tick(at(time)), Ok(NodeStatus::Running));
                executor.run_until_stalled();
                assert_eq!(under_way.load(Ordering::SeqCst), jobs, "{time} ms");
            }
        }
    }

    /// What the executor observes when a reactive parent changes from `Slow` to `Urgent`: whether the preempted job was
    /// cancelled before the start of the new one.
    fn loser_was_cancelled(order: HaltOrder) -> bool {
        let loser: Arc<Mutex<Option<CancellationToken>>> = Arc::default();
        let seen: Arc<Mutex<Option<bool>>> = Arc::default();
        let mut registry = Registry::builtin();
        let tokens = Arc::clone(&loser);
        let slow = move |cancel: CancellationToken| {
            *tokens.lock().unwrap() = Some(cancel);
            std::future::pending()
        };
        register_function(&mut registry, "Slow", Local::new(), slow).unwrap();
        let (tokens, result) = (Arc::clone(&loser), Arc::clone(&seen));
        let executor = move |future: BoxFuture| {
            let cancelled = tokens
                .lock()
                .unwrap()
                .as_ref()
                .map(CancellationToken::is_cancelled);
            *result.lock().unwrap() = cancelled;
            drop(future);
        };
        let urgent = |_| std::future::pending();
        register_function(&mut registry, "Urgent", executor, urgent).unwrap();
        let root = reactive_fallback([
            sequence([leaf("ScriptCondition").port("code", "go"), leaf("Urgent")]),
            leaf("Slow"),
        ]);
        let compiled = compile(&forest([tree("Main", root)]), "Main", &registry).unwrap();
        let mut run = Tree::new(compiled.def);
        run.set_halt_order(order);
        run.set("go", false).unwrap();
        assert_eq!(run.tick(Time::ZERO).unwrap(), NodeStatus::Running);
        assert_eq!(*seen.lock().unwrap(), None);
        run.set("go", true).unwrap();
        assert_eq!(run.tick(Time::ZERO).unwrap(), NodeStatus::Running);
        assert!(loser.lock().unwrap().as_ref().unwrap().is_cancelled());
        seen.lock().unwrap().unwrap()
    }

    #[test]
    fn g2_a_job_that_lost_is_cancelled_before_the_one_that_won_is_started() {
        assert!(loser_was_cancelled(HaltOrder::BeforeStarts));
    }

    #[test]
    fn the_old_order_starts_the_job_that_won_first() {
        assert!(!loser_was_cancelled(HaltOrder::AsTicked));
    }
}
