//! Measures and prints the figures of all benches.

use std::time::{Duration, Instant};

/// The arguments, without those of cargo.
pub(crate) fn arguments() -> Vec<String> {
    std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect()
}

/// Nanoseconds per iteration of `work`, which gets the number of iterations: the minimum of 20 samples, because on a
/// shared machine only the minimum is reproducible.
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

/// Prints one figure, for `scripts/bench` and for people.
pub(crate) fn tell(case: &str, value: f64, unit: &str) {
    println!("{case:<34} {value:>12.2} {unit}");
}
