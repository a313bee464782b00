//! Tests of a navigator on its own thread: acknowledgements of its handle, and the clocks of its waits.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt as _;

use super::goal::{NavigationError, NavigationResult, RequestedTree, TerminalStatus};
use super::test_harness::{bench, load, navigation, registry, request};
use super::{Heartbeat, Navigator, NavigatorKind, Options, TickClock, TickThread, Unacknowledged};
use crate::bt::{Behavior, Context, HaltReason, NodeKind, NodeStatus, Tick, Time, TreeDef};
use crate::job::JobRegistry;
use crate::msg::action::Spin;
use crate::msg::{Pose, PoseStamped};
use crate::nav::testing::{Bench, Plan};
use crate::nav::{Settings, World};

/// Maximum wait of a test on any machine.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// The clock of a tick thread under test: the time of ticks, which a simulation may stop, the steady time, and whether
/// the time of ticks is still unknown.
#[derive(Clone, Default)]
pub(super) struct VirtualClock(Arc<[AtomicU64; 2]>, Arc<AtomicBool>);

impl VirtualClock {
    pub(super) fn advance(&self, milliseconds: u64) {
        for clock in &*self.0 {
            clock.fetch_add(milliseconds, Ordering::SeqCst);
        }
    }

    /// Advances the steady time only: the simulation is paused.
    fn advance_steady(&self, milliseconds: u64) {
        self.0[1].fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl TickClock for VirtualClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0[0].load(Ordering::SeqCst))
    }

    fn steady(&self) -> Time {
        Time::from_millis(self.0[1].load(Ordering::SeqCst))
    }

    fn has_started(&self) -> bool {
        !self.1.load(Ordering::SeqCst)
    }

    /// The thread checks the clock when it is woken.
    fn wall_time_until(&self, _: Time) -> Duration {
        TIMEOUT
    }
}

/// A navigator on its own thread, with its servers on this one.
pub(super) struct Remote {
    pub(super) bench: Bench,
    pub(super) clock: VirtualClock,
    pub(super) thread: TickThread,
    pub(super) clients: Sender<(u8, NavigationResult)>,
    pub(super) reports: Receiver<(u8, NavigationResult)>,
    pub(super) heartbeat: Heartbeat,
    pub(super) jobs: JobRegistry,
}

/// Counts the errors that a thread logs.
#[derive(Clone, Default)]
struct Errors(Arc<AtomicU64>);

impl<S: tracing::Subscriber> Layer<S> for Errors {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        if *event.metadata().level() == tracing::Level::ERROR {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Remote {
    pub(super) fn new() -> Self {
        Self::with(Errors::default(), Options::default())
    }

    pub(super) fn with_options(options: Options) -> Self {
        Self::with(Errors::default(), options)
    }

    fn with(errors: Errors, options: Options) -> Self {
        let bench = bench();
        let clock = VirtualClock::default();
        clock.advance(bench.now().as_nanos() / 1_000_000);
        let link = bench.link();
        let (clients, reports) = channel();
        let (heartbeat, jobs) = (Heartbeat::new(), JobRegistry::new());
        let (watched, job_registry) = (heartbeat.clone(), jobs.clone());
        let thread = TickThread::start(
            move |_| {
                let log = tracing_subscriber::registry().with(errors);
                // The subscriber of this thread, until its end.
                let _ = ManuallyDrop::new(tracing::subscriber::set_default(log));
                let mut navigator = Navigator::new(World::new(link, Settings::default()), options);
                navigator.be_watched(watched, job_registry);
                navigator
            },
            Arc::new(clock.clone()),
            heartbeat.clone(),
            || {},
        );
        Self {
            bench,
            clock,
            thread: thread.unwrap(),
            clients,
            reports,
            heartbeat,
            jobs,
        }
    }

    pub(super) fn goal(&self, number: u8, tree: &Arc<TreeDef>) {
        self.thread.handle().goal(request(number, tree, &self.clients));
    }

