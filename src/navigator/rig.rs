//! A navigator among scripted servers, on a virtual clock: what it does with leaves that misbehave, and when its handle
//! acknowledges.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::goal::{ClientGoal, Ending, Feedback, NavigationError, Report, Request};
use super::{Navigator, NavigatorKind, Options, Pulse, TickClock, TickThread, Unacknowledged, Watchdog};
use crate::bt::{Behavior, Context, HaltReason, NodeKind, NodeStatus, Registry, Tick, Time, TreeDef};
use crate::goal::GoalId;
use crate::job::Roster;
use crate::msg::PoseStamped;
use crate::msg::action::Spin;
use crate::nav::testing::{Bench, Plan};
use crate::nav::{Settings, World};
use crate::xml::Loader;

/// No wait of a test is longer, on whatever machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// What has not happened by then is taken for what does not happen.
const A_MOMENT: Duration = Duration::from_millis(50);

pub(super) struct Client {
    pub(super) number: u8,
    pub(super) reports: Sender<(u8, Report)>,
}

impl ClientGoal for Client {
    fn id(&self) -> GoalId {
        GoalId([self.number; 16])
    }

    fn feedback(&mut self, _: &Feedback) {}

    fn finish(self: Box<Self>, report: Report) {
        let _ = self.reports.send((self.number, report));
    }
}

/// In what a leaf misbehaves.
#[derive(Clone, Copy)]
enum Fault {
    Tick,
    Halt,
    Attach,
}

/// A leaf that panics, but for its first tick where that is not asked for.
struct Faulty(Fault);

impl Behavior for Faulty {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let count = &mut cx.memory().count;
        *count += 1;
        if matches!(self.0, Fault::Tick) && *count == 2 {
            panic!("the gripper has no fingers");
        }
        Ok(NodeStatus::Running)
    }

    fn halt(&self, _: &mut Context<'_>, _: HaltReason) {
        if matches!(self.0, Fault::Halt) {
            panic!("the gripper has no fingers");
        }
    }

    fn attach(&self, _: &mut Context<'_>) {
        if matches!(self.0, Fault::Attach) {
            panic!("the gripper has no fingers");
        }
    }
}

pub(super) fn registry() -> Registry {
    let mut registry = crate::nav::registry();
    registry.watch_foreign_nodes();
    for (id, fault) in [
        ("PanicsInTick", Fault::Tick),
        ("PanicsInHalt", Fault::Halt),
        ("PanicsInAttach", Fault::Attach),
    ] {
        registry
            .register_with(id, NodeKind::Action, (0, 0), "", move |_| Box::new(Faulty(fault)))
            .unwrap();
    }
    registry
}

pub(super) fn load(registry: &Registry, xml: &str) -> Arc<TreeDef> {
    let whole = format!(r#"<root BTCPP_format="4"><BehaviorTree ID="Main">{xml}</BehaviorTree></root>"#);
    let loaded = Loader::new(registry).load_text("main.xml", &whole, std::path::Path::new("."), None);
    loaded.unwrap_or_else(|refused| panic!("{refused}")).def
}

/// A navigator that is called directly.
pub(super) struct Rig {
    pub(super) bench: Bench,
    pub(super) navigator: Navigator,
    pub(super) clients: Sender<(u8, Report)>,
    pub(super) reports: Receiver<(u8, Report)>,
}

fn bench() -> Bench {
    Bench::new("<AlwaysSuccess/>")
}

fn request(number: u8, tree: &Arc<TreeDef>, reports: &Sender<(u8, Report)>) -> Request {
    Request {
        kind: NavigatorKind::ThroughPoses,
        poses: Vec::new(),
        tree: Ok(Arc::clone(tree)),
        client: Box::new(Client {
            number,
            reports: reports.clone(),
        }),
    }
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(Settings::default(), Options::default())
    }

    pub(super) fn with(settings: Settings, options: Options) -> Self {
        let bench = bench();
        let world = World::new(bench.link(), settings);
        let (clients, reports) = channel();
        Self {
            navigator: Navigator::new(world, options),
            bench,
            clients,
            reports,
        }
    }

    pub(super) fn goal(&mut self, number: u8, tree: &Arc<TreeDef>) {
        let request = request(number, tree, &self.clients);
        let now = self.now();
        self.navigator.goal(request, now);
    }

    /// What time it is, which the navigator is told.
    pub(super) fn now(&mut self) -> Time {
        let now = self.bench.now();
        self.navigator.set_steady(now);
        now
    }

    pub(super) fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            let now = self.now();
            self.navigator.tick(now);
            self.bench.wait(10);
        }
    }

    pub(super) fn report(&self) -> (u8, Report) {
        self.reports.try_recv().unwrap()
    }
}

