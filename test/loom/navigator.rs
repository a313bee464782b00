//! Tests of the requests to the tick thread.

#[path = "../../src/navigator/heartbeat.rs"]
mod heartbeat;
#[path = "../../src/navigator/missed_ticks.rs"]
mod missed_ticks;
#[path = "../../src/navigator/slow_clock.rs"]
mod slow_clock;
#[path = "../../src/navigator/standing_clock.rs"]
mod standing_clock;
#[path = "../../src/navigator/thread/mod.rs"]
mod thread;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use heartbeat::Heartbeat;
use loom::thread as threads;
use navtree::msg::{Stamp, TransformStamped};
use navtree::navigator::{
    ClientGoal, Feedback, NavigationId, NavigationResult, Navigator, NavigatorKind, Options, Request,
    RequestedTree, Schedule, Snapshot, TerminalStatus,
};
use thread::{Handle, TickClock, TickThread};

use crate::bt::{HaltReason, Registry, Time, TreeDef, builder, compile};
use crate::explore;
use crate::goal::{Command, GoalId, ServerId, Ticket};
use crate::nav::{
    EndpointKind, Event, Form, Link, LinkError, Payload, Settings, TopicId, TopicSpec, TransformError, World,
};
use crate::sync::atomic::{AtomicUsize, Ordering};

/// The tick thread uses these paths.
mod durations {
    pub(crate) use navtree::navigator::Durations;
}

mod goal {
    pub(crate) use navtree::navigator::{NavigationError, NavigationId, NavigationResult, Request};
}

mod goal_queue {
    pub(crate) use navtree::navigator::{ArrivalNumber, Epoch, GoalQueue};

    pub(crate) const SHUT: &str = "refused";
}

/// The goal of every request.
const GOAL: NavigationId = NavigationId {
    kind: NavigatorKind::ToPose,
    goal: GoalId([1; 16]),
};

/// Time does not advance: a tick is always due.
struct Still;

impl TickClock for Still {
    fn now(&self) -> Time {
        Time::ZERO
    }

    fn wall_time_until(&self, _due: Time) -> Duration {
        Duration::MAX
    }
}

/// A link without servers and without goals.
#[derive(Default)]
struct Empty(HashMap<String, u32>);

impl Link for Empty {
    fn open(&mut self, _: EndpointKind, name: &str, _: &str, _: Form) -> Result<ServerId, LinkError> {
        let next = self.0.len() as u32;
        Ok(ServerId(*self.0.entry(name.to_owned()).or_insert(next)))
    }

    fn hear(&mut self, _: ServerId) {}

    fn subscribe(&mut self, _: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(TopicId(0))
    }

    fn advertise(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        Err(LinkError::Refused(topic.name.to_string()))
    }

    fn publish(&mut self, _: TopicId, _: Payload) {}

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        commands.clear();
    }

    fn is_settled(&self, _since: Ticket) -> bool {
        true
    }

    fn unsettled(&self, _since: Ticket) -> Vec<String> {
        Vec::new()
    }

    fn receive(&mut self, _: &mut Vec<Event>) {}

    fn transform(
        &self,
        target: &str,
        source: &str,
        _: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        Ok(TransformStamped {
            header: navtree::msg::Header::new(Stamp::ZERO, target),
            child_frame_id: source.into(),
            transform: navtree::msg::Transform::IDENTITY,
        })
    }

    fn stamp(&self, _: Time) -> Stamp {
        Stamp::ZERO
    }

    fn parameter(&self, _: &str) -> Option<String> {
        None
    }
}

/// Counts the results that its client receives. A dropped goal counts too, because the drop aborts it.
struct Client {
    results: Arc<AtomicUsize>,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.results.fetch_add(1, Ordering::Relaxed);
    }
}

impl ClientGoal for Client {
    fn id(&self) -> GoalId {
        GOAL.goal
    }

    fn feedback(&mut self, _: &Feedback) {}

