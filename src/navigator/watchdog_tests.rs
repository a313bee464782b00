//! Tests of a leaf that blocks the tick thread: the reports and actions of the watchdog, and the goals and cancels
//! meanwhile.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::goal::{NavigationResult, TerminalStatus};
use super::goal_queue::SHUT;
use super::heartbeat::{CancelRequest, Overtaking};
use super::test_harness::{Rig, load, navigation, registry, request};
use super::thread_tests::{Remote, TIMEOUT};
use super::{Heartbeat, NavigatorKind, Unacknowledged, Watchdog, cancel_without_ticks};
use crate::bt::{Behavior, Context, HaltReason, NodeKind, NodeStatus, Registry, Tick, TreeDef};
use crate::job::{BoxFuture, JobRegistry, Threads, register_function};
use crate::msg::action::Spin;
use crate::nav::testing::Plan;
use crate::nav::{Form, Payload, TopicSpec, World};

/// An event that has not happened after this time counts as absent.
const A_MOMENT: Duration = Duration::from_millis(50);

/// A leaf that blocks until the test releases it.
fn blocking_leaf(registry: &mut Registry) -> (Sender<()>, Receiver<()>) {
    blocking_leaf_with(registry, NodeStatus::Success)
}

/// The same with another result.
fn blocking_leaf_with(registry: &mut Registry, result: NodeStatus) -> (Sender<()>, Receiver<()>) {
    let (gate, release, inside) = Gate::new();
    registry
        .action("Stuck", move |_| {
            gate.pass();
            Ok(result)
        })
        .unwrap();
    (release, inside)
}

/// A thread that lets a watchdog check in each period, until it is dropped.
struct WatchdogThread {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WatchdogThread {
    fn start(mut watchdog: Watchdog) -> Self {
        let (end, ended) = channel();
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(watchdog.period()) == Err(RecvTimeoutError::Timeout) {
                watchdog.check();
            }
        });
        Self {
            end: Some(end),
            thread: Some(thread),
        }
    }
}

impl Drop for WatchdogThread {
    fn drop(&mut self) {
        self.end = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// Waits until the watchdog reports this text. Earlier reports are ignored: a thread that the machine delays is
/// reported as well.
fn expect_report(reports: &Receiver<String>, prefix: &str) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let text = reports.recv_timeout(left).unwrap();
        if text.starts_with(prefix) {
            return;
        }
    }
}

#[test]
fn a_leaf_that_blocks_the_tick_thread_is_reported_and_so_is_its_end() {
    let mut registry = registry();
    let (release, inside) = blocking_leaf(&mut registry);
    let remote = Remote::new();
    let (sender, reports) = channel();
    let limit = Duration::from_millis(100);
    let report = move |text| drop(sender.send(text));
    let (stopping, stopped) = channel();
    let cancel_all_goals = move || {
        let _ = stopping.send(());
    };
    let watchdog = WatchdogThread::start(Watchdog::new(
        remote.heartbeat.clone(),
        remote.jobs.clone(),
        limit,
        report,
        cancel_all_goals,
    ));
    let tree = load(
        &registry,
        r#"<Sequence name="all"><AlwaysSuccess/><Stuck name="arm"/></Sequence>"#,
    );
    remote.goal(1, &tree);
    inside.recv_timeout(TIMEOUT).unwrap();
    expect_report(&reports, "leaf `arm` has blocked the tick thread for ");
    let halted = remote.thread.handle().halt(HaltReason::ShuttingDown, TIMEOUT);
    assert_eq!(halted.wait(A_MOMENT), Err(Unacknowledged::NotYet));
    assert!(stopped.try_recv().is_err(), "no cancel was requested");
    remote.thread.handle().cancel(navigation(1));
    stopped.recv_timeout(TIMEOUT).unwrap();
    release.send(()).unwrap();
    assert_eq!(halted.wait(TIMEOUT), Ok(()));
    expect_report(&reports, "tick thread is blocked and its goal has to end");
    expect_report(&reports, "tick thread responds again after ");
    drop(watchdog);
}

#[test]
fn g8_a_leaf_that_blocks_the_tick_thread_does_not_delay_the_shutdown() {
    let mut registry = registry();
    let (release, inside) = blocking_leaf(&mut registry);
    let remote = Remote::new();
    remote.goal(1, &load(&registry, "<Stuck/>"));
    inside.recv_timeout(TIMEOUT).unwrap();
    let begin = Instant::now();
    drop(remote.thread);
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "it was waited for: {:?}",
        begin.elapsed()
    );
    release.send(()).unwrap();
}

/// A tree with a leaf that blocks the tick thread and another leaf that turns the robot, and its watchdog.
struct BlockedTree {
    remote: Remote,
    tree: Arc<TreeDef>,
    release: Sender<()>,
    inside: Receiver<()>,
    reports: Receiver<String>,
    stopped: Receiver<()>,
    watchdog: WatchdogThread,
}

/// Time in which the watchdog would do something wrong.
const QUIET_TIME: Duration = Duration::from_millis(300);

impl BlockedTree {
    fn new() -> Self {
        Self::returning(NodeStatus::Success)
    }

    /// The leaf returns `result` when it is released.
    fn returning(result: NodeStatus) -> Self {
        let text = r#"<Parallel success_count="2"><Spin spin_dist="1.0"/><Delay delay_msec="20"><Stuck name="arm"/></Delay></Parallel>"#;
        Self::with_result(registry(), text, result)
    }

    fn with(registry: Registry, text: &str) -> Self {
        Self::with_result(registry, text, NodeStatus::Success)
    }

