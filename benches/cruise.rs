//! The cost of a tick of a whole navigation tree, its ports read and written, over the real leaves and a link that
//! answers at once.
//!
//! `cargo bench --no-default-features --bench cruise` prints nanoseconds and heap allocations a tick: the least of 20
//! samples, because on a shared machine only the minimum repeats. Two cases: *cruising*, the robot follows its path and
//! nothing is due, and *replanning*, every tick either sends a goal to the planner or takes its path in and hands it to
//! the controller. A case's name and a number of ticks as arguments run just that, for callgrind.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use navtree::bt::{NodeStatus, Time, Tree};
use navtree::goal::{Command, GoalId, Notice, Outcome, ServerId};
use navtree::msg::action::{ComputePathToPoseGoal, ComputePathToPoseResult};
use navtree::msg::{Header, Path, Pose, PoseStamped, Stamp, TransformStamped};
use navtree::nav::{
    EndpointKind, Event, Form, Link, LinkError, Payload, Settings, TopicId, TopicSpec, TransformError, World,
};
use navtree::xml::Loader;

/// Counts what is allocated.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A planner that answers in the same instant, and a controller that never arrives.
struct Instantly {
    events: Vec<Event>,
    path: Payload,
}

impl Link for Instantly {
    fn open(&mut self, _: EndpointKind, name: &str, _: &str, _: Form) -> Result<ServerId, LinkError> {
        Ok(ServerId(name.len() as u32))
    }

    fn subscribe(&mut self, topic: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(TopicId(topic.name.len() as u32))
    }

    fn advertise(&mut self, _: &TopicSpec) -> Result<TopicId, LinkError> {
        Ok(TopicId(0))
    }

    fn publish(&mut self, _: TopicId, _: Payload) {}

    fn submit(&mut self, commands: &mut Vec<Command<Payload>>) {
        for command in commands.drain(..) {
            let Command::Start { ticket, payload, .. } = command else {
                continue;
            };
            self.events.push(Event::Notice(Notice::Accepted {
                ticket,
                goal: GoalId::ZERO,
            }));
            if payload.get::<ComputePathToPoseGoal>().is_some() {
                self.events.push(Event::Notice(Notice::Finished {
                    ticket,
                    outcome: Outcome::Succeeded(self.path.clone()),
                }));
            }
        }
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn unsettled(&self) -> Vec<String> {
        Vec::new()
    }

    fn receive(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
    }

    fn transform(
        &self,
        target: &str,
        source: &str,
        _: Option<Stamp>,
    ) -> Result<TransformStamped, TransformError> {
        Err(TransformError::NotConnected {
            from: source.to_owned(),
            to: target.to_owned(),
        })
    }

    fn stamp(&self, _: Time) -> Stamp {
        Stamp::ZERO
    }

    fn parameter(&self, _: &str) -> Option<String> {
        None
    }
}

const TREE: &str = include_str!("../behavior_trees/navigate_to_pose.xml");

#[allow(clippy::panic)] // a bench whose tree is broken has nothing to measure
fn tree(rate: &str) -> Tree {
    let registry = navtree::nav::registry();
    let text = TREE.replace("hz=\"1.0\"", &format!("hz=\"{rate}\""));
    let loaded = Loader::new(&registry).load_text("tree.xml", &text, std::path::Path::new("."), None);
    let def = match loaded {
        Ok(loaded) => loaded.def,
        Err(refused) => panic!("{refused}"),
    };
    let poses = (0..200).map(|x| Pose::planar(f64::from(x) * 0.05, 0.0, 0.0));
    let path = Arc::new(Path::through(Header::in_frame("map"), poses));
    let result = ComputePathToPoseResult {
        path,
        ..Default::default()
    };
    let link = Instantly {
        events: Vec::new(),
        path: Payload::new(result),
    };
    let mut tree = Tree::new(def);
    tree.insert_resource(World::new(Box::new(link), Settings::default()));
    let _ = tree.attach(Time::ZERO);
    let goal = PoseStamped::in_frame("map", Pose::planar(10.0, 0.0, 0.0));
    assert!(tree.set("goal", Arc::new(goal)).is_ok(), "the key is free");
    tree
}

/// One tick of a tree under way. The clock goes on by so much that a rate of 1 kHz is always due and one of 1 mHz never.
fn tick(tree: &mut Tree, now: &mut u64) {
    *now += 1_000_000;
    let status = tree.tick_exactly_once(Time::from_nanos(*now));
    assert!(matches!(black_box(status), Ok(NodeStatus::Running)), "it drives");
}

fn cases() -> [(&'static str, Tree); 2] {
    [("cruising", tree("0.001")), ("replanning", tree("1000"))]
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let mut now = 0;
    if let [name, ticks] = arguments.as_slice() {
        for (_, mut tree) in cases().into_iter().filter(|(of, _)| of == name) {
            for _ in 0..ticks.parse().unwrap_or(1000) {
                tick(&mut tree, &mut now);
            }
        }
        return;
    }
    println!("{:<34} {:>10} {:>12}", "case", "ns/tick", "allocations");
    for (name, mut tree) in cases() {
        let mut sample = |ticks: u32| {
            let start = Instant::now();
            for _ in 0..ticks {
                tick(&mut tree, &mut now);
            }
            start.elapsed()
        };
        let mut ticks = 16_u32;
        while sample(ticks) < Duration::from_millis(20) {
            ticks *= 2;
        }
        let least = (0..20).map(|_| sample(ticks)).min().unwrap_or_default();
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        sample(1000);
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        println!(
            "{name:<34} {:>10.1} {:>12.3}",
            least.as_secs_f64() * 1e9 / f64::from(ticks),
            allocations as f64 / 1000.0
        );
    }
}
