//! A navigator with scripted servers on a virtual clock, and tests of leaves that panic.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::goal::{
    ClientGoal, Feedback, NavigationError, NavigationId, NavigationResult, Request, RequestedTree,
    TerminalStatus,
};
use super::{Navigator, NavigatorKind, Options};
use crate::bt::{Behavior, Context, HaltReason, NodeKind, NodeStatus, Registry, Tick, Time, TreeDef};
use crate::goal::GoalId;
use crate::msg::action::Spin;
use crate::nav::testing::{Bench, Plan};
use crate::nav::{Part, Settings, World};
use crate::xml::Loader;

pub(super) struct Client {
    pub(super) number: u8,
    pub(super) reports: Sender<(u8, NavigationResult)>,
    /// The remaining distances of its feedback.
    pub(super) distances: Sender<(u8, f64)>,
}

impl ClientGoal for Client {
    fn id(&self) -> GoalId {
        GoalId([self.number; 16])
    }

    fn feedback(&mut self, feedback: &Feedback) {
        let _ = self.distances.send((self.number, feedback.distance_remaining));
    }

    fn finish(self: Box<Self>, report: NavigationResult) {
        let _ = self.reports.send((self.number, report));
    }
}

/// The call in which a leaf panics.
#[derive(Clone, Copy)]
enum Fault {
    Tick,
    Halt,
    Attach,
    Drop,
}

/// The state of a leaf with `Fault::Drop`. Its drop panics.
#[derive(Default)]
struct Fragile;

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("the gripper has no fingers");
    }
}

/// A leaf that panics in the given call. `Fault::Tick` panics in its second tick.
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

    fn attach(&self, cx: &mut Context<'_>) {
        match self.0 {
            Fault::Attach => panic!("the gripper has no fingers"),
            Fault::Drop => {
                cx.state::<Fragile>();
            }
            Fault::Tick | Fault::Halt => {}
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
        ("PanicsInDrop", Fault::Drop),
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
    pub(super) clients: Sender<(u8, NavigationResult)>,
    pub(super) reports: Receiver<(u8, NavigationResult)>,
    pub(super) listeners: Sender<(u8, f64)>,
    pub(super) distances: Receiver<(u8, f64)>,
}

pub(super) fn bench() -> Bench {
    Bench::new("<AlwaysSuccess/>")
}

pub(super) fn request(number: u8, tree: &Arc<TreeDef>, reports: &Sender<(u8, NavigationResult)>) -> Request {
    Request {
        kind: NavigatorKind::ThroughPoses,
        poses: Vec::new(),
        tree: RequestedTree::Loaded(Arc::clone(tree)),
        accepted: Time::ZERO,
        run_accepted: Time::ZERO,
        client: Box::new(Client {
            number,
            reports: reports.clone(),
            distances: channel().0,
        }),
    }
}

/// The ID of a goal of [`request`].
pub(super) fn navigation(number: u8) -> NavigationId {
    NavigationId {
        kind: NavigatorKind::ThroughPoses,
        goal: GoalId([number; 16]),
    }
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(Settings::default(), Options::default())
    }

    pub(super) fn with(settings: Settings, options: Options) -> Self {
        let bench = bench();
        let world = World::new(bench.link(), settings);
        Self::of(bench, Navigator::new(world, options))
    }

    /// A navigator with the link of this bench.
    pub(super) fn of(bench: Bench, navigator: Navigator) -> Self {
        let (clients, reports) = channel();
        let (listeners, distances) = channel();
        Self {
            navigator,
            bench,
            clients,
            reports,
            listeners,
            distances,
        }
    }

    pub(super) fn goal(&mut self, number: u8, tree: &Arc<TreeDef>) {
        let request = request(number, tree, &self.clients);
        let now = self.now();
        self.navigator.goal(request, now);
        self.navigator.hand_over();
    }

    /// The current time, which is also set in the navigator.
    pub(super) fn now(&mut self) -> Time {
        let now = self.bench.now();
        self.navigator.set_steady(now);
        now
    }

    pub(super) fn ticks(&mut self, count: usize) {
        for _ in 0..count {
            let now = self.now();
            self.navigator.tick(now);
            self.navigator.hand_over();
            self.bench.wait(10);
        }
    }

    pub(super) fn report(&self) -> (u8, NavigationResult) {
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
    // It panics in the second tick, and then the other leaf gets time to stop.
    rig.ticks(2);
    let (client, report) = rig.report();
    assert_eq!((client, report.status), (1, TerminalStatus::Aborted));
    assert_eq!(
        report.error_message,
        "main.xml:2:50: node `grip` (PanicsInTick): panicked: the gripper has no fingers"
    );
    rig.ticks(5);
    assert_eq!(rig.bench.active("spin"), 0, "{:?}", rig.bench.reports());
    // The next goal gets a new tree without the panic: the leaf counts its ticks from the start.
    rig.goal(2, &tree);
    rig.ticks(1);
    assert!(rig.navigator.is_running());
    assert_eq!(rig.bench.active("spin"), 1);
}

#[test]
fn g8_a_panic_in_a_halt_does_not_keep_other_leaves_running() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    // Halted in the order of the file: leaves after the faulty one are halted as well.
    let tree = load(
        &registry,
        r#"<Parallel success_count="2"><PanicsInHalt/><Spin spin_dist="1.0"/></Parallel>"#,
    );
    rig.goal(1, &tree);
    rig.ticks(3);
    let now = rig.now();
    rig.navigator.cancel(navigation(1), now);
    rig.navigator.hand_over();
    rig.ticks(5);
    let panic = "main.xml:1:77: node `PanicsInHalt::2` (PanicsInHalt): panicked: the gripper has no fingers";
    assert_eq!(
        rig.report().1,
        NavigationResult {
            error_code: NavigationError::Unknown.code(NavigatorKind::ThroughPoses),
            ..NavigationResult::canceled(panic)
        }
    );
    assert_eq!(rig.bench.active("spin"), 0);
    assert!(
        rig.navigator.tree(NavigatorKind::ThroughPoses).is_none(),
        "a poisoned tree is not kept"
    );
}