    fn with_result(mut registry: Registry, text: &str, result: NodeStatus) -> Self {
        let (release, inside) = blocking_leaf_with(&mut registry, result);
        let mut remote = Remote::new();
        remote.bench.action::<Spin>("spin", |_| Plan::endless());
        let tree = load(&registry, text);
        let (sender, reports) = channel();
        let (stopping, stopped) = channel();
        let mut halt_all = remote.bench.halting();
        let watchdog = WatchdogThread::start(Watchdog::new(
            remote.heartbeat.clone(),
            remote.jobs.clone(),
            Duration::from_millis(100),
            move |text| drop(sender.send(text)),
            move || {
                halt_all();
                let _ = stopping.send(());
            },
        ));
        Self {
            remote,
            tree,
            release,
            inside,
            reports,
            stopped,
            watchdog,
        }
    }

    /// Waits until a leaf blocks the thread and the watchdog has reported it.
    fn keep(&mut self) {
        // Ticked once, and again after the delay.
        self.remote.periods(1);
        self.remote.bench.wait(30);
        self.remote.clock.advance(30);
        self.remote.thread.handle().wake();
        self.inside.recv_timeout(TIMEOUT).unwrap();
        expect_report(&self.reports, "leaf `arm` has blocked the tick thread for ");
        assert_eq!(self.remote.bench.active("spin"), 1);
    }

    /// Cancels a goal while its leaf blocks the thread, and lets the leaf return after the watchdog has stopped the leaves.
    /// Its client is told that it is cancelled.
    fn cancel_while_it_blocks(&self, goal: u8) {
        self.remote.thread.handle().cancel(navigation(goal));
        self.stopped.recv_timeout(TIMEOUT).unwrap();
        self.wait_for_the_stop();
        self.release.send(()).unwrap();
        let (client, report) = self.remote.reports.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(
            (client, report.status),
            (goal, TerminalStatus::Canceled),
            "{report:?}"
        );
    }

    /// Runs goal 2, whose leaf blocks the thread for a moment only.
    fn run_goal_2(&self) {
        self.release.send(()).unwrap();
        self.remote.goal(2, &self.tree);
        self.remote.clock.advance(10);
        self.remote.thread.handle().wake();
    }

    /// Waits until the watchdog has told the tick thread that it has stopped the leaves.
    fn wait_for_the_stop(&self) {
        let deadline = Instant::now() + TIMEOUT;
        while !self.remote.heartbeat.is_overtaken() {
            assert!(Instant::now() < deadline);
            std::thread::yield_now();
        }
        // The leaves are stopped under the lock that this takes. The tick thread takes it, too, when it sees the same.
        let _ = self.remote.heartbeat.active_goal();
    }
}

#[test]
fn g3_the_cancel_of_a_halted_leaf_does_not_wait_for_a_leaf_that_blocks_in_the_same_tick() {
    let text =
        r#"<Fallback><Timeout msec="500"><Spin spin_dist="1.0"/></Timeout><Stuck name="arm"/></Fallback>"#;
    let mut kept = BlockedTree::with(registry(), text);
    kept.remote.goal(1, &kept.tree);
    kept.remote.periods(2);
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 1);
    kept.remote.clock.advance(600);
    kept.remote.thread.handle().wake();
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 0);
    kept.release.send(()).unwrap();
    drop(kept.watchdog);
}

#[test]
fn g8_a_leaf_that_returns_after_the_cancel_of_its_goal_starts_no_goal_and_no_job() {
    let mut registry = registry();
    let (starting, started) = channel();
    register_function(&mut registry, "Arm", Threads, move |_| {
        let starting = starting.clone();
        async move {
            let _ = starting.send(());
            NodeStatus::Success
        }
    })
    .unwrap();
    let text = r#"<Sequence><Stuck name="arm"/><Parallel success_count="2"><Spin spin_dist="1.0"/><Arm/></Parallel></Sequence>"#;
    let kept = BlockedTree::with(registry, text);
    kept.remote.goal(1, &kept.tree);
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    kept.cancel_while_it_blocks(1);
    assert_eq!(kept.remote.bench.goals::<Spin>("spin").len(), 0);
    assert!(started.try_recv().is_err(), "the job has run");
    // The next goal runs.
    kept.run_goal_2();
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    started.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(kept.remote.bench.goals::<Spin>("spin").len(), 1);
    drop(kept.watchdog);
}

#[test]
fn g8_a_leaf_that_returns_after_the_cancel_of_its_goal_publishes_nothing() {
    let text = r#"<Sequence><Stuck name="arm"/><RosPublish topic_name="cmd_vel" message_type="geometry_msgs/msg/Twist"/><Spin/></Sequence>"#;
    let kept = BlockedTree::with(registry(), text);
    kept.remote.goal(1, &kept.tree);
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    kept.cancel_while_it_blocks(1);
    let published = || kept.remote.bench.published::<serde_json::Value>("cmd_vel").len();
    assert_eq!(published(), 0);
    // The next goal publishes.
    kept.run_goal_2();
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    assert!(kept.remote.is_running());
    assert_eq!(published(), 1);
    drop(kept.watchdog);
}