    /// Starts a goal whose leaf `turn` has run for three ticks, on a server that follows the plan. Returns its tree.
    pub(super) fn turn(&mut self, plan: impl Fn() -> Plan<Spin> + Send + 'static) -> Arc<TreeDef> {
        self.bench.action::<Spin>("spin", move |_| plan());
        let tree = load(&registry(), r#"<Spin name="turn" spin_dist="1.0"/>"#);
        self.goal(1, &tree);
        self.periods(3);
        tree
    }

    /// Pauses the ticks of a goal that runs.
    pub(super) fn pause(&self, number: u8) {
        let paused = self.thread.handle().pause(navigation(number));
        assert_eq!(paused.wait(TIMEOUT), Ok(true));
    }

    pub(super) fn is_running(&self) -> bool {
        let tick_status = self.thread.handle().tick_status().wait(TIMEOUT).unwrap();
        tick_status.navigator.is_running
    }

    pub(super) fn ticks(&self) -> u64 {
        let tick_status = self.thread.handle().tick_status().wait(TIMEOUT).unwrap();
        tick_status.statistics.durations.total()
    }

    /// Advances time by periods, each with its tick.
    pub(super) fn periods(&mut self, count: usize) {
        for _ in 0..count {
            self.clock.advance(10);
            self.period();
        }
    }

    /// Advances the steady time by periods while the simulation is paused.
    fn paused_periods(&mut self, count: usize) {
        for _ in 0..count {
            self.clock.advance_steady(10);
            self.period();
        }
    }

    fn period(&mut self) {
        self.bench.wait(10);
        self.thread.handle().wake();
        // The answer comes after the wake-up was processed.
        self.ticks();
    }
}

/// A leaf whose tree takes half a second to create.
struct SlowConstruction(VirtualClock);

impl Behavior for SlowConstruction {
    fn tick(&self, _: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Running)
    }

