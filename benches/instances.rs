//! Nav2's default tree of 38 nodes with stub leaves that read and write their ports (`shared/nav2.rs`). Measures a tick
//! of one run, the creation of a run, its memory, and a sweep over ten thousand runs.
//!
//! `cargo bench --no-default-features --bench instances` prints the figures. Times are the minimum of 20 samples. Every
//! tick begins with a read of the clock; a sweep reads it once. Sweeps are measured with and without `Tree::preload`.
//! Memory is the growth of the process with ten thousand runs, each ticked once, divided by their number. With a case's
//! name and a number of ticks as arguments, only this case runs, for callgrind.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use navtree::bt::{NodeStatus, Time, Tree, TreeDef};
use navtree::msg::PoseStamped;

#[path = "shared/measure.rs"]
mod measure;
#[path = "shared/nav2.rs"]
mod nav2;

const MANY: u32 = 10_000;

fn main() {
    let arguments = measure::arguments();
    let goal = nav2::goal();
    let cruising = nav2::define(nav2::CRUISING);
    let replanning = nav2::define(nav2::REPLANNING);
    assert_eq!(cruising.len(), 38, "the tree is Nav2's");
    let start = Instant::now();
    for (name, def) in [("nav2_cruising", &cruising), ("nav2_replanning", &replanning)] {
        let mut tree = nav2::instance(def, &goal);
        let mut run = |ticks: u32| {
            for _ in 0..ticks {
                tick(&mut tree, time_since(start));
            }
        };
        match arguments.as_slice() {
            [case, ticks] if case == name => run(ticks.parse().unwrap_or(1000)),
            [_, _] => {}
            _ => measure::tell(name, measure::least_time(run), "ns/tick"),
        }
    }
    match arguments.as_slice() {
        [case, count] if case == "instance" => {
            for _ in 0..count.parse().unwrap_or(1000) {
                black_box(Tree::new(Arc::clone(&cruising)));
            }
        }
        [_, _] => {}
        _ => {
            measure::tell("instance_time", making(&cruising), "ns");
            many(&cruising, &goal);
        }
    }
}

fn time_since(start: Instant) -> Time {
    Time::ZERO + start.elapsed()
}

fn tick(tree: &mut Tree, now: Time) {
    let status = tree.tick_exactly_once(now);
    assert!(matches!(black_box(status), Ok(NodeStatus::Running)), "it drives");
}

/// Nanoseconds to create a run, without its drop.
fn making(def: &Arc<TreeDef>) -> f64 {
    const BATCH: u32 = 1000;
    let mut made = Vec::with_capacity(BATCH as usize);
    let mut sample = || {
        made.clear();
        let start = Instant::now();
        made.extend((0..BATCH).map(|_| Tree::new(Arc::clone(def))));
        black_box(&made);
        start.elapsed()
    };
    let least = (0..200).map(|_| sample()).min().unwrap_or_default();
    least.as_secs_f64() * 1e9 / f64::from(BATCH)
}

/// Memory of many runs, and sweeps over them.
fn many(def: &Arc<TreeDef>, goal: &Arc<PoseStamped>) {
    let start = Instant::now();
    let before = resident();
    let mut trees: Vec<Tree> = (0..MANY).map(|_| nav2::instance(def, goal)).collect();
    trees.shrink_to_fit();
    for tree in &mut trees {
        tick(tree, time_since(start));
    }
    let grown = resident().saturating_sub(before);
    measure::tell("instance_memory", grown as f64 / f64::from(MANY), "bytes");
    let in_order: Vec<usize> = (0..MANY as usize).collect();
    let mut shuffled = in_order.clone();
    // A Fisher-Yates shuffle with the same random numbers in every run.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for last in (1..shuffled.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        shuffled.swap(last, (state % (last as u64 + 1)) as usize);
    }
    for (name, order, preload) in [
        ("sweep_in_order", &in_order, false),
        ("sweep_shuffled", &shuffled, false),
        ("sweep_in_order_preloaded", &in_order, true),
        ("sweep_shuffled_preloaded", &shuffled, true),
    ] {
        let mut sweep = || {
            let begin = Instant::now();
            let now = time_since(start);
            for index in order {
                let tree = &mut trees[*index];
                if preload {
                    tree.preload();
                }
                tick(tree, now);
            }
            begin.elapsed()
        };
        let least: Duration = (0..50).map(|_| sweep()).min().unwrap_or_default();
        measure::tell(name, least.as_secs_f64() * 1e3, "ms");
    }
}

/// Resident memory of the process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    // The page size is 4 kB on all supported machines.
    pages.unwrap_or_default() * 4096
}
