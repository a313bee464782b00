//! How all benches measure, and how they say it.

use std::time::{Duration, Instant};

/// The arguments, without cargo's own.
pub(crate) fn arguments() -> Vec<String> {
    std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect()
}

/// Nanoseconds an iteration of `work`, which is told how many to do: the least of 20 samples, because on a shared
/// machine only the minimum repeats.
pub(crate) fn least_time(mut work: impl FnMut(u32)) -> f64 {
    let mut sample = |count: u32| {
        let start = Instant::now();
        work(count);
        start.elapsed()
    };
    let mut count = 1_u32;
    while sample(count) < Duration::from_millis(20) {
        count *= 2;
    }
    let least = (0..20).map(|_| sample(count)).min().unwrap_or_default();
    least.as_secs_f64() * 1e9 / f64::from(count)
}

/// One figure: what `scripts/bench` reads, and people.
pub(crate) fn tell(case: &str, value: f64, unit: &str) {
    println!("{case:<34} {value:>12.2} {unit}");
}
