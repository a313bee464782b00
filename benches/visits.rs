//! The cost of a visit, in time and in instructions.
//!
//! `cargo bench --no-default-features --bench visits` prints nanoseconds a visit: the least of 20 samples, because on a
//! shared machine only the minimum repeats. `scripts/instructions` runs the same cases under callgrind: a case's name
//! and a number of ticks as arguments run just that, so that the difference between two lengths is free of start-up.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use navtree::bt::builder::{NodeBuilder, forest, leaf, node, tree};
use navtree::bt::{Compiled, NodeStatus, Registry, Time, Tree, TreeDef, compile};

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let cases = cases();
    if let [name, ticks] = arguments.as_slice() {
        let Some((_, _, def)) = cases.iter().find(|(of, _, _)| of == name) else {
            return;
        };
        let ticks = ticks.parse().unwrap_or(1000);
        let mut tree = Tree::new(Arc::clone(def));
        for _ in 0..ticks {
            let _ = black_box(tree.tick_exactly_once(Time::ZERO));
        }
        return;
    }
    println!("{:<34} {:>10} {:>10}", "case", "ns/tick", "ns/visit");
    for (name, visits, def) in &cases {
        let nanoseconds = least_time(def);
        println!(
            "{name:<34} {nanoseconds:>10.1} {:>10.2}",
            nanoseconds / f64::from(*visits)
        );
    }
}

fn least_time(def: &Arc<TreeDef>) -> f64 {
    let mut tree = Tree::new(Arc::clone(def));
    let mut ticks = 16_u32;
    let mut sample = |ticks: u32| {
        let start = Instant::now();
        for _ in 0..ticks {
            let _ = black_box(tree.tick_exactly_once(Time::ZERO));
        }
        start.elapsed()
    };
    while sample(ticks) < Duration::from_millis(20) {
        ticks *= 2;
    }
    (0..20)
        .map(|_| sample(ticks).as_secs_f64() * 1e9 / f64::from(ticks))
        .fold(f64::MAX, f64::min)
}

/// The cases of the table in `docs/performance.md`: name, visits a tick, definition.
fn cases() -> Vec<(&'static str, u32, Arc<TreeDef>)> {
    let conditions = |count: usize| (0..count).map(|_| leaf("Holds"));
    let reactive = conditions(20).chain([leaf("GoesOn")]);
    let inverters = (0..50).fold(leaf("Holds"), |inner, _| node("Inverter").child(inner));
    vec![
        (
            "sequence_100",
            101,
            define(node("Sequence").children(conditions(100))),
        ),
        (
            "reactive_20_and_running",
            22,
            define(node("ReactiveSequence").children(reactive)),
        ),
        ("inverters_50", 51, define(inverters)),
        (
            "fallback_start_and_halt",
            1,
            define(node("ReactiveFallback").children([leaf("Alternates"), leaf("GoesOn")])),
        ),
    ]
}

#[allow(clippy::panic)] // a bench whose tree is broken has nothing to measure
fn define(root: NodeBuilder) -> Arc<TreeDef> {
    let mut registry = Registry::builtin();
    let registered = registry
        .condition("Holds", |cx| {
            cx.memory().count = cx.memory().count.wrapping_add(1);
            NodeStatus::Success
        })
        .and_then(|()| registry.action("GoesOn", |_| Ok(NodeStatus::Running)))
        .and_then(|()| {
            registry.condition("Alternates", |cx| {
                cx.memory().count ^= 1;
                if cx.memory().count == 0 {
                    NodeStatus::Success
                } else {
                    NodeStatus::Failure
                }
            })
        });
    assert!(registered.is_ok(), "the IDs are free");
    match compile(&forest([tree("Main", root)]), "Main", &registry) {
        Ok(Compiled { def, .. }) => def,
        Err(problems) => panic!("{problems:?}"),
    }
}