fn both(faulty: &str) -> String {
    format!(
        r#"<Parallel name="both" success_count="2" failure_count="1">
             <Spin name="turn" spin_dist="1.0"/><{faulty} name="grip"/>
           </Parallel>"#
    )
}

#[test]
fn g8_a_leaf_that_panics_fails_its_tree_and_nothing_else() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let tree = load(&registry, &both("PanicsInTick"));
    rig.goal(1, &tree);
    rig.ticks(1);
    assert_eq!(rig.bench.active("spin"), 1);
    // In the second tick it panics, and then the other one is given the time to stop.
    rig.ticks(2);
    let (client, report) = rig.report();
    assert_eq!((client, report.ending), (1, Ending::Aborted));
    assert_eq!(
        report.error_message,
        "main.xml:2:50: node `grip` (PanicsInTick): panicked: the gripper has no fingers"
    );
    rig.ticks(5);
    assert_eq!(rig.bench.active("spin"), 0, "{:?}", rig.bench.reports());
    // The next goal gets a tree that knows nothing of the panic: the leaf counts its ticks anew.
    rig.goal(2, &tree);
    rig.ticks(1);
    assert!(rig.navigator.is_running());
    assert_eq!(rig.bench.active("spin"), 1);
}

#[test]
fn g8_a_leaf_that_panics_when_it_is_halted_does_not_keep_others_from_stopping() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    // Halted in the order of the file: what stands behind the fault is stopped as well.
    let tree = load(
        &registry,
        r#"<Parallel success_count="2"><PanicsInHalt/><Spin spin_dist="1.0"/></Parallel>"#,
    );
    rig.goal(1, &tree);
    rig.ticks(3);
    let now = rig.now();
    rig.navigator.cancel(GoalId([1; 16]), now);
    rig.ticks(5);
    assert_eq!(rig.report().1.ending, Ending::Canceled);
    assert_eq!(rig.bench.active("spin"), 0);
    assert!(
        rig.navigator.tree(NavigatorKind::ThroughPoses).is_none(),
        "a poisoned tree is not kept"
    );
}

#[test]
fn g8_a_leaf_that_panics_when_its_tree_is_made_costs_one_goal() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.goal(1, &load(&registry, "<PanicsInAttach/>"));
    let (_, report) = rig.report();
    assert_eq!(report.ending, Ending::Aborted);
    assert!(
        report
            .error_message
            .ends_with("panicked: the gripper has no fingers"),
        "{report:?}"
    );
    rig.goal(2, &load(&registry, "<AlwaysSuccess/>"));
    rig.ticks(1);
    assert_eq!(rig.report().1.ending, Ending::Succeeded);
}

/// The clock of a tick thread under test: that of ticks, which a simulation may stop, and that of people; and
/// whether that of ticks is yet to be heard of.
#[derive(Clone, Default)]
struct VirtualClock(Arc<[AtomicU64; 2]>, Arc<AtomicBool>);

impl VirtualClock {
    fn advance(&self, milliseconds: u64) {
        for clock in &*self.0 {
            clock.fetch_add(milliseconds, Ordering::SeqCst);
        }
    }

    /// The simulation stands still.
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

    /// It looks again when it is woken.
    fn wall_time_until(&self, _: Time) -> Duration {
        PATIENCE
    }
}