    fn attach(&self, _: &mut Context<'_>) {
        self.0.advance(500);
    }
}

#[test]
fn g10_what_a_period_took_counts_all_that_the_thread_did_in_it() {
    let remote = Remote::new();
    let (mut registry, clock) = (registry(), remote.clock.clone());
    registry
        .register_with("SlowConstruction", NodeKind::Action, (0, 0), "", move |_| {
            Box::new(SlowConstruction(clock.clone()))
        })
        .unwrap();
    remote.goal(1, &load(&registry, "<SlowConstruction/>"));
    let tick_status = remote.thread.handle().tick_status().wait(TIMEOUT).unwrap();
    assert_eq!(tick_status.statistics.durations.total(), 1);
    assert!(tick_status.statistics.durations.longest() >= Duration::from_millis(500));
}

#[test]
fn a_pause_is_acknowledged_after_the_last_tick() {
    let mut remote = Remote::new();
    remote.turn(Plan::endless);
    remote.pause(1);
    let ticks = remote.ticks();
    assert!(ticks >= 3);
    remote.periods(5);
    assert_eq!(remote.ticks(), ticks);
    assert_eq!(remote.bench.active("spin"), 1, "its goal goes on");
    remote.thread.handle().resume().wait(TIMEOUT).unwrap();
    remote.periods(2);
    assert!(remote.ticks() > ticks);
}

#[test]
fn a_paused_tree_gets_one_tick_for_each_step() {
    let mut remote = Remote::new();
    let handle = remote.thread.handle().clone();
    assert_eq!(handle.step().wait(TIMEOUT), Ok(false), "no tree runs");
    remote.turn(Plan::endless);
    assert_eq!(handle.step().wait(TIMEOUT), Ok(false), "ticks are not paused");
    remote.pause(1);
    let before = handle.tick_status().wait(TIMEOUT).unwrap().statistics;
    let ticks = remote.ticks();
    for step in 1..=3 {
        remote.periods(5);
        assert_eq!(handle.step().wait(TIMEOUT), Ok(true));
        assert_eq!(remote.ticks(), ticks + step);
    }
    let after = handle.tick_status().wait(TIMEOUT).unwrap().statistics;
    assert_eq!(after.missed, before.missed, "a pause misses no tick");
    // A paused tree can be halted.
    let halted = handle.halt(HaltReason::GoalCanceled, TIMEOUT);
    remote.periods(20);
    assert_eq!(halted.wait(TIMEOUT), Ok(()));
    assert_eq!(remote.bench.active("spin"), 0);
}

#[test]
fn g6_a_pause_ends_with_its_goal_or_with_a_newer_one() {
    let mut remote = Remote::new();
    let handle = remote.thread.handle().clone();
    assert_eq!(
        handle.pause(navigation(1)).wait(TIMEOUT),
        Ok(false),
        "no goal runs"
    );
    assert!(!handle.tick_status().wait(TIMEOUT).unwrap().is_paused);
    remote.turn(Plan::endless);
    remote.pause(1);
    let ticks = remote.ticks();
    // The same tree: the newer goal replaces the paused one without a halt.
    let tree = load(&registry(), r#"<Spin spin_dist="1.0"/>"#);
    remote.goal(2, &tree);
    remote.periods(10);
    assert!(!handle.tick_status().wait(TIMEOUT).unwrap().is_paused);
    assert!(remote.ticks() > ticks);
}

/// Another client cancels the goal of a tree that is not ticked. Returns after its navigation has ended, with its tree.
fn cancel_of_another_client(not_ticked: impl Fn(&mut Remote)) -> (Remote, Arc<TreeDef>) {
    let mut remote = Remote::new();
    let tree = remote.turn(Plan::endless);
    not_ticked(&mut remote);
    let ticks = remote.ticks();
    remote.bench.foreign_cancel("spin");
    remote.paused_periods(4);
    let (client, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
    assert_eq!((client, report.status), (1, TerminalStatus::Aborted));
    let words = &report.error_message;
    assert!(words.contains("another client cancelled the goal"), "{words}");
    assert_eq!(remote.ticks(), ticks);
    (remote, tree)
}

#[test]
fn g3_a_cancel_of_another_client_ends_a_navigation_that_is_not_ticked_and_no_later_one() {
    let pause = |remote: &mut Remote| remote.pause(1);
    for not_ticked in [pause as fn(&mut Remote), |_| ()] {
        let (mut remote, tree) = cancel_of_another_client(not_ticked);
        remote.goal(2, &tree);
        remote.periods(5);
        assert!(remote.is_running(), "{:?}", remote.reports.try_recv());
        assert_eq!(remote.bench.active("spin"), 1);
    }
}

#[test]
fn g3_a_goal_that_comes_after_the_node_knew_of_a_cancel_of_another_client_drives() {
    let options = Options {
        period: Duration::from_secs(1),
        ..Options::default()
    };
    let mut remote = Remote::with_options(options);
    let tree = remote.turn(Plan::endless);
    remote.periods(200);
    assert_eq!(remote.bench.active("spin"), 1);
    remote.bench.foreign_cancel("spin");
    // The GoalTracker tells the thread of the notice, long before the next tick.
    remote.bench.wait(5);
    remote.thread.handle().event();
    remote.ticks();
    remote.goal(2, &tree);
    remote.periods(200);
    let (client, report) = remote.reports.try_recv().unwrap();
    assert_eq!(client, 1);
    assert!(report.error_message.contains("another client"), "{report:?}");
    assert_eq!((remote.is_running(), remote.bench.active("spin")), (true, 1));
}

#[test]
fn a_pause_is_for_its_goal_and_for_no_later_one() {
    let mut remote = Remote::new();
    let handle = remote.thread.handle().clone();
    let tree = remote.turn(Plan::endless);
    remote.goal(2, &tree);
    remote.periods(1);
    // The client has looked before goal 2 came.
    assert_eq!(handle.pause(navigation(1)).wait(TIMEOUT), Ok(false));
    assert!(!handle.tick_status().wait(TIMEOUT).unwrap().is_paused);
    // A late pause of an earlier goal changes nothing for the one that is paused.
    remote.pause(2);
    assert_eq!(handle.pause(navigation(1)).wait(TIMEOUT), Ok(false));
    assert!(handle.tick_status().wait(TIMEOUT).unwrap().is_paused);
}

#[test]
fn a_halt_is_acknowledged_when_everything_has_stopped_and_the_client_knows() {
    let (mut remote, registry) = (Remote::new(), registry());
    remote.turn(|| Plan::endless().stop_after(300));
    let halted = remote.thread.handle().halt(HaltReason::GoalCanceled, TIMEOUT);
    remote.periods(20);
    assert_eq!(remote.bench.active("spin"), 1, "its server takes its time");
    assert_eq!(halted.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.periods(20);
    assert_eq!(halted.wait(TIMEOUT), Ok(()));
    assert_eq!(remote.bench.active("spin"), 0);
    assert_eq!(
        remote.reports.try_recv().unwrap().1.status,
        TerminalStatus::Aborted
    );
    // The thread still runs and accepts goals.
    remote.goal(2, &load(&registry, "<AlwaysSuccess/>"));
    remote.periods(1);
    assert_eq!(
        remote.reports.recv_timeout(TIMEOUT).unwrap().1.status,
        TerminalStatus::Succeeded
    );
}

#[test]
fn a_halt_of_a_goal_that_does_not_stop_is_acknowledged_after_its_report() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().unstoppable());
    let halted = remote.thread.handle().halt(HaltReason::GoalCanceled, TIMEOUT);
    remote.periods(310);
    assert_eq!(halted.wait(TIMEOUT), Ok(()));
    let (_, report) = remote.reports.try_recv().unwrap();
    assert!(report.error_message.contains("turn"), "{report:?}");
}

#[test]
fn a_halt_is_acknowledged_while_the_next_goal_runs() {
    let mut remote = Remote::new();
    let tree = remote.turn(|| Plan::endless().stop_after(100));
    let halted = remote.thread.handle().halt(HaltReason::GoalCanceled, TIMEOUT);
    remote.goal(2, &tree);
    remote.periods(5);
    assert_eq!(halted.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.periods(10);
    assert_eq!(halted.wait(TIMEOUT), Ok(()));
    assert_eq!(remote.reports.try_recv().unwrap().0, 1);
    let more: Vec<_> = remote.reports.try_iter().collect();
    assert!(remote.is_running(), "{more:?}");
}

#[test]
fn g8_a_halt_with_a_limit_names_what_has_not_stopped_by_then_also_where_simulated_time_stands_still() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().unstoppable());
    let limit = Duration::from_millis(200);
    let halted = remote.thread.handle().halt(HaltReason::ShuttingDown, limit);
    // The limit also ends the wait of an earlier halt with a longer limit.
    let patient = remote.thread.handle().halt(HaltReason::ShuttingDown, TIMEOUT);
    remote.ticks();
    remote.clock.advance_steady(190);
    remote.thread.handle().wake();
    remote.ticks();
    assert_eq!(halted.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.clock.advance_steady(10);
    remote.thread.handle().wake();
    assert_eq!(halted.wait(TIMEOUT), Ok(()));
    assert_eq!(patient.wait(TIMEOUT), Ok(()));
    let (_, report) = remote.reports.try_recv().unwrap();
    assert_eq!(report.status, TerminalStatus::Aborted);
    assert!(report.error_message.contains("turn"), "{report:?}");
}

#[test]
fn g8_a_goal_that_was_let_in_before_goals_were_refused_does_not_start_after_it() {
    let mut remote = Remote::new();
    let tree = remote.turn(|| Plan::endless().stop_after(100));
    let handle = remote.thread.handle().clone();
    let [stopping, idle, again] = [(); 3].map(|()| handle.admit().unwrap());
    handle.shut();
    assert!(handle.admit().is_none());
    let halted = handle.halt(HaltReason::ShuttingDown, TIMEOUT);
    remote.periods(2);
    let refused = |remote: &Remote, number: u8| {
        let (client, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
        assert_eq!((client, report.status), (number, TerminalStatus::Aborted));
        assert_eq!(
            report.error_message,
            "the node stopped accepting goals before this goal started"
        );
    };
    // While the goal on the first server is stopping, ...
    stopping.submit(request(2, &tree, &remote.clients));
    refused(&remote, 2);
    remote.periods(20);
    assert_eq!(halted.wait(TIMEOUT), Ok(()));
    assert_eq!(remote.reports.try_recv().unwrap().0, 1);
    // ... after it has stopped, and after goals are accepted again.
    idle.submit(request(3, &tree, &remote.clients));
    refused(&remote, 3);
    handle.open();
    again.submit(request(4, &tree, &remote.clients));
    refused(&remote, 4);
    assert!(!remote.is_running());
    handle.admit().unwrap().submit(request(5, &tree, &remote.clients));
    assert!(remote.is_running());
}

#[test]
fn a_failed_tick_thread_reports_its_fault() {
    let (end, ended) = channel();
    let thread = TickThread::start(
        |_| panic!("a fault of the test's"),
        Arc::new(VirtualClock::default()),
        Heartbeat::new(),
        move || end.send(()).unwrap(),
    );
    let thread = thread.unwrap();
    ended.recv_timeout(TIMEOUT).unwrap();
    assert!(thread.is_finished());
}

#[test]
fn g3_a_paused_simulation_does_not_keep_a_client_from_its_result() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().unstoppable());
    remote.thread.handle().cancel(navigation(1));
    remote.paused_periods(290);
    assert!(remote.reports.try_recv().is_err(), "it has its three seconds");
    remote.paused_periods(20);
    let (_, report) = remote.reports.try_recv().unwrap();
    assert_eq!(report.status, TerminalStatus::Canceled);
    assert!(report.error_message.contains("turn"), "{report:?}");
}

#[test]
fn g3_a_fast_simulation_does_not_cut_short_the_time_that_a_server_has_to_stop() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().stop_after(1000));
    remote.thread.handle().cancel(navigation(1));
    remote.ticks();
    // An hour passes in the simulation, and no time for the server.
    remote.clock.0[0].fetch_add(3_600_000, Ordering::SeqCst);
    remote.periods(50);
    assert!(remote.reports.try_recv().is_err(), "its server is stopping");
    remote.periods(60);
    let (_, report) = remote.reports.try_recv().unwrap();
    assert_eq!(
        (report.status, report.error_message.as_str()),
        (TerminalStatus::Canceled, "")
    );
}

