//! The work of the table in `docs/performance.md`, done by other engines, and what the machine's own primitives cost.
//!
//! `cargo run --release --manifest-path benches/peers/Cargo.toml` prints one line a figure. Not the same work in all:
//! neither engine has ports in the trees of Nav2's shape here, bonsai-bt tells nobody of a halt, and a recovery node is
//! a fallback, a pipeline a reactive sequence, a rate controller a condition that reads the clock.

mod behaviortree_rs_peer;
mod bonsai_peer;
#[path = "../../shared/measure.rs"]
mod measure;
mod yardsticks;

use measure::{least_time, tell};

/// Instances in sweeps.
const MANY: usize = 10_000;

fn main() {
    let chosen = measure::arguments();
    let wants = |name: &str| chosen.is_empty() || chosen.iter().any(|it| it == name);
    if wants("yardsticks") {
        yardsticks::run();
    }
    if wants("bonsai-bt") {
        bonsai_peer::run();
    }
    if wants("behaviortree-rs") {
        behaviortree_rs_peer::run();
    }
}

/// One figure of a peer.
fn tell_of(peer: &str, case: &str, value: f64, unit: &str) {
    tell(&format!("{peer}:{case}"), value, unit);
}

/// Positions in a fixed random order.
fn shuffled() -> Vec<usize> {
    let mut order: Vec<usize> = (0..MANY).collect();
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for last in (1..order.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % (last as u64 + 1)) as usize);
    }
    order
}

/// Bytes of memory that the process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}

/// Time to make an instance, memory of many of them once ticked, sweeps over them.
fn many<T>(peer: &str, mut make: impl FnMut() -> T, mut tick: impl FnMut(&mut T)) {
    let least = (0..20)
        .map(|_| {
            let mut made = Vec::with_capacity(200);
            let start = std::time::Instant::now();
            made.extend((0..200).map(|_| make()));
            let time = start.elapsed();
            drop(made);
            time
        })
        .min()
        .unwrap_or_default();
    tell_of(peer, "instance_time", least.as_secs_f64() * 1e9 / 200.0, "ns");
    let before = resident();
    let mut trees: Vec<T> = (0..MANY).map(|_| make()).collect();
    trees.iter_mut().for_each(&mut tick);
    let grown = resident().saturating_sub(before);
    tell_of(peer, "instance_memory", grown as f64 / MANY as f64, "bytes");
    for (name, order) in [
        ("sweep_in_order", (0..MANY).collect()),
        ("sweep_shuffled", shuffled()),
    ] {
        let least = (0..10)
            .map(|_| {
                let start = std::time::Instant::now();
                for index in &order {
                    tick(&mut trees[*index]);
                }
                start.elapsed()
            })
            .min()
            .unwrap_or_default();
        tell_of(peer, name, least.as_secs_f64() * 1e3, "ms");
    }
}