#[test]
fn g8_a_goal_is_not_reported_as_succeeded_if_the_messages_of_its_last_tick_were_dropped() {
    let text = r#"<Sequence><Stuck name="arm"/><RosPublish topic_name="cmd_vel" message_type="geometry_msgs/msg/Twist"/></Sequence>"#;
    let kept = BlockedTree::with(registry(), text);
    kept.remote.goal(1, &kept.tree);
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    kept.cancel_while_it_blocks(1);
    // The next goal is not affected.
    kept.run_goal_2();
    let (client, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((client, report.status), (2, TerminalStatus::Succeeded));
    assert_eq!(
        kept.remote.bench.published::<serde_json::Value>("cmd_vel").len(),
        1
    );
    drop(kept.watchdog);
}

#[test]
fn g8_a_goal_that_a_halt_overtakes_is_told_the_reason_whatever_its_tree_returns() {
    for result in [NodeStatus::Success, NodeStatus::Failure, NodeStatus::Running] {
        for (reason, words) in [
            (HaltReason::Deactivated, "the node was deactivated"),
            (HaltReason::ShuttingDown, "the navigator was stopped"),
        ] {
            let text = r#"<Stuck name="arm"/>"#;
            let kept = BlockedTree::with_result(registry(), text, result);
            kept.remote.goal(1, &kept.tree);
            kept.inside.recv_timeout(TIMEOUT).unwrap();
            let handle = kept.remote.thread.handle();
            // Of an earlier goal. The thread has not processed it.
            handle.cancel(navigation(9));
            // With `tick_on_event`, it would bring a tick before the halt.
            handle.event();
            let halted = handle.halt(reason, TIMEOUT);
            handle.overtake(reason, kept.remote.bench.halting());
            kept.release.send(()).unwrap();
            assert_eq!(halted.wait(TIMEOUT), Ok(()));
            let (client, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
            assert_eq!((client, report.status), (1, TerminalStatus::Aborted));
            assert!(report.error_message.starts_with(words), "{report:?}");
            drop(kept.watchdog);
        }
    }
}

#[test]
fn g3_a_goal_that_is_stopped_while_its_tree_is_made_starts_nothing() {
    for is_canceled in [true, false] {
        let mut registry = registry();
        let (release, inside) = register_gated(&mut registry, "Slow", BlockingAttach);
        let mut remote = Remote::new();
        remote.bench.action::<Spin>("spin", |_| Plan::endless());
        let text = r#"<Parallel success_count="2"><Slow/><Spin spin_dist="1.0"/></Parallel>"#;
        remote.goal(1, &load(&registry, text));
        inside.recv_timeout(TIMEOUT).unwrap();
        let handle = remote.thread.handle();
        // It would bring a tick before the request is read.
        handle.event();
        let expected = if is_canceled {
            handle.cancel(navigation(1));
            TerminalStatus::Canceled
        } else {
            let _halted = handle.halt(HaltReason::Deactivated, TIMEOUT);
            handle.overtake(HaltReason::Deactivated, remote.bench.halting());
            TerminalStatus::Aborted
        };
        release.send(()).unwrap();
        let (client, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
        assert_eq!((client, report.status), (1, expected), "{report:?}");
        assert_eq!(remote.bench.goals::<Spin>("spin").len(), 0);
        remote.periods(2);
        assert!(!remote.is_running());
    }
}

#[test]
fn g6_a_goal_that_replaces_the_one_whose_leaves_were_halted_gets_a_result_although_a_job_blocks_its_cancel() {
    /// A waker that blocks.
    struct BlockingWaker(Gate);
    impl std::task::Wake for BlockingWaker {
        fn wake(self: Arc<Self>) {
            self.0.pass();
        }
    }
    let (gate, release_waker, in_waker) = Gate::new();
    let mut registry = registry();
    let futures = Mutex::new(Vec::new());
    let executor = move |mut future: BoxFuture| {
        let waker = std::task::Waker::from(Arc::new(BlockingWaker(gate.clone())));
        let _ = future.as_mut().poll(&mut std::task::Context::from_waker(&waker));
        // Its drop would end the job.
        futures.lock().unwrap().push(future);
    };
    register_function(&mut registry, "Arm", executor, |cancel| async move {
        cancel.cancelled().await;
        NodeStatus::Success
    })
    .unwrap();
    let text = r#"<Parallel success_count="3"><Arm/><Spin spin_dist="1.0"/><Delay delay_msec="20"><Stuck name="arm"/></Delay></Parallel>"#;
    let mut kept = BlockedTree::with_result(registry, text, NodeStatus::Running);
    kept.remote.goal(1, &kept.tree);
    kept.keep();
    kept.remote.goal(2, &kept.tree);
    kept.remote.thread.handle().cancel(navigation(1));
    kept.stopped.recv_timeout(TIMEOUT).unwrap();
    in_waker.recv_timeout(TIMEOUT).unwrap();
    kept.release.send(()).unwrap();
    // The job does not end in time.
    kept.remote.periods(2);
    kept.remote.clock.advance(10_000);
    kept.remote.thread.handle().wake();
    let (client, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((client, report.status), (1, TerminalStatus::Canceled));
    release_waker.send(()).unwrap();
    drop(kept.watchdog);
}

#[test]
fn g6_the_jobs_of_the_next_goal_are_not_cancelled_with_those_of_the_goal_whose_leaves_were_halted() {
    let mut registry = registry();
    let (release, inside) = blocking_leaf(&mut registry);
    let (starting, started) = channel();
    let (finish, finished) = channel::<()>();
    let finished = Arc::new(Mutex::new(finished));
    register_function(&mut registry, "Arm", Threads, move |cancel| {
        let (starting, finished) = (starting.clone(), Arc::clone(&finished));
        async move {
            let _ = starting.send(());
            let _ = finished.lock().unwrap().recv_timeout(TIMEOUT);
            assert!(!cancel.is_cancelled());
            NodeStatus::Success
        }
    })
    .unwrap();
    let mut remote = Remote::new();
    let (gate, let_on, reporting) = Gate::new();
    let report = move |text: String| {
        if text.starts_with("tick thread is blocked and its goal has to end") {
            gate.pass();
        }
    };
    let watchdog = WatchdogThread::start(Watchdog::new(
        remote.heartbeat.clone(),
        remote.jobs.clone(),
        Duration::from_millis(100),
        report,
        remote.bench.halting(),
    ));
    remote.goal(1, &load(&registry, r#"<Stuck name="arm"/>"#));
    inside.recv_timeout(TIMEOUT).unwrap();
    remote.goal(2, &load(&registry, "<Arm/>"));
    remote.thread.handle().cancel(navigation(1));
    reporting.recv_timeout(TIMEOUT).unwrap();
    release.send(()).unwrap();
    let (client, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((client, report.status), (1, TerminalStatus::Canceled));
    remote.periods(2);
    started.recv_timeout(TIMEOUT).unwrap();
    let_on.send(()).unwrap();
    // The watchdog is back.
    drop(watchdog);
    finish.send(()).unwrap();
    let deadline = Instant::now() + TIMEOUT;
    while remote.is_running() {
        remote.periods(1);
        assert!(Instant::now() < deadline, "goal 2 gets no result");
    }
    let (client, report) = remote.reports.try_recv().unwrap();
    assert_eq!((client, report.status), (2, TerminalStatus::Succeeded));
}

/// A leaf that publishes 1 while it drives, and 0 when it is halted.
struct Motor;

impl Motor {
    fn publish(cx: &mut Context<'_>, speed: i64) {
        let topic = TopicSpec {
            name: Arc::from("speed"),
            type_name: Arc::from("std_msgs/msg/Int64"),
            depth: 1,
            reliable: true,
            transient_local: false,
            form: Form::Plain,
        };
        let world = cx.resource::<World>().unwrap();
        let topic = world.advertise(&topic).unwrap();
        world.publish(topic, Payload::new(speed));
    }
}

impl Behavior for Motor {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Self::publish(cx, 1);
        Ok(NodeStatus::Running)
    }

    fn halt(&self, cx: &mut Context<'_>, _: HaltReason) {
        Self::publish(cx, 0);
    }
}

/// The nodes of these tests and `Motor`.
fn with_motor() -> Registry {
    let mut registry = registry();
    registry
        .register_with("Motor", NodeKind::Action, (0, 0), "", |_| Box::new(Motor))
        .unwrap();
    registry
}

#[test]
fn g8_a_stop_that_a_leaf_publishes_in_its_halt_leaves_after_all_leaves_were_halted() {
    // The whole tree is halted, or `Parallel` halts the leaf in the tick that was overtaken.
    for success_count in [2, 1] {
        let text =
            format!(r#"<Parallel success_count="{success_count}"><Motor/><Stuck name="arm"/></Parallel>"#);
        let kept = BlockedTree::with(with_motor(), &text);
        kept.remote.goal(1, &kept.tree);
        kept.inside.recv_timeout(TIMEOUT).unwrap();
        kept.cancel_while_it_blocks(1);
        assert_eq!(kept.remote.bench.published::<i64>("speed"), [0]);
        drop(kept.watchdog);
    }
}

#[test]
fn g3_a_stop_that_a_leaf_publishes_in_its_halt_does_not_wait_for_a_leaf_that_blocks_in_the_same_tick() {
    let text = r#"<Fallback><Timeout msec="500"><Motor/></Timeout><Stuck name="arm"/></Fallback>"#;
    let mut kept = BlockedTree::with(with_motor(), text);
    kept.remote.goal(1, &kept.tree);
    kept.remote.periods(2);
    kept.remote.clock.advance(600);
    kept.remote.thread.handle().wake();
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    let published = kept.remote.bench.published::<i64>("speed");
    assert_eq!(published.last(), Some(&0), "{published:?}");
    kept.release.send(()).unwrap();
    drop(kept.watchdog);
}

#[test]
fn g3_a_stop_does_not_overtake_the_speed_that_the_leaf_has_published_in_the_same_tick() {
    let text =
        r#"<Parallel success_count="1"><Motor/><Delay delay_msec="20"><AlwaysSuccess/></Delay></Parallel>"#;
    let mut remote = Remote::new();
    remote.goal(1, &load(&with_motor(), text));
    remote.periods(5);
    let (_, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(report.status, TerminalStatus::Succeeded);
    let published = remote.bench.published::<i64>("speed");
    assert_eq!(published.last(), Some(&0), "{published:?}");
}

/// A place in a leaf's code where the tick thread blocks until the test releases it.
#[derive(Clone)]
struct Gate(Sender<()>, Arc<Mutex<Receiver<()>>>);

impl Gate {
    /// A gate, the sender that releases it, and the receiver that is told when the tick thread is there.
    fn new() -> (Self, Sender<()>, Receiver<()>) {
        let (release, gate) = channel();
        let (entered, inside) = channel();
        (Self(entered, Arc::new(Mutex::new(gate))), release, inside)
    }

    fn pass(&self) {
        let _ = self.0.send(());
        let _ = self.1.lock().unwrap().recv_timeout(TIMEOUT);
    }
}

/// Registers a leaf with a gate. Returns the other ends of the gate.
fn register_gated<B: Behavior + 'static>(
    registry: &mut Registry,
    id: &str,
    leaf: fn(Gate) -> B,
) -> (Sender<()>, Receiver<()>) {
    let (gate, release, inside) = Gate::new();
    registry
        .register_with(id, NodeKind::Action, (0, 0), "", move |_| {
            Box::new(leaf(gate.clone()))
        })
        .unwrap();
    (release, inside)
}

/// A leaf whose halt blocks.
struct BlockingHalt(Gate);

impl Behavior for BlockingHalt {
    fn tick(&self, _: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Running)
    }

    fn halt(&self, _: &mut Context<'_>, _: HaltReason) {
        self.0.pass();
    }
}

/// A leaf that blocks while its tree is made.
struct BlockingAttach(Gate);

impl Behavior for BlockingAttach {
    fn tick(&self, _: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Running)
    }

    fn attach(&self, _: &mut Context<'_>) {
        self.0.pass();
    }
}

/// A tree that runs and asks for nothing.
const REST: &str = r#"<Delay delay_msec="100000"><AlwaysSuccess/></Delay>"#;

/// Goal 1 runs, and the thread makes the tree of goal 2 until the returned sender is used.
fn making_the_next_tree() -> (Remote, Sender<()>) {
    let mut registry = registry();
    let (release, inside) = register_gated(&mut registry, "Slow", BlockingAttach);
    let mut remote = Remote::new();
    let first = load(&registry, REST);
    remote.goal(1, &first);
    remote.periods(2);
    remote.goal(2, &load(&registry, "<Slow/>"));
    inside.recv_timeout(TIMEOUT).unwrap();
    (remote, release)
}

#[test]
fn g3_an_operators_cancel_also_ends_the_goal_whose_tree_is_being_made() {
    let (remote, release) = making_the_next_tree();
    let handle = remote.thread.handle();
    let ended = handle.end_goal(navigation(1), "by an operator").unwrap();
    release.send(()).unwrap();
    for client in [1, 2] {
        let result = remote.reports.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(result, (client, NavigationResult::stopped("by an operator")));
    }
    ended.wait(TIMEOUT).unwrap();
    assert!(!remote.is_running());
}

#[test]
fn a_cancel_that_comes_while_the_next_tree_is_made_is_the_end_of_its_goal() {
    let (remote, release) = making_the_next_tree();
    remote.thread.handle().cancel(navigation(1));
    release.send(()).unwrap();
    let result = remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(result, (1, NavigationResult::canceled("")));
    assert!(remote.is_running(), "goal 2 goes on");
}

#[test]
fn g6_a_goal_that_is_cancelled_while_its_tree_is_made_does_not_replace_the_goal_that_runs() {
    let (remote, release) = making_the_next_tree();
    remote.thread.handle().cancel(navigation(2));
    release.send(()).unwrap();
    let (client, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
    let message = "cancelled before it started; an earlier goal is still active";
    assert_eq!((client, report), (2, NavigationResult::canceled(message)));
    assert!(remote.is_running(), "goal 1 goes on");
    assert!(remote.reports.try_recv().is_err());
}

#[test]
fn g3_a_goal_that_waits_for_a_stop_and_is_cancelled_while_a_newer_tree_is_made_ends_with_the_stop() {
    let mut registry = registry();
    let (release, inside) = register_gated(&mut registry, "Slow", BlockingAttach);
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().stop_after(1000));
    remote.thread.handle().cancel(navigation(1));
    remote.periods(2);
    remote.goal(2, &load(&registry, REST));
    remote.periods(2);
    remote.goal(3, &load(&registry, "<Slow/>"));
    inside.recv_timeout(TIMEOUT).unwrap();
    remote.thread.handle().cancel(navigation(2));
    release.send(()).unwrap();
    remote.periods(2);
    assert!(remote.reports.try_recv().is_err(), "the robot turns");
    remote.periods(150);
    let results = [(); 2].map(|()| remote.reports.recv_timeout(TIMEOUT).unwrap());
    let canceled = |number, message| (number, NavigationResult::canceled(message));
    assert_eq!(
        results,
        [canceled(1, ""), canceled(2, "cancelled before it started")]
    );
    assert!(remote.is_running(), "goal 3");
}

#[test]
fn g6_a_goal_that_is_cancelled_while_another_tree_is_made_does_not_replace_that_goal() {
    let mut registry = registry();
    let (release, inside) = register_gated(&mut registry, "Slow", BlockingAttach);
    let remote = Remote::new();
    remote.goal(1, &load(&registry, "<Slow/>"));
    inside.recv_timeout(TIMEOUT).unwrap();
    remote.goal(2, &load(&registry, "<AlwaysSuccess/>"));
    remote.thread.handle().cancel(navigation(2));
    release.send(()).unwrap();
    let (client, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(
        (client, report.status),
        (2, TerminalStatus::Canceled),
        "{report:?}"
    );
    assert!(remote.is_running(), "goal 1 goes on");
    assert!(remote.reports.try_recv().is_err());
}

#[test]
fn a_deactivation_that_comes_while_the_next_tree_is_made_is_the_end_of_the_goal_that_runs() {
    for overtakes in [false, true] {
        let (remote, release) = making_the_next_tree();
        let handle = remote.thread.handle();
        handle.shut();
        let halted = handle.halt(HaltReason::Deactivated, TIMEOUT);
        if overtakes {
            handle.overtake(HaltReason::Deactivated, || ());
        }
        release.send(()).unwrap();
        let results = [(); 2].map(|()| remote.reports.recv_timeout(TIMEOUT).unwrap());
        let of = |goal| &results.iter().find(|(client, _)| *client == goal).unwrap().1;
        assert!(of(1).error_message.contains("deactivated"), "{results:?}");
        assert_eq!(of(2).error_message, SHUT);
        halted.wait(TIMEOUT).unwrap();
    }
}

#[test]
fn a_cancel_before_a_halt_without_the_thread_is_the_end_of_its_goal() {
    let mut rig = Rig::new();
    let heartbeat = Heartbeat::new();
    rig.navigator.be_watched(heartbeat.clone(), JobRegistry::new());
    rig.goal(1, &load(&registry(), REST));
    rig.ticks(2);
    heartbeat.cancel_requested(navigation(1));
    heartbeat.overtake(HaltReason::Deactivated, || ());
    let now = rig.now();
    rig.navigator.end_if_overtaken(now);
    assert_eq!(rig.report(), (1, NavigationResult::canceled("")));
}

/// A tree of `Spin` and a leaf whose halt blocks until the returned sender is used. The receiver is told when it does.
fn blocking_halt() -> (Arc<TreeDef>, Sender<()>, Receiver<()>) {
    let mut registry = registry();
    let (release, inside) = register_gated(&mut registry, "Stuck", BlockingHalt);
    let text = r#"<Parallel success_count="2"><Spin spin_dist="1.0"/><Stuck name="arm"/></Parallel>"#;
    (load(&registry, text), release, inside)
}

impl BlockedTree {
    /// Runs goal 1 with the tree of [`blocking_halt`] until its `Spin` executes. Returns the ends of the gate.
    fn spin_beside_blocking_halt(&mut self) -> (Sender<()>, Receiver<()>) {
        let (tree, release, inside) = blocking_halt();
        self.remote.goal(1, &tree);
        self.remote.periods(2);
        self.remote.bench.wait(10);
        assert_eq!(self.remote.bench.active("spin"), 1);
        (release, inside)
    }
}

#[test]
fn g3_a_leaf_whose_halt_blocks_the_tick_thread_does_not_delay_the_cancel_of_the_other_leaves() {
    let mut kept = BlockedTree::new();
    let (release, inside) = kept.spin_beside_blocking_halt();
    kept.remote.thread.handle().cancel(navigation(1));
    inside.recv_timeout(TIMEOUT).unwrap();
    kept.stopped.recv_timeout(TIMEOUT).unwrap();
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 0);
    release.send(()).unwrap();
    let (client, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((client, report.status), (1, TerminalStatus::Canceled));
    drop(kept.watchdog);
}

#[test]
fn g3_an_operator_stops_the_robot_although_a_leaf_blocks_the_tick_thread() {
    let mut kept = BlockedTree::new();
    assert!(
        kept.remote
            .thread
            .handle()
            .end_goal(navigation(1), "by an operator")
            .is_none()
    );
    let (release, inside) = kept.spin_beside_blocking_halt();
    let ended = kept
        .remote
        .thread
        .handle()
        .end_goal(navigation(1), "by an operator")
        .unwrap();
    inside.recv_timeout(TIMEOUT).unwrap();
    kept.stopped.recv_timeout(TIMEOUT).unwrap();
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 0);
    release.send(()).unwrap();
    let (client, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((client, report.status), (1, TerminalStatus::Aborted));
    assert_eq!(report.error_message, "by an operator");
    assert_eq!(ended.wait(TIMEOUT), Ok(true));
    drop(kept.watchdog);
}

impl BlockedTree {
    /// Goal 1 runs and a leaf blocks the thread; goal 2 waits. An operator ends goal 1, and the leaf returns.
    fn end_by_operator_while_a_goal_waits(result: NodeStatus) -> Self {
        let mut kept = Self::returning(result);
        kept.remote.goal(1, &kept.tree);
        kept.keep();
        kept.remote.goal(2, &kept.tree);
        let ended = kept
            .remote
            .thread
            .handle()
            .end_goal(navigation(1), "by an operator")
            .unwrap();
        kept.stopped.recv_timeout(TIMEOUT).unwrap();
        kept.wait_for_the_stop();
        kept.release.send(()).unwrap();
        assert_eq!(ended.wait(TIMEOUT), Ok(true));
        kept
    }

    /// The results of both goals, in the order of the goals, after which nothing moves.
    fn ends(mut self) -> [NavigationResult; 2] {
        self.remote.periods(5);
        let mut ends: Vec<_> = (0..2)
            .map(|_| self.remote.reports.recv_timeout(TIMEOUT).unwrap())
            .collect();
        ends.sort_by_key(|(client, _)| *client);
        assert!(!self.remote.is_running());
        assert_eq!(self.remote.bench.active("spin"), 0);
        drop(self.watchdog);
        let [first, second] = ends.try_into().unwrap();
        assert_eq!((first.0, second.0), (1, 2));
        [first.1, second.1]
    }
}

#[test]
fn g8_an_operator_ends_the_waiting_goals_too_although_a_leaf_blocks_the_tick_thread() {
    let kept = BlockedTree::end_by_operator_while_a_goal_waits(NodeStatus::Success);
    let by_operator = NavigationResult::stopped("by an operator");
    assert_eq!(kept.ends(), [by_operator.clone(), by_operator]);
}

#[test]
fn g8_an_operator_ends_the_waiting_goals_too_if_the_tree_of_his_goal_ends_first() {
    let kept = BlockedTree::end_by_operator_while_a_goal_waits(NodeStatus::Failure);
    let [first, second] = kept.ends();
    assert_eq!(first.status, TerminalStatus::Aborted);
    assert_eq!(second, NavigationResult::stopped("by an operator"));
}

#[test]
fn an_operator_keeps_the_next_goal_from_its_start_while_the_robot_stops_for_it() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().stop_after(100));
    let next = load(&registry(), r#"<Spin spin_dist="2.0"/>"#);
    remote.goal(2, &next);
    remote.periods(3);
    let handle = remote.thread.handle().clone();
    assert_eq!(remote.heartbeat.active_goal(), None);
    assert_eq!(
        remote.heartbeat.current_goal(),
        Some(navigation(1)),
        "the page shows it"
    );
    assert!(handle.end_goal(navigation(2), "by an operator").is_none());
    let ended = handle.end_goal(navigation(1), "by an operator").unwrap();
    assert_eq!(ended.wait(TIMEOUT), Ok(true));
    remote.periods(30);
    let ends: Vec<_> = remote.reports.try_iter().collect();
    assert_eq!(
        ends,
        [
            (1, NavigationResult::preempted()),
            (2, NavigationResult::stopped("by an operator"))
        ]
    );
    assert!(!remote.is_running());
    assert_eq!(remote.bench.active("spin"), 0);
    assert_eq!(remote.heartbeat.current_goal(), None);
}

#[test]
fn g8_an_operator_stops_the_robot_without_a_watchdog_although_a_leaf_blocks_the_tick_thread() {
    let mut kept = BlockedTree::new();
    kept.remote.goal(1, &kept.tree);
    kept.keep();
    drop(kept.watchdog);
    let (heartbeat, jobs) = (&kept.remote.heartbeat, &kept.remote.jobs);
    cancel_without_ticks(navigation(1), heartbeat, jobs, || {
        panic!("no cancel was requested")
    });
    let handle = kept.remote.thread.handle();
    let ended = handle.end_goal(navigation(1), "by an operator").unwrap();
    assert_eq!(ended.wait(A_MOMENT), Err(Unacknowledged::NotYet));
    cancel_without_ticks(navigation(1), heartbeat, jobs, kept.remote.bench.halting());
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 0);
    kept.release.send(()).unwrap();
    let (_, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(report, NavigationResult::stopped("by an operator"));
    // The thread has processed the cancel: the next goal is left alone.
    cancel_without_ticks(navigation(1), &kept.remote.heartbeat, &kept.remote.jobs, || {
        panic!("nothing waits")
    });
}

/// The state of a leaf. Its drop blocks.
#[derive(Default)]
struct BlockingDrop(Option<Gate>);

impl Drop for BlockingDrop {
    fn drop(&mut self) {
        if let Some(gate) = &self.0 {
            gate.pass();
        }
    }
}

/// A leaf with a [`BlockingDrop`].
struct Device(Gate);

impl Behavior for Device {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.state::<BlockingDrop>().0.get_or_insert_with(|| self.0.clone());
        Ok(NodeStatus::Running)
    }
}

#[test]
fn g3_a_tree_whose_drop_blocks_does_not_delay_the_cancel_of_its_goals() {
    let mut remote = Remote::new();
    remote.bench.action::<Spin>("spin", |_| Plan::endless());
    let mut registry = registry();
    let (release, inside) = register_gated(&mut registry, "Device", Device);
    let text = r#"<Parallel success_count="2"><Spin spin_dist="1.0"/><Device/></Parallel>"#;
    let (driving, next) = (load(&registry, text), load(&registry, "<AlwaysSuccess/>"));
    remote.goal(1, &driving);
    remote.periods(2);
    assert_eq!(remote.bench.active("spin"), 1);
    remote.goal(2, &next);
    inside.recv_timeout(TIMEOUT).unwrap();
    remote.bench.wait(10);
    assert_eq!(remote.bench.active("spin"), 0);
    release.send(()).unwrap();
}

#[test]
fn g8_the_goal_after_a_leaf_whose_halt_blocks_is_not_aborted_for_it() {
    let mut kept = BlockedTree::new();
    let (tree, release, inside) = blocking_halt();
    kept.remote.goal(1, &tree);
    kept.remote.periods(2);
    kept.remote.bench.wait(10);
    let next = load(&registry(), r#"<Spin spin_dist="2.0"/>"#);
    kept.remote.goal(2, &next);
    inside.recv_timeout(TIMEOUT).unwrap();
    kept.stopped.recv_timeout(TIMEOUT).unwrap();
    kept.wait_for_the_stop();
    kept.remote.bench.wait(10);
    release.send(()).unwrap();
    let (client, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((client, report.status), (1, TerminalStatus::Aborted));
    kept.remote.periods(3);
    assert!(kept.remote.is_running(), "{:?}", kept.remote.reports.try_recv());
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 1);
    drop(kept.watchdog);
}

#[test]
fn g8_the_cancel_of_the_goal_after_a_blocking_halt_does_not_wait_for_its_leaf_either() {
    let mut kept = BlockedTree::with(registry(), r#"<Sequence><Stuck name="arm"/><Spin/></Sequence>"#);
    let (tree, release, inside) = blocking_halt();
    kept.remote.goal(1, &tree);
    kept.remote.periods(2);
    kept.remote.bench.wait(10);
    kept.remote.goal(2, &kept.tree);
    inside.recv_timeout(TIMEOUT).unwrap();
    kept.stopped.recv_timeout(TIMEOUT).unwrap();
    kept.wait_for_the_stop();
    kept.remote.bench.wait(10);
    kept.remote.clock.advance(100);
    release.send(()).unwrap();
    let (client, _) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(client, 1);
    kept.inside.recv_timeout(TIMEOUT).unwrap();
    kept.cancel_while_it_blocks(2);
    drop(kept.watchdog);
}

#[test]
fn g6_a_cancel_of_a_goal_that_waits_leaves_the_one_alone_that_runs() {
    let mut kept = BlockedTree::new();
    kept.remote.goal(1, &kept.tree);
    kept.keep();
    let handle = kept.remote.thread.handle();
    let mut other = request(2, &kept.tree, &kept.remote.clients);
    other.kind = NavigatorKind::ToPose;
    let waiting = other.id();
    handle.goal(other);
    handle.cancel(waiting);
    let (client, report) = kept.remote.reports.try_recv().unwrap();
    assert_eq!((client, report.status), (2, TerminalStatus::Canceled), "at once");
    assert!(kept.stopped.recv_timeout(QUIET_TIME).is_err());
    kept.release.send(()).unwrap();
    kept.remote.periods(3);
    assert!(kept.remote.is_running());
    let bench = &kept.remote.bench;
    assert_eq!((bench.active("spin"), bench.cancels("spin")), (1, 0));
    drop(kept.watchdog);
}

#[test]
fn g6_a_tree_whose_goals_were_cancelled_externally_is_halted_and_its_client_gets_a_result() {
    let mut kept = BlockedTree::new();
    kept.remote.goal(1, &kept.tree);
    kept.keep();
    // It would replace the first goal in its tree, whose leaves would wait without end for the cancelled goals.
    kept.remote.goal(2, &kept.tree);
    kept.remote.thread.handle().cancel(navigation(1));
    kept.stopped.recv_timeout(TIMEOUT).unwrap();
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 0);
    kept.wait_for_the_stop();
    kept.release.send(()).unwrap();
    let (client, report) = kept.remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(
        (client, report.status),
        (1, TerminalStatus::Canceled),
        "{report:?}"
    );
    assert!(
        kept.remote.is_running(),
        "the second one has a tree that knows nothing of it"
    );
    kept.remote.periods(1);
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 1);
    kept.release.send(()).unwrap();
    drop(kept.watchdog);
}

#[test]
fn g8_all_leaves_are_halted_for_the_cancelled_goal_only() {
    let heartbeat = Heartbeat::default();
    let first = || {
        heartbeat.begin_session();
        heartbeat.set_goal(navigation(1));
        heartbeat.cancel_requested(navigation(1));
    };
    let halt = |goal| {
        let mut is_called = false;
        let done = heartbeat.overtake_for_cancel(navigation(goal), || is_called = true);
        assert_eq!(done.is_some(), is_called);
        is_called
    };
    first();
    assert!(halt(1) && heartbeat.is_overtaken());
    // The thread ends that run and begins with the next goal.
    assert_eq!(
        heartbeat.take_overtaking(),
        Some(Overtaking::Cancel(CancelRequest {
            goal: navigation(1),
            message: None
        }))
    );
    // The thread began with the next goal first.
    first();
    heartbeat.goal_is_stopping();
    assert!(!halt(1) && !heartbeat.is_overtaken());
    heartbeat.begin_session();
    heartbeat.set_goal(navigation(2));
    assert!(!halt(1) && !halt(2) && !heartbeat.is_overtaken());
    // A deactivation is not because of the earlier goal, whose cancel has not been processed.
    heartbeat.overtake(HaltReason::Deactivated, || ());
    let reason = Overtaking::Halt(HaltReason::Deactivated);
    assert_eq!(heartbeat.take_overtaking(), Some(reason));
}

#[test]
fn a_watchdog_without_a_limit_reports_nothing() {
    let (sender, reports) = channel();
    let remote = Remote::new();
    let report = move |text| drop(sender.send(text));
    let mut watchdog = Watchdog::new(
        remote.heartbeat.clone(),
        remote.jobs.clone(),
        Duration::ZERO,
        report,
        || (),
    );
    // A tick that does not end.
    remote.heartbeat.begin();
    for _ in 0..3 {
        watchdog.check();
    }
    assert!(reports.try_recv().is_err());
}

#[test]
fn g8_a_leaf_that_blocks_the_tick_thread_does_not_block_the_cancel_of_a_job() {
    let mut registry = registry();
    let (release, inside) = blocking_leaf(&mut registry);
    let (stopping, stopped) = channel();
    register_function(&mut registry, "Arm", Threads, move |cancel| {
        let stopping = stopping.clone();
        async move {
            cancel.cancelled().await;
            let _ = stopping.send(());
            NodeStatus::Success
        }
    })
    .unwrap();
    let mut remote = Remote::new();
    let (sender, reports) = channel();
    let watchdog = WatchdogThread::start(Watchdog::new(
        remote.heartbeat.clone(),
        remote.jobs.clone(),
        Duration::from_millis(100),
        move |text| drop(sender.send(text)),
        remote.bench.halting(),
    ));
    let tree = load(
        &registry,
        r#"<Parallel success_count="2"><Arm/><Delay delay_msec="20"><Stuck name="wall"/></Delay></Parallel>"#,
    );
    remote.goal(1, &tree);
    remote.periods(1);
    remote.clock.advance(30);
    remote.thread.handle().wake();
    inside.recv_timeout(TIMEOUT).unwrap();
    expect_report(&reports, "leaf `wall` has blocked the tick thread for ");
    assert!(stopped.try_recv().is_err());
    remote.thread.handle().cancel(navigation(1));
    assert_eq!(
        stopped.recv_timeout(TIMEOUT),
        Ok(()),
        "the leaf still keeps the thread"
    );
    expect_report(&reports, "tick thread is blocked and its goal has to end");
    while !remote.heartbeat.is_overtaken() {
        std::thread::yield_now();
    }
    release.send(()).unwrap();
    let (client, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!(
        (client, report.status),
        (1, TerminalStatus::Canceled),
        "{report:?}"
    );
    drop(watchdog);
}