impl Remote {
    /// A goal in an unknown frame. It waits for a transform for a limited steady time.
    fn goal_to_nowhere(&mut self, number: u8) {
        self.send_to_nowhere(number);
        self.paused_periods(45);
        assert!(self.reports.try_recv().is_err());
        self.paused_periods(10);
        let (client, report) = self.reports.try_recv().unwrap();
        let code = NavigationError::TransformFailed.code(NavigatorKind::ThroughPoses);
        assert_eq!((client, report.error_code), (number, code));
    }

    fn send_to_nowhere(&self, number: u8) {
        let mut request = request(number, &load(&registry(), "<AlwaysSuccess/>"), &self.clients);
        let mut pose = PoseStamped::default();
        pose.header.frame_id = "nowhere".into();
        request.poses = vec![pose];
        self.thread.handle().goal(request);
    }
}

#[test]
fn the_time_limit_of_a_goal_that_waits_for_a_transform_does_not_wait_for_the_next_tick() {
    let mut remote = Remote::new();
    remote.turn(Plan::endless);
    remote.send_to_nowhere(2);
    remote.ticks();
    // Nothing else wakes the thread: it waits for its next tick for `TIMEOUT`.
    remote.clock.advance_steady(600);
    let (client, report) = remote.reports.recv_timeout(TIMEOUT / 2).unwrap();
    let code = NavigationError::TransformFailed.code(NavigatorKind::ThroughPoses);
    assert_eq!((client, report.error_code), (2, code));
}