/// A navigator on its own thread, and its servers on this one.
struct Remote {
    bench: Bench,
    clock: VirtualClock,
    thread: TickThread,
    clients: Sender<(u8, Report)>,
    reports: Receiver<(u8, Report)>,
    pulse: Pulse,
    jobs: Roster,
}

impl Remote {
    fn new() -> Self {
        let bench = bench();
        let clock = VirtualClock::default();
        clock.advance(bench.now().as_nanos() / 1_000_000);
        let link = bench.link();
        let (clients, reports) = channel();
        let (pulse, jobs) = (Pulse::new(), Roster::new());
        let (watched, roster) = (pulse.clone(), jobs.clone());
        let thread = TickThread::start(
            move |_| {
                let mut navigator = Navigator::new(World::new(link, Settings::default()), Options::default());
                navigator.be_watched(watched, roster);
                navigator
            },
            Arc::new(clock.clone()),
            pulse.clone(),
        );
        Self {
            bench,
            clock,
            thread: thread.unwrap(),
            clients,
            reports,
            pulse,
            jobs,
        }
    }

    fn goal(&self, number: u8, tree: &Arc<TreeDef>) {
        self.thread.handle().goal(request(number, tree, &self.clients));
    }

    /// A goal whose leaf `turn` has been at it for three ticks, on a server that does with it what the plan says; its tree.
    fn turn(&mut self, plan: impl Fn() -> Plan<Spin> + Send + 'static) -> Arc<TreeDef> {
        self.bench.action::<Spin>("spin", move |_| plan());
        let tree = load(&registry(), r#"<Spin name="turn" spin_dist="1.0"/>"#);
        self.goal(1, &tree);
        self.periods(3);
        tree
    }

    fn is_running(&self) -> bool {
        let survey = self.thread.handle().survey().wait(PATIENCE).unwrap();
        survey.navigator.is_running
    }

    fn ticks(&self) -> u64 {
        let survey = self.thread.handle().survey().wait(PATIENCE).unwrap();
        survey.statistics.durations.total()
    }

    /// Lets periods pass, each with its tick.
    fn periods(&mut self, count: usize) {
        for _ in 0..count {
            self.clock.advance(10);
            self.period();
        }
    }

    /// Lets periods pass of which a simulation that stands still knows nothing.
    fn paused_periods(&mut self, count: usize) {
        for _ in 0..count {
            self.clock.advance_steady(10);
            self.period();
        }
    }

    fn period(&mut self) {
        self.bench.wait(10);
        self.thread.handle().wake();
        // Answered after the wake-up was worked off.
        self.ticks();
    }
}

#[test]
fn a_pause_is_acknowledged_when_nothing_is_ticked_any_more() {
    let mut remote = Remote::new();
    remote.turn(Plan::endless);
    remote.thread.handle().pause().wait(PATIENCE).unwrap();
    let ticks = remote.ticks();
    assert!(ticks >= 3);
    remote.periods(5);
    assert_eq!(remote.ticks(), ticks);
    assert_eq!(remote.bench.active("spin"), 1, "its goal goes on");
    remote.thread.handle().resume().wait(PATIENCE).unwrap();
    remote.periods(2);
    assert!(remote.ticks() > ticks);
}

#[test]
fn a_halt_is_acknowledged_when_everything_has_stopped_and_the_client_knows() {
    let (mut remote, registry) = (Remote::new(), registry());
    remote.turn(|| Plan::endless().stop_after(300));
    let halted = remote.thread.handle().halt(HaltReason::GoalCanceled);
    remote.periods(20);
    assert_eq!(remote.bench.active("spin"), 1, "its server takes its time");
    assert_eq!(halted.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.periods(20);
    assert_eq!(halted.wait(PATIENCE), Ok(()));
    assert_eq!(remote.bench.active("spin"), 0);
    assert_eq!(remote.reports.try_recv().unwrap().1.ending, Ending::Aborted);
    // The thread lives, and takes goals.
    remote.goal(2, &load(&registry, "<AlwaysSuccess/>"));
    remote.periods(1);
    assert_eq!(
        remote.reports.recv_timeout(PATIENCE).unwrap().1.ending,
        Ending::Succeeded
    );
}

#[test]
fn a_halt_of_what_does_not_stop_is_acknowledged_when_that_was_reported() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().unstoppable());
    let halted = remote.thread.handle().halt(HaltReason::GoalCanceled);
    remote.periods(310);
    assert_eq!(halted.wait(PATIENCE), Ok(()));
    let (_, report) = remote.reports.try_recv().unwrap();
    assert!(report.error_message.contains("turn"), "{report:?}");
}

