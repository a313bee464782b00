//! Measures the load of a tree file, from text to a tree that can be ticked: the file is read, checked with all warnings
//! of `navtree check`, compiled, and one run is created.
//!
//! `cargo bench --no-default-features --bench load` prints, for files of 1,000 to 1,000,000 nodes, milliseconds (the
//! minimum of several samples, because on a shared machine only the minimum is reproducible), nanoseconds and heap
//! allocations per node, and the time of the drop. With a number of nodes and a number of loads as arguments, only this
//! case runs, for callgrind.
//!
//! The files have the shape of those of the peers' figures: a sequence over sections of sequences, fallbacks and leaves,
//! two leaves in three with two ports each, 50 blackboard keys, 25 bytes per node.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use navtree::bt::{Behavior, Context, NodeKind, NodeStatus, Registry, Tick, Tree};
use navtree::xml::Loader;

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

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Done;

impl Behavior for Done {
    fn tick(&self, _: &mut Context<'_>) -> Tick {
        Ok(NodeStatus::Success)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry.set_max_nodes(1_000_000);
    let registered = registry
        .register_with("A", NodeKind::Action, (0, 0), "", |_| Box::new(Done))
        .and_then(|()| {
            registry.register_with("P", NodeKind::Action, (0, 0), "", |ports| {
                ports.input::<i64>("x").bind();
                ports.output::<i64>("y").bind();
                Box::new(Done)
            })
        });
    assert!(registered.is_ok(), "the IDs are free");
    registry
}

/// A file with the given number of nodes.
fn file(nodes: usize) -> String {
    let mut text = String::from("<root BTCPP_format=\"4\">\n<BehaviorTree ID=\"Main\">\n<Sequence>\n");
    let mut written = 1;
    while written < nodes {
        // Ten nodes per section: two controls and eight leaves.
        let section = (nodes - written).min(10);
        let leaf = |text: &mut String, number: usize| {
            let result = if number.is_multiple_of(3) {
                writeln!(text, "<A name=\"a{number}\"/>")
            } else {
                let (x, y) = (number % 50, (number + 7) % 50);
                writeln!(text, "<P x=\"{{k{x}}}\" y=\"{{k{y}}}\"/>")
            };
            assert!(result.is_ok(), "a string takes any text");
        };
        if section == 10 {
            text.push_str("<Sequence>\n");
            (0..4).for_each(|place| leaf(&mut text, written + place));
            text.push_str("<Fallback>\n");
            (4..8).for_each(|place| leaf(&mut text, written + place));
            text.push_str("</Fallback>\n</Sequence>\n");
        } else {
            (0..section).for_each(|place| leaf(&mut text, written + place));
        }
        written += section;
    }
    text.push_str("</Sequence>\n</BehaviorTree>\n</root>\n");
    text
}

#[allow(clippy::panic)] // without a valid tree there is nothing to measure
fn load(loader: &Loader<'_>, text: &str) -> Tree {
    match loader.load_text("bench.xml", text, Path::new("."), None) {
        Ok(loaded) => Tree::new(loaded.def),
        Err(refused) => panic!("{refused}"),
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let registry = registry();
    let loader = Loader::new(&registry);
    if let [nodes, loads] = *arguments.as_slice() {
        let text = file(nodes);
        for _ in 0..loads {
            black_box(load(&loader, &text));
        }
        return;
    }
    println!(
        "{:>10} {:>12} {:>10} {:>10} {:>14} {:>10}",
        "nodes", "bytes", "ms", "ns/node", "allocs/node", "drop ms"
    );
    for nodes in [1_000, 10_000, 100_000, 1_000_000] {
        let text = file(nodes);
        let (mut least, mut least_drop) = (Duration::MAX, Duration::MAX);
        let mut allocations = 0;
        for _ in 0..(2_000_000 / nodes).clamp(3, 50) {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let start = Instant::now();
            let tree = load(&loader, &text);
            least = least.min(start.elapsed());
            allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
            assert_eq!(tree.definition().len(), nodes, "all nodes are there");
            let start = Instant::now();
            drop(tree);
            least_drop = least_drop.min(start.elapsed());
        }
        let count = nodes as f64;
        println!(
            "{nodes:>10} {:>12} {:>10.2} {:>10.1} {:>14.2} {:>10.2}",
            text.len(),
            least.as_secs_f64() * 1e3,
            least.as_secs_f64() * 1e9 / count,
            allocations as f64 / count,
            least_drop.as_secs_f64() * 1e3,
        );
    }
}