#[test]
fn a_paused_simulation_does_not_keep_a_goal_waiting_for_a_transform() {
    let mut remote = Remote::new();
    remote.goal_to_nowhere(1);
    // The same is true if the goal would replace another one.
    remote.turn(Plan::endless);
    remote.goal_to_nowhere(2);
    assert!(remote.is_running());
}

#[test]
fn a_pause_does_not_keep_a_goal_waiting_for_a_transform() {
    let mut remote = Remote::new();
    remote.turn(Plan::endless);
    remote.pause(1);
    remote.goal_to_nowhere(2);
    assert_eq!(remote.bench.active("spin"), 1);
}

#[test]
fn g10_nothing_is_ticked_before_a_simulation_is_heard_of_and_a_goal_that_waits_for_it_can_be_cancelled() {
    let (mut remote, registry) = (Remote::new(), registry());
    remote.clock.1.store(true, Ordering::SeqCst);
    remote.bench.action::<Spin>("spin", |_| Plan::endless());
    let tree = load(&registry, r#"<Spin spin_dist="1.0"/>"#);
    remote.goal(1, &tree);
    remote.paused_periods(100);
    assert_eq!((remote.ticks(), remote.bench.active("spin")), (0, 0));
    remote.thread.handle().cancel(navigation(1));
    remote.paused_periods(1);
    assert_eq!(
        remote.reports.try_recv().unwrap().1.status,
        TerminalStatus::Canceled
    );
    remote.goal(2, &tree);
    remote.paused_periods(100);
    remote.clock.1.store(false, Ordering::SeqCst);
    remote.periods(5);
    let statistics = remote
        .thread
        .handle()
        .tick_status()
        .wait(TIMEOUT)
        .unwrap()
        .statistics;
    assert!((4..=6).contains(&statistics.durations.total()), "{statistics:?}");
    assert_eq!(statistics.missed, 0);
    assert_eq!(remote.bench.active("spin"), 1);
}

#[test]
fn g6_a_goal_that_waits_for_a_simulation_that_is_never_heard_of_is_aborted() {
    let (mut remote, registry) = (Remote::new(), registry());
    remote.clock.1.store(true, Ordering::SeqCst);
    remote.bench.action::<Spin>("spin", |_| Plan::endless());
    let tree = load(&registry, r#"<Spin spin_dist="1.0"/>"#);
    for goal in [1, 2] {
        remote.goal(goal, &tree);
        remote.paused_periods(990);
        assert!(remote.reports.try_recv().is_err(), "it has ten seconds");
        remote.paused_periods(20);
        let report = remote.reports.try_recv().unwrap().1;
        assert_eq!(
            (report.status, report.error_code),
            (TerminalStatus::Aborted, 9100)
        );
        assert!(
            report
                .error_message
                .contains("no message with a time after 0 has arrived on /clock for 10s")
        );
    }
    assert_eq!((remote.ticks(), remote.bench.active("spin")), (0, 0));
    remote.clock.1.store(false, Ordering::SeqCst);
    remote.goal(3, &tree);
    remote.periods(5);
    assert_eq!(remote.bench.active("spin"), 1);
}

#[test]
fn g6_goals_are_aborted_once_for_a_clock_that_stays_away_and_each_has_its_own_time() {
    let errors = Errors::default();
    let mut remote = Remote::with(errors.clone(), Options::default());
    let tree = remote.turn(|| Plan::endless().unstoppable());
    assert_eq!(remote.bench.active("spin"), 1);
    remote.clock.1.store(true, Ordering::SeqCst);
    remote.paused_periods(990);
    assert_eq!(errors.0.load(Ordering::SeqCst), 0);
    // The server does not stop: three more seconds.
    remote.paused_periods(100);
    assert_eq!(errors.0.load(Ordering::SeqCst), 1);
    remote.goal(2, &tree);
    remote.paused_periods(300);
    let (client, report) = remote.reports.try_recv().unwrap();
    assert_eq!((client, report.error_code), (1, 9100));
    remote.paused_periods(690);
    assert!(
        remote.reports.try_recv().is_err(),
        "goal 2 has its own ten seconds"
    );
    assert_eq!(errors.0.load(Ordering::SeqCst), 1);
    remote.paused_periods(20);
    let (client, report) = remote.reports.try_recv().unwrap();
    assert_eq!((client, report.error_code), (2, 9100));
    remote.paused_periods(20);
    assert_eq!(errors.0.load(Ordering::SeqCst), 2);
}

#[test]
fn g1_a_goal_with_a_very_long_name_is_refused() {
    let remote = Remote::new();
    let frame = "f".repeat(256);
    let mut framed = request(1, &load(&registry(), "<AlwaysSuccess/>"), &remote.clients);
    framed.poses = vec![PoseStamped::in_frame(frame.as_str(), Pose::default())];
    let mut named = request(2, &load(&registry(), "<AlwaysSuccess/>"), &remote.clients);
    named.tree = RequestedTree::Named("t".repeat(4097));
    for (goal, reason) in [
        (
            framed,
            "a frame_id has 256 bytes, more than 255: send the name of a frame",
        ),
        (
            named,
            "behavior_tree has 4097 bytes, more than 4096: send a path or a tree ID",
        ),
    ] {
        remote.thread.handle().goal(goal);
        let (_, report) = remote.reports.recv_timeout(TIMEOUT).unwrap();
        let unknown = NavigationError::Unknown.code(NavigatorKind::ThroughPoses);
        assert_eq!(report, NavigationResult::aborted(unknown, reason));
    }
}
