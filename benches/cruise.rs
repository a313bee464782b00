//! Measures a tick of a whole navigation tree, including port reads and writes.
//!
//! `cargo bench --no-default-features --bench cruise` prints nanoseconds and heap allocations per tick: the minimum of
//! 20 samples, because on a shared machine only the minimum is reproducible. With a case's name and a number of ticks as
//! arguments, only this case runs, for callgrind.
//!
//! - `cruising` and `replanning` correspond to the figures of BehaviorTree.CPP (3,282 ns and 24 allocations; 7,493 ns
//!   and 42): the 38 nodes of Nav2's default tree. Its leaves read and write the same ports as Nav2's and answer
//!   themselves. While cruising, nothing is due: 10 nodes are visited, and FollowPath reads five ports and writes one.
//!   While replanning, the rate is due in every tick: 17 nodes are visited. ComputePathToPose reads the goal and the
//!   planner's name, writes path, error code and message, and succeeds; FollowPath continues, all in that tick.
//! - `cruising_with_clock` is `cruising` with a read of the clock before each tick.
//! - `cruising_with_goals` and `replanning_with_goals` are this package's default tree with its real leaves, over a link
//!   that answers between two ticks. While replanning, every other tick sends a goal to the planner. The following tick
//!   receives its path, a different one each time, and passes it to the controller as a goal that replaces the active
//!   one. The messages reuse memory of earlier ones, which the link has dropped. The GoalTracker converts them to the
//!   middleware's messages, outside the tick.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

#[path = "shared/measure.rs"]
mod measure;
mod robot;

use robot::{cases, tick};

/// Counts allocations.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is forwarded unchanged to the system's allocator.
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

fn main() {
    let arguments = measure::arguments();
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
        let least = measure::least_time(|ticks| (0..ticks).for_each(|_| tick(&mut tree, &mut now)));
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        (0..1000).for_each(|_| tick(&mut tree, &mut now));
        let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
        println!("{name:<34} {least:>10.1} {:>12.3}", allocations as f64 / 1000.0);
        if name == "cruising" {
            let start = Instant::now();
            let with_clock = measure::least_time(|ticks| {
                for _ in 0..ticks {
                    std::hint::black_box(start.elapsed());
                    tick(&mut tree, &mut now);
                }
            });
            measure::tell("cruising_with_clock", with_clock, "ns/tick");
        }
    }
}