    fn finish(self: Box<Self>, report: NavigationResult) {
        assert_ne!(report.status, TerminalStatus::Succeeded, "the tree runs for ever");
    }
}

/// A tree that never completes.
fn endless() -> Arc<TreeDef> {
    let forest = builder::forest([builder::tree("Main", builder::leaf("AlwaysRunning"))]);
    compile(&forest, "Main", &registry()).unwrap().def
}

fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry
        .action("AlwaysRunning", |_| Ok(navtree::bt::NodeStatus::Running))
        .unwrap();
    registry
}

fn start() -> TickThread {
    TickThread::start(
        |_| {
            Navigator::new(
                World::new(Box::new(Empty::default()), Settings::default()),
                Options::default(),
            )
        },
        Arc::new(Still),
        Heartbeat::new(),
        || {},
    )
    .unwrap()
}

fn request(results: &Arc<AtomicUsize>, tree: &Arc<TreeDef>) -> Request {
    Request {
        kind: NavigatorKind::ThroughPoses,
        poses: Vec::new(),
        tree: RequestedTree::Loaded(Arc::clone(tree)),
        accepted: Time::ZERO,
        run_accepted: Time::ZERO,
        client: Box::new(Client {
            results: Arc::clone(results),
        }),
    }
}

/// Every wait of a handle must end without a timeout: loom's time does not pass.
const FOR_EVER: Duration = Duration::MAX;
/// The limit of a halt. It never passes.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn a_halt_is_acknowledged_after_the_client_has_its_result() {
    let tree = endless();
    explore(move || {
        let (thread, results) = (start(), Arc::new(AtomicUsize::new(0)));
        thread.handle().goal(request(&results, &tree));
        assert_eq!(
            thread
                .handle()
                .halt(HaltReason::ShuttingDown, LIMIT)
                .wait(FOR_EVER),
            Ok(())
        );
        assert_eq!(
            results.load(Ordering::Relaxed),
            1,
            "acknowledged before it was done"
        );
    });
}

#[test]
fn a_goal_admitted_before_goals_are_refused_never_runs_after_it() {
    let tree = endless();
    explore(move || {
        let (thread, results) = (start(), Arc::new(AtomicUsize::new(0)));
        let handle = thread.handle().clone();
        let asked = request(&results, &tree);
        let letting_in = threads::spawn(move || {
            if let Some(pass) = handle.admit() {
                pass.submit(asked);
            }
        });
        thread.handle().shut();
        assert_eq!(
            thread
                .handle()
                .halt(HaltReason::ShuttingDown, LIMIT)
                .wait(FOR_EVER),
            Ok(())
        );
        letting_in.join().unwrap();
        let tick_status = thread.handle().tick_status().wait(FOR_EVER).unwrap();
        assert!(!tick_status.navigator.is_running, "it runs after the halt");
        assert_eq!(results.load(Ordering::Relaxed), 1, "its client waits");
    });
}

#[test]
fn halts_from_two_threads_are_both_acknowledged() {
    explore(|| {
        let thread = start();
        let other: Handle = thread.handle().clone();
        let halting = threads::spawn(move || other.halt(HaltReason::GoalCanceled, LIMIT).wait(FOR_EVER));
        assert_eq!(
            thread
                .handle()
                .halt(HaltReason::ShuttingDown, LIMIT)
                .wait(FOR_EVER),
            Ok(())
        );
        assert_eq!(halting.join().unwrap(), Ok(()));
    });
}

#[test]
fn dropping_the_thread_answers_its_client_and_ends_every_wait() {
    let tree = endless();
    explore(move || {
        let (thread, results) = (start(), Arc::new(AtomicUsize::new(0)));
        let other = thread.handle().clone();
        let asked = request(&results, &tree);
        let asking = threads::spawn(move || {
            other.goal(asked);
            other.tick_status().wait(FOR_EVER).is_ok()
        });
        drop(thread);
        let _ = asking.join().unwrap();
        assert_eq!(results.load(Ordering::Relaxed), 1);
    });
}