#[test]
fn a_halt_is_acknowledged_although_the_next_goal_runs_by_then() {
    let mut remote = Remote::new();
    let tree = remote.turn(|| Plan::endless().stop_after(100));
    let halted = remote.thread.handle().halt(HaltReason::GoalCanceled);
    remote.goal(2, &tree);
    remote.periods(5);
    assert_eq!(halted.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.periods(10);
    assert_eq!(halted.wait(PATIENCE), Ok(()));
    assert_eq!(remote.reports.try_recv().unwrap().0, 1);
    assert!(remote.is_running());
}

#[test]
fn g8_a_halt_with_a_limit_names_what_has_not_stopped_by_then_also_where_simulated_time_stands_still() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().unstoppable());
    let limit = Duration::from_millis(200);
    let halted = remote
        .thread
        .handle()
        .halt_within(HaltReason::ShuttingDown, limit);
    // An earlier one, with more time, is no longer waited for either.
    let patient = remote
        .thread
        .handle()
        .halt_within(HaltReason::ShuttingDown, PATIENCE);
    remote.ticks();
    remote.clock.advance_steady(190);
    remote.thread.handle().wake();
    remote.ticks();
    assert_eq!(halted.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.clock.advance_steady(10);
    remote.thread.handle().wake();
    assert_eq!(halted.wait(PATIENCE), Ok(()));
    assert_eq!(patient.wait(PATIENCE), Ok(()));
    let (_, report) = remote.reports.try_recv().unwrap();
    assert_eq!(report.ending, Ending::Aborted);
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
    let halted = handle.halt(HaltReason::ShuttingDown);
    remote.periods(2);
    let refused = |remote: &Remote, number: u8| {
        let (client, report) = remote.reports.recv_timeout(PATIENCE).unwrap();
        assert_eq!((client, report.ending), (number, Ending::Aborted));
        assert_eq!(
            report.error_message,
            "the node stopped taking goals before this one was taken up"
        );
    };
    // While the first one's server takes its time, ...
    stopping.hand_in(request(2, &tree, &remote.clients));
    refused(&remote, 2);
    remote.periods(20);
    assert_eq!(halted.wait(PATIENCE), Ok(()));
    assert_eq!(remote.reports.try_recv().unwrap().0, 1);
    // ... when it has stopped, and when goals are taken again.
    idle.hand_in(request(3, &tree, &remote.clients));
    refused(&remote, 3);
    handle.open();
    again.hand_in(request(4, &tree, &remote.clients));
    refused(&remote, 4);
    assert!(!remote.is_running());
    handle
        .admit()
        .unwrap()
        .hand_in(request(5, &tree, &remote.clients));
    assert!(remote.is_running());
}