#[test]
fn g8_a_panic_at_tree_creation_aborts_one_goal() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.goal(1, &load(&registry, "<PanicsInAttach/>"));
    let (_, report) = rig.report();
    assert_eq!(report.status, TerminalStatus::Aborted);
    assert!(
        report
            .error_message
            .ends_with("panicked: the gripper has no fingers"),
        "{report:?}"
    );
    rig.goal(2, &load(&registry, "<AlwaysSuccess/>"));
    rig.ticks(1);
    assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
}

#[test]
fn g7_a_panic_at_tree_creation_does_not_halt_the_tree_that_runs() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    rig.goal(1, &load(&registry, r#"<Spin spin_dist="1.0"/>"#));
    rig.ticks(3);
    rig.goal(2, &load(&registry, "<PanicsInAttach/>"));
    rig.ticks(3);
    let (client, report) = rig.report();
    assert_eq!(
        (client, report.status),
        (2, TerminalStatus::Aborted),
        "{report:?}"
    );
    assert_eq!(rig.bench.active("spin"), 1);
    assert!(rig.reports.try_recv().is_err(), "the first goal goes on");
}

#[test]
fn g7_a_tree_with_a_fault_that_only_its_creation_shows_does_not_halt_the_tree_that_runs() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.bench.action::<Spin>("spin", |_| Plan::endless());
    let number = serde_json::json!({"data": 0.0});
    rig.bench
        .interfaces([(Part::Message, "std_msgs/msg/Float64", number)]);
    rig.goal(1, &load(&registry, r#"<Spin spin_dist="1.0"/>"#));
    rig.ticks(3);
    let faulty = load(
        &registry,
        r#"<RosPublish topic_name="x" message_type="std_msgs/msg/Float64" message.speed="1"/>"#,
    );
    rig.goal(2, &faulty);
    rig.ticks(3);
    let (client, report) = rig.report();
    assert_eq!((client, report.status), (2, TerminalStatus::Aborted));
    assert_eq!(
        report.error_code,
        NavigationError::FailedToLoadBehaviorTree.code(NavigatorKind::ThroughPoses)
    );
    let place = "main.xml:1:126: std_msgs/msg/Float64: ";
    assert!(report.error_message.starts_with(place), "{report:?}");
    assert_eq!(rig.bench.active("spin"), 1);
    let now = rig.now();
    rig.navigator.cancel(navigation(1), now);
    rig.ticks(5);
    assert_eq!(rig.report(), (1, NavigationResult::canceled("")));
    // Without a navigation, nothing is replaced either.
    let kept = rig.navigator.tree(NavigatorKind::ThroughPoses).unwrap();
    let kept = Arc::clone(kept.definition());
    rig.goal(3, &faulty);
    assert_eq!(rig.report().1.error_message, report.error_message);
    let tree = rig.navigator.tree(NavigatorKind::ThroughPoses).unwrap();
    assert!(Arc::ptr_eq(tree.definition(), &kept));
}

#[test]
fn other_publishers_of_a_topic_do_not_make_a_tree_impossible() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.bench.foreign_type("x", Some("std_msgs/msg/Bool"));
    let tree = r#"<RosPublish topic_name="x" message_type="std_msgs/msg/Float64" message="json:{}"/>"#;
    rig.goal(
        1,
        &load(&registry, &format!("<Fallback><AlwaysSuccess/>{tree}</Fallback>")),
    );
    rig.ticks(1);
    assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
    rig.goal(2, &load(&registry, tree));
    rig.ticks(1);
    assert_eq!(rig.report().1.status, TerminalStatus::Aborted, "the leaf failed");
    assert!(rig.bench.published::<serde_json::Value>("x").is_empty());
}

#[test]
fn g8_a_panic_in_the_drop_of_a_tree_has_no_effect() {
    let (mut rig, registry) = (Rig::new(), registry());
    rig.goal(1, &load(&registry, "<PanicsInDrop/>"));
    rig.ticks(1);
    rig.navigator.cancel(navigation(1), Time::ZERO);
    rig.navigator.hand_over();
    assert_eq!(rig.report().1.status, TerminalStatus::Canceled);
    // Another tree replaces this tree, and its first creation fails.
    rig.goal(
        2,
        &load(&registry, "<Sequence><PanicsInDrop/><PanicsInAttach/></Sequence>"),
    );
    assert_eq!(rig.report().1.status, TerminalStatus::Aborted);
    rig.goal(3, &load(&registry, "<AlwaysSuccess/>"));
    rig.ticks(1);
    assert_eq!(rig.report().1.status, TerminalStatus::Succeeded);
}

#[test]
fn each_tree_has_its_own_random_numbers_and_a_seed_repeats_them() {
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
