//! The engine against the reference interpreter: random trees with random leaves, ticked and halted at random, must
//! leave the same trace in both. `NAVTREE_TREES` sets how many, `NAVTREE_SEED` where to start.

#![allow(unreachable_pub, clippy::unwrap_used, clippy::panic)]

#[path = "../reference/mod.rs"]
mod reference;

mod engine;
mod random;

use std::env;
use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use navtree::bt::{Dialect, HaltReason, Registry, Time};

use engine::{Engine, from_engine};
use random::{Plan, Step, plan, shrink};
use reference::model::{Status, Version};
use reference::{Event, Interpreter};

const KEYS: [i64; 4] = [0, 1, 0, 0];

/// Everything that a step leaves behind.
#[derive(PartialEq, Eq, Debug)]
struct Trace {
    /// `None`: it raised.
    result: Option<Status>,
    statuses: Vec<Status>,
    events: Vec<Event>,
    halted: Vec<usize>,
    keys: [(i64, u64); 4],
    /// Whether another tick at once was asked for. Told only where ticks do not follow such wishes.
    woken: bool,
}

/// Runs a plan through both, as far as each step ends. `Err` says at which step they part and how.
fn compare(plan: &Plan, registry: &Registry) -> Result<(), String> {
    let mut ours = Engine::new(&plan.root, plan.version, registry, KEYS)?;
    let mut theirs = Interpreter::new(&plan.root, plan.version, KEYS);
    let mut active = vec![false; plan.root.size()];
    let mut now = 0;
    for (number, step) in plan.steps.iter().enumerate() {
        if let Step::Tick(milliseconds) = step {
            now += milliseconds;
        }
        let Some(expected) = run_theirs(&mut theirs, *step, plan.drains, now) else {
            return Ok(());
        };
        let got = run_ours(&mut ours, *step, plan.drains, now)?;
        check_g2(&got, &mut active)
            .map_err(|message| format!("step {number} ({step:?}): {message}\n{got:#?}"))?;
        if got != expected {
            return Err(format!(
                "step {number} ({step:?}, {now} ms):\n{}",
                difference(&got, &expected)
            ));
        }
    }
    Ok(())
}

fn run_ours(engine: &mut Engine, step: Step, drains: bool, now: u64) -> Result<Trace, String> {
    let time = Time::from_millis(now);
    let result = match step {
        Step::Halt => {
            engine.tree.halt(HaltReason::GoalCanceled, time);
            Ok(Status::Idle)
        }
        Step::Tick(_) if drains => engine.tree.tick(time).map(from_engine),
        Step::Tick(_) => engine.tree.tick_exactly_once(time).map(from_engine),
    };
    if let Err(error) = &result
        && error.panicked
    {
        return Err(format!("panicked: {error}"));
    }
    let woken = !drains && engine.tree.is_woken() && result.is_ok();
    if result.is_err() {
        engine.tree.halt(HaltReason::TreeFailed, time);
    }
    Ok(Trace {
        result: result.ok(),
        statuses: engine.statuses(),
        events: engine.take_events(),
        halted: engine.take_halted(),
        keys: engine.keys(),
        woken,
    })
}

fn run_theirs(interpreter: &mut Interpreter, step: Step, drains: bool, now: u64) -> Option<Trace> {
    let result = match step {
        Step::Halt => {
            interpreter.halt_tree(now);
            Ok(Status::Idle)
        }
        Step::Tick(_) if drains => interpreter.tick_once(now)?,
        Step::Tick(_) => interpreter.tick_exactly_once(now),
    };
    let woken = !drains && interpreter.woken && result.is_ok();
    if result.is_err() {
        interpreter.halt_tree(now);
    }
    Some(Trace {
        result: result.ok(),
        statuses: interpreter.status.clone(),
        events: std::mem::take(&mut interpreter.events),
        halted: std::mem::take(&mut interpreter.halted),
        keys: interpreter.keys,
        woken,
    })
}

/// G2, seen from the leaves alone: only a running leaf is halted, and only once; a leaf that is running after the
/// step is one that was not halted.
fn check_g2(trace: &Trace, active: &mut [bool]) -> Result<(), String> {
    for event in &trace.events {
        match event {
            Event::Ticked(leaf, Status::Running) => active[*leaf] = true,
            // A skipped leaf keeps its stored status.
            Event::Ticked(_, Status::Skipped) => {}
            Event::Ticked(leaf, _) => active[*leaf] = false,
            Event::Halted(leaf) => {
                if !active[*leaf] {
                    return Err(format!("leaf {leaf} was halted and did not run"));
                }
                active[*leaf] = false;
            }
        }
    }
    for event in &trace.events {
        let (Event::Ticked(leaf, _) | Event::Halted(leaf)) = event;
        if active[*leaf] != (trace.statuses[*leaf] == Status::Running) {
            return Err(format!("leaf {leaf} lost its turn and was not halted"));
        }
    }
    Ok(())
}