#[test]
fn g7_a_swap_is_acknowledged_when_the_goal_runs_on_with_the_new_tree() {
    let (mut remote, registry) = (Remote::new(), registry());
    remote.turn(|| Plan::endless().stop_after(100));
    let kind = NavigatorKind::ThroughPoses;
    // One that cannot be had leaves everything as it was.
    let broken = remote
        .thread
        .handle()
        .swap(kind, load(&registry, "<PanicsInAttach/>"));
    let refusal = broken.wait(PATIENCE).unwrap().unwrap_err();
    assert!(refusal.contains("the gripper has no fingers"), "{refusal}");
    remote.periods(2);
    assert_eq!(
        (remote.bench.active("spin"), remote.bench.cancels("spin")),
        (1, 0)
    );
    // A good one takes over when what the old one had started has stopped.
    let swapped = remote.thread.handle().swap(
        kind,
        load(&registry, r#"<Sequence><Sleep msec="50"/></Sequence>"#),
    );
    remote.periods(5);
    assert_eq!(swapped.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.periods(10);
    assert_eq!(swapped.wait(PATIENCE), Ok(Ok(())));
    assert_eq!(remote.bench.active("spin"), 0);
    remote.periods(10);
    let (client, report) = remote.reports.recv_timeout(PATIENCE).unwrap();
    assert_eq!(
        (client, report.ending),
        (1, Ending::Succeeded),
        "the client's goal went on"
    );
}

#[test]
fn a_stop_is_acknowledged_when_everything_has_stopped_and_then_the_thread_ends() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().stop_after(100));
    let stopped = remote.thread.handle().stop(HaltReason::ShuttingDown);
    remote.periods(5);
    assert_eq!(stopped.wait(Duration::ZERO), Err(Unacknowledged::NotYet));
    remote.bench.wait(100);
    remote.clock.advance(100);
    remote.thread.handle().wake();
    assert_eq!(stopped.wait(PATIENCE), Ok(()));
    assert_eq!(remote.bench.active("spin"), 0);
    let deadline = Instant::now() + PATIENCE;
    while !remote.thread.is_finished() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert!(remote.thread.is_finished());
    assert_eq!(
        remote.thread.handle().pause().wait(PATIENCE),
        Err(Unacknowledged::Never)
    );
}

/// A leaf that does not come back until the test lets it go.
fn stuck(registry: &mut Registry) -> (Sender<()>, Receiver<()>) {
    let (let_go, gate) = channel::<()>();
    let (entered, inside) = channel();
    let gate = Mutex::new(gate);
    registry
        .action("Stuck", move |_| {
            let _ = entered.send(());
            let _ = gate.lock().unwrap().recv_timeout(PATIENCE);
            Ok(NodeStatus::Success)
        })
        .unwrap();
    (let_go, inside)
}

/// Waits until a watchdog says so, whatever it says before: a thread that the machine keeps waiting is reported as well.
fn hear(said: &Receiver<String>, beginning: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let text = said.recv_timeout(left).unwrap();
        if text.starts_with(beginning) {
            return;
        }
    }
}

#[test]
fn a_leaf_that_keeps_the_tick_thread_is_named_and_so_is_its_return() {
    let mut registry = registry();
    let (let_go, inside) = stuck(&mut registry);
    let remote = Remote::new();
    let (said, reports) = channel();
    let limit = Duration::from_millis(100);
    let report = move |text| drop(said.send(text));
    let (stopping, stopped) = channel();
    let stop = move || {
        let _ = stopping.send(());
    };
    let watchdog = Watchdog::start(remote.pulse.clone(), remote.jobs.clone(), limit, report, stop).unwrap();
    let tree = load(
        &registry,
        r#"<Sequence name="all"><AlwaysSuccess/><Stuck name="arm"/></Sequence>"#,
    );
    remote.goal(1, &tree);
    inside.recv_timeout(PATIENCE).unwrap();
    hear(&reports, "leaf `arm` has kept the tick thread for ");
    let halted = remote.thread.handle().halt(HaltReason::ShuttingDown);
    assert_eq!(halted.wait(A_MOMENT), Err(Unacknowledged::NotYet));
    assert!(stopped.try_recv().is_err(), "nobody has asked for a cancel");
    remote.thread.handle().cancel(GoalId([1; 16]));
    stopped.recv_timeout(PATIENCE).unwrap();
    let_go.send(()).unwrap();
    assert_eq!(halted.wait(PATIENCE), Ok(()));
    hear(&reports, "a cancel waits for the tick thread");
    hear(&reports, "the tick thread goes on after ");
    drop(watchdog);
}

#[test]
fn g8_a_leaf_that_keeps_the_tick_thread_does_not_hold_up_the_end() {
    let mut registry = registry();
    let (let_go, inside) = stuck(&mut registry);
    let remote = Remote::new();
    remote.goal(1, &load(&registry, "<Stuck/>"));
    inside.recv_timeout(PATIENCE).unwrap();
    let begin = Instant::now();
    drop(remote.thread);
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "it was waited for: {:?}",
        begin.elapsed()
    );
    let_go.send(()).unwrap();
}

