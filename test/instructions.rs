//! What a visit costs, in instructions: valgrind counts them, so a limit holds on any machine under any load.
//!
//!     cargo test --profile bench --no-default-features --test instructions
//!
//! is part of `scripts/test`. Each test runs itself under callgrind for two numbers of ticks; the difference is free of
//! all that comes before the first tick. Instructions of the kernel's clock are not counted. The limits of the first
//! three are the project's; all others stand a tenth above what was reached, so that what makes a tick dearer is seen.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;

use navtree::bt::{Time, Tree, TreeDef};

#[path = "../benches/shared/cases.rs"]
mod cases;
#[path = "../benches/shared/nav2.rs"]
mod nav2;

/// Says to a test that it is the one that is counted, and how many times to work.
const TIMES: &str = "NAVTREE_COUNTED_TIMES";

/// Counts what one piece of `work` takes, a share of `parts`, and compares.
fn limit(test: &str, parts: u64, most: u64, mut work: impl FnMut()) {
    if let Ok(times) = std::env::var(TIMES) {
        for _ in 0..times.parse().unwrap() {
            work();
        }
        return;
    }
    let [few, many] = [500, 1500].map(|times| instructions(test, times));
    let each = (many - few) as f64 / 1000.0 / parts as f64;
    println!("{test}: {each:.1} instructions of {most}");
    assert!(
        each <= most as f64,
        "{test} takes {each:.1} instructions; the limit is {most}"
    );
}

fn instructions(test: &str, times: u32) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--test-threads=1"])
        .env(TIMES, times.to_string())
        .output()
        .unwrap_or_else(|error| panic!("valgrind does not start ({error}): install it"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let count = text.lines().find_map(|line| line.split("Collected : ").nth(1));
    count
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or_else(|| panic!("no count in: {text}"))
}

fn visits(case: &str, most: u64) {
    let cases = cases::cases();
    let (_, visits, def) = cases.iter().find(|(name, ..)| *name == case).unwrap();
    ticks(case, def, u64::from(*visits), most);
}

fn ticks(case: &str, def: &Arc<TreeDef>, parts: u64, most: u64) {
    let mut tree = nav2::instance(def, &nav2::goal());
    let mut now = 0;
    limit(case, parts, most, || {
        now += 1_000_000;
        let _ = black_box(tree.tick_exactly_once(Time::from_nanos(now)));
    });
}

#[test]
fn sequence_100() {
    visits("sequence_100", 80);
}

#[test]
fn reactive_20_and_running() {
    visits("reactive_20_and_running", 93);
}

#[test]
fn inverters_50() {
    visits("inverters_50", 85);
}

#[test]
fn fallback_start_and_halt() {
    visits("fallback_start_and_halt", 510);
}

#[test]
fn nav2_cruising() {
    ticks("nav2_cruising", &nav2::define(nav2::CRUISING), 1, 1_740);
}

#[test]
fn nav2_replanning() {
    ticks("nav2_replanning", &nav2::define(nav2::REPLANNING), 1, 3_080);
}

#[test]
fn instance() {
    let def = nav2::define(nav2::CRUISING);
    limit("instance", 1, 1_500, || {
        black_box(Tree::new(Arc::clone(&def)));
    });
}