fn difference(got: &Trace, expected: &Trace) -> String {
    let mut text = String::new();
    let mut row = |what: &str, got: &dyn Debug, expected: &dyn Debug| {
        let (got, expected) = (format!("{got:?}"), format!("{expected:?}"));
        if got != expected {
            let _ = writeln!(text, "  {what}\n    expected {expected}\n    got      {got}");
        }
    };
    let letters = |trace: &Trace| {
        trace
            .statuses
            .iter()
            .map(|status| status.letter())
            .collect::<String>()
    };
    row("result", &got.result, &expected.result);
    row("statuses", &letters(got), &letters(expected));
    row("leaves saw", &got.events, &expected.events);
    row("halted", &got.halted, &expected.halted);
    row("keys", &got.keys, &expected.keys);
    row("woken", &got.woken, &expected.woken);
    text
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn g2_random_trees_leave_the_same_trace_as_the_reference_interpreter() {
    let first = number("NAVTREE_SEED").unwrap_or(1);
    let most = number("NAVTREE_TREES").unwrap_or(100_000);
    println!("seeds {first} to {}", first + most - 1);
    let next = AtomicU64::new(first);
    let threads = thread::available_parallelism().map_or(1, |count| count.get().min(8));
    let failed = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let registry = engine::registry();
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= first + most {
                            return None;
                        }
                        let case = plan(seed);
                        if compare(&case, &registry).is_err() {
                            next.store(first + most, Ordering::Relaxed);
                            return Some((seed, case));
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().find_map(|worker| worker.join().unwrap())
    });
    if let Some((seed, case)) = failed {
        let registry = engine::registry();
        let small = shrink(case, &|case| compare(case, &registry).is_err());
        panic!(
            "seed {seed} ({:?}{}): {}\n{}\nsteps {:?}",
            small.version,
            if small.drains { ", following wake-ups" } else { "" },
            compare(&small, &registry).unwrap_err(),
            small.root.text(small.version),
            small.steps
        );
    }
}

/// Guarantee G9, with two runs of the engine side by side.
#[test]
fn g9_the_same_tree_inputs_and_clock_give_the_same_trace() {
    let registry = engine::registry();
    for seed in 0..5000 {
        let case = plan(seed);
        let mut runs = [(); 2].map(|()| Engine::new(&case.root, case.version, &registry, KEYS).unwrap());
        let mut now = 0;
        for step in &case.steps {
            if let Step::Tick(milliseconds) = step {
                now += milliseconds;
            }
            let [first, second] = runs
                .each_mut()
                .map(|run| run_ours(run, *step, case.drains, now).unwrap());
            assert_eq!(first, second, "seed {seed}, {step:?}");
        }
    }
}

/// A run that compares nothing proves nothing.
#[test]
fn random_trees_use_every_node_type_and_reach_every_status() {
    let mut ids = std::collections::BTreeSet::new();
    let mut results = [0_usize; 6];
    let registry = engine::registry();
    for seed in 0..5000 {
        let case = plan(seed);
        collect(&case.root, case.version, &mut ids);
        let mut theirs = Interpreter::new(&case.root, case.version, KEYS);
        let mut now = 0;
        for step in &case.steps {
            if let Step::Tick(milliseconds) = step {
                now += milliseconds;
            }
            let Some(trace) = run_theirs(&mut theirs, *step, case.drains, now) else {
                break;
            };
            results[trace.result.map_or(5, |status| status as usize)] += 1;
        }
    }
    let absent: Vec<_> = ids
        .iter()
        .filter(|id| **id != "SubTree" && registry.get(id, Dialect::V3).is_none())
        .collect();
    assert!(absent.is_empty(), "the engine has no {absent:?}");
    assert_eq!(ids.len(), 40, "{ids:?}");
    assert!(results.iter().all(|count| *count > 100), "{results:?}");
}

fn collect(
    node: &reference::model::Node,
    version: Version,
    ids: &mut std::collections::BTreeSet<&'static str>,
) {
    ids.insert(node.kind.id(version));
    for child in &node.children {
        collect(child, version, ids);
    }
}