/// A tree whose leaf keeps the tick thread while another one turns the robot, and what a watchdog of it says and does.
struct Kept {
    remote: Remote,
    tree: Arc<TreeDef>,
    let_go: Sender<()>,
    inside: Receiver<()>,
    said: Receiver<String>,
    stopped: Receiver<()>,
    watchdog: Watchdog,
}

/// What a watchdog may take to do what it should not do.
const A_WHILE: Duration = Duration::from_millis(300);

impl Kept {
    fn new() -> Self {
        let mut registry = registry();
        let (let_go, inside) = stuck(&mut registry);
        let mut remote = Remote::new();
        remote.bench.action::<Spin>("spin", |_| Plan::endless());
        let tree = load(
            &registry,
            r#"<Parallel success_count="2"><Spin spin_dist="1.0"/><Delay delay_msec="20"><Stuck name="arm"/></Delay></Parallel>"#,
        );
        let (saying, said) = channel();
        let (stopping, stopped) = channel();
        let mut halt_all = remote.bench.halting();
        let watchdog = Watchdog::start(
            remote.pulse.clone(),
            remote.jobs.clone(),
            Duration::from_millis(100),
            move |text| drop(saying.send(text)),
            move || {
                halt_all();
                let _ = stopping.send(());
            },
        );
        Self {
            remote,
            tree,
            let_go,
            inside,
            said,
            stopped,
            watchdog: watchdog.unwrap(),
        }
    }

    /// Until a leaf that has been ticked keeps the thread, and that was noticed.
    fn keep(&mut self) {
        // Ticked once, and then when the delay is over.
        self.remote.periods(1);
        self.remote.bench.wait(30);
        self.remote.clock.advance(30);
        self.remote.thread.handle().wake();
        self.inside.recv_timeout(PATIENCE).unwrap();
        hear(&self.said, "leaf `arm` has kept the tick thread for ");
        assert_eq!(self.remote.bench.active("spin"), 1);
    }
}

#[test]
fn g6_a_cancel_of_a_goal_that_waits_leaves_the_one_alone_that_runs() {
    let mut kept = Kept::new();
    kept.remote.goal(1, &kept.tree);
    kept.keep();
    let handle = kept.remote.thread.handle();
    let mut other = request(2, &kept.tree, &kept.remote.clients);
    other.kind = NavigatorKind::ToPose;
    handle.goal(other);
    handle.cancel(GoalId([2; 16]));
    assert!(kept.stopped.recv_timeout(A_WHILE).is_err());
    kept.let_go.send(()).unwrap();
    let (client, report) = kept.remote.reports.recv_timeout(PATIENCE).unwrap();
    assert_eq!((client, report.ending), (2, Ending::Aborted));
    kept.remote.periods(3);
    assert!(kept.remote.is_running());
    let bench = &kept.remote.bench;
    assert_eq!((bench.active("spin"), bench.cancels("spin")), (1, 0));
    drop(kept.watchdog);
}

#[test]
fn g6_a_tree_whose_goals_were_cancelled_without_it_is_halted_and_its_client_told() {
    let mut kept = Kept::new();
    kept.remote.goal(1, &kept.tree);
    kept.keep();
    // It would take the first one's place in its tree, whose leaves would wait for ever for what was cancelled.
    kept.remote.goal(2, &kept.tree);
    kept.remote.thread.handle().cancel(GoalId([1; 16]));
    kept.stopped.recv_timeout(PATIENCE).unwrap();
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 0);
    let deadline = Instant::now() + PATIENCE;
    while !kept.remote.pulse.is_cancelled_without() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    kept.let_go.send(()).unwrap();
    let (client, report) = kept.remote.reports.recv_timeout(PATIENCE).unwrap();
    assert_eq!((client, report.ending), (1, Ending::Canceled), "{report:?}");
    assert!(
        kept.remote.is_running(),
        "the second one has a tree that knows nothing of it"
    );
    kept.remote.periods(1);
    kept.remote.bench.wait(10);
    assert_eq!(kept.remote.bench.active("spin"), 1);
    kept.let_go.send(()).unwrap();
    drop(kept.watchdog);
}

