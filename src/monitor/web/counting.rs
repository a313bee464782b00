//! Takes the counters of a node for the page from its tick thread and its event stream.

use std::collections::BTreeMap;
use std::time::Duration;

use super::node_counters::{MotionCounters, NodeCounters, TickCounters};
use crate::navigator::TickStatus;
use crate::record::{MotionTimes, Totals};

/// The counters that are shown, and the labels by which each is divided.
const SHOWN: [(&str, &[&str]); 5] = [
    ("navigations", &["status"]),
    ("goals", &["outcome", "reason"]),
    ("leaf_halts", &["reason"]),
    ("recoveries", &["leaf"]),
    ("tree_swaps", &[]),
];

impl NodeCounters {
    /// The counters so far. `abandoned`: goals that did not stop in time.
    pub(super) fn new(status: Option<&TickStatus>, totals: &Totals, abandoned: u64) -> Self {
        let counts = totals.counts();
        let sums = |name: &str, labels: &[&str]| {
            let mut sums: BTreeMap<String, u64> = BTreeMap::new();
            for (counter, count) in counts.iter().filter(|(counter, _)| counter.name == name) {
                let values = counter.labels.iter().filter(|(known, _)| labels.contains(known));
                let values: Vec<&str> = values.map(|(_, value)| &**value).collect();
                *sums.entry(values.join(" ").trim_end().to_owned()).or_default() += count;
            }
            (name.to_owned(), sums.into_iter().collect::<Vec<_>>())
        };
        let all = SHOWN.iter().map(|(name, labels)| sums(name, labels));
        Self {
            ticks: status.map(TickCounters::new),
            records_lost: totals.lost(),
            goals_abandoned: abandoned,
            time_to_motion: MotionCounters::new(totals.motion_times()),
            counts: all.filter(|(_, counts)| !counts.is_empty()).collect(),
        }
    }
}

impl MotionCounters {
    fn new(times: MotionTimes) -> Option<Self> {
        let mean = times
            .sum
            .checked_div(u32::try_from(times.count).unwrap_or(u32::MAX))?;
        Some(Self {
            last: nanoseconds(times.last),
            mean: nanoseconds(mean),
            longest: nanoseconds(times.longest),
        })
    }
}

impl TickCounters {
    fn new(status: &TickStatus) -> Self {
        let statistics = &status.statistics;
        Self {
            missed: statistics.missed,
            skipped: statistics.skipped,
            durations: [0.5, 0.99, 1.0].map(|share| nanoseconds(statistics.durations.quantile(share))),
            lateness: [0.5, 0.99, 1.0].map(|share| nanoseconds(statistics.lateness.quantile(share))),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::diagnostics::tick_status;

    #[test]
    fn the_counters_are_those_of_the_metrics() {
        let mut status = tick_status();
        status.statistics.missed = 3;
        status.statistics.durations.record(Duration::from_micros(3));
        status.statistics.lateness.record(Duration::from_millis(2));
        let counters = NodeCounters::new(Some(&status), &Totals::default(), 1);
        assert_eq!(
            counters.lines(),
            [
                "work 3.0µs, 99 % at most 3.0µs, longest 3.0µs",
                "late by 2.0ms, 99 % at most 2.0ms, longest 2.0ms",
                "since the start: 3 missed, 0 skipped, 0 records lost, 1 goals abandoned"
            ]
        );
    }
}
