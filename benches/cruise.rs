//! The cost of a tick of a whole navigation tree, its ports read and written.
//!
//! `cargo bench --no-default-features --bench cruise` prints nanoseconds and heap allocations a tick: the least of 20
//! samples, because on a shared machine only the minimum repeats. A case's name and a number of ticks as arguments run
//! just that, for callgrind.
//!
//! - `cruising` and `replanning` are what BehaviorTree.CPP's figures mean (3,282 ns and 24 allocations; 7,493 ns and
//!   42): the 38 nodes of Nav2's default tree, leaves that read and write the ports that Nav2's do and answer by
//!   themselves. Cruising, nothing is due: 10 nodes are visited, FollowPath reads five ports and writes one. Replanning,
//!   the rate is due in every tick: 17 nodes are visited, ComputePathToPose reads the goal and the planner's name,
//!   writes path, error code and message and succeeds, and FollowPath goes on, all in that tick.
//! - `cruising_with_goals` and `replanning_with_goals` are this package's own default tree with its real leaves, over a
//!   link that answers between two ticks. Replanning, every other tick sends a goal to the planner; the one after it
//!   takes its path in, which is another one each time, and hands that to the controller as a goal in the place of the
//!   one in work. The messages are built in memory that earlier ones left behind: the link has dropped those. Turning
//!   them into the middleware's own is the GoalTracker's, outside the tick.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

mod robot;

use robot::{cases, tick};

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