#[test]
fn each_tree_of_a_node_draws_its_own_lots_and_a_seed_repeats_them() {
    let lot =
        "<Random><Script code=\"drawn := drawn * 2\"/><Script code=\"drawn := drawn * 2 + 1\"/></Random>";
    let tree = format!(
        "<Sequence><Script code=\"drawn := 0\"/>{}</Sequence>",
        lot.repeat(32)
    );
    let registry = registry();
    let drawn = |random_seed: u64| {
        let options = Options {
            random_seed,
            ..Options::default()
        };
        let mut rig = Rig::with(Settings::default(), options);
        [1, 2].map(|number| {
            rig.goal(number, &load(&registry, &tree));
            rig.ticks(3);
            let tree = rig.navigator.tree(NavigatorKind::ThroughPoses).unwrap();
            tree.export(crate::bt::ScopeId::ROOT)["drawn"].clone()
        })
    };
    let [first, second] = drawn(1);
    assert_ne!(first, second);
    assert_eq!(drawn(1), [first.clone(), second]);
    assert_ne!(drawn(2)[0], first);
}

#[test]
fn g3_a_paused_simulation_does_not_keep_a_client_from_its_result() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().unstoppable());
    remote.thread.handle().cancel(GoalId([1; 16]));
    remote.paused_periods(290);
    assert!(remote.reports.try_recv().is_err(), "it has its three seconds");
    remote.paused_periods(20);
    let (_, report) = remote.reports.try_recv().unwrap();
    assert_eq!(report.ending, Ending::Canceled);
    assert!(report.error_message.contains("turn"), "{report:?}");
}

#[test]
fn g3_a_fast_simulation_does_not_cut_short_the_time_that_a_server_has_to_stop() {
    let mut remote = Remote::new();
    remote.turn(|| Plan::endless().stop_after(1000));
    remote.thread.handle().cancel(GoalId([1; 16]));
    remote.ticks();
    // An hour goes by in the simulation, and no time at all for the server.
    remote.clock.0[0].fetch_add(3_600_000, Ordering::SeqCst);
    remote.periods(50);
    assert!(remote.reports.try_recv().is_err(), "its server is stopping");
    remote.periods(60);
    let (_, report) = remote.reports.try_recv().unwrap();
    assert_eq!(
        (report.ending, report.error_message.as_str()),
        (Ending::Canceled, "")
    );
}

#[test]
fn a_paused_simulation_does_not_keep_a_goal_waiting_for_a_transform() {
    let (mut remote, registry) = (Remote::new(), registry());
    let mut request = request(1, &load(&registry, "<AlwaysSuccess/>"), &remote.clients);
    let mut pose = PoseStamped::default();
    pose.header.frame_id = "nowhere".into();
    request.poses = vec![pose];
    remote.thread.handle().goal(request);
    remote.paused_periods(45);
    assert!(remote.reports.try_recv().is_err());
    remote.paused_periods(10);
    let (_, report) = remote.reports.try_recv().unwrap();
    assert_eq!(
        report.error_code,
        NavigationError::TransformFailed.code(NavigatorKind::ThroughPoses)
    );
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
    remote.thread.handle().cancel(GoalId([1; 16]));
    remote.paused_periods(1);
    assert_eq!(remote.reports.try_recv().unwrap().1.ending, Ending::Canceled);
    remote.goal(2, &tree);
    remote.paused_periods(100);
    remote.clock.1.store(false, Ordering::SeqCst);
    remote.periods(5);
    let statistics = remote.thread.handle().survey().wait(PATIENCE).unwrap().statistics;
    assert!((4..=6).contains(&statistics.durations.total()), "{statistics:?}");
    assert_eq!(statistics.missed, 0);
    assert_eq!(remote.bench.active("spin"), 1);
}
