//! The counters of a node for the page and for `navtree top`: those of `/metrics`, in short.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::navigator::TickStatus;
#[cfg(any(feature = "ros", test))]
use crate::record::MotionTimes;
use crate::record::Totals;

/// The counters that are shown, and the labels by which each is divided.
const SHOWN: [(&str, &[&str]); 5] = [
    ("navigations", &["status"]),
    ("goals", &["outcome", "reason"]),
    ("leaf_halts", &["reason"]),
    ("recoveries", &["leaf"]),
    ("tree_swaps", &[]),
];

/// What has happened since the start of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::monitor) struct NodeCounters {
    /// `None`: the tick thread has not answered yet.
    pub(in crate::monitor) ticks: Option<TickCounters>,
    /// Records that the event stream has lost.
    pub(in crate::monitor) records_lost: u64,
    /// Goals that did not stop in time and were abandoned.
    pub(in crate::monitor) goals_abandoned: u64,
    /// Time from the beginning of a navigation until the robot moved; `None`: it has not moved yet.
    pub(in crate::monitor) time_to_motion: Option<MotionCounters>,
    /// What is counted, and the count of each value of its labels.
    pub(in crate::monitor) counts: Vec<(String, Vec<(String, u64)>)>,
}

/// The times to motion in ns: the last, the mean and the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::monitor) struct MotionCounters {
    pub(in crate::monitor) last: u64,
    pub(in crate::monitor) mean: u64,
    pub(in crate::monitor) longest: u64,
}

/// The ticks since the start of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::monitor) struct TickCounters {
    /// Ticks that were due and did not happen.
    pub(in crate::monitor) missed: u64,
    /// Ticks that `/clock` passed over.
    pub(in crate::monitor) skipped: u64,
    /// Work of a tick in ns: the median, the 99th percentile and the longest.
    pub(in crate::monitor) durations: [u64; 3],
    /// Time from the due time of a tick to its start in ns: the same.
    pub(in crate::monitor) lateness: [u64; 3],
}

impl NodeCounters {
    /// The counters so far. `abandoned`: goals that did not stop in time.
    #[cfg(any(feature = "ros", test))]
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

    /// One line for each kind of counter.
    pub(in crate::monitor) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(ticks) = &self.ticks {
            for (what, times) in [("work", ticks.durations), ("late by", ticks.lateness)] {
                let [median, most, longest] = times.map(Duration::from_nanos);
                lines.push(format!(
                    "{what} {median:.1?}, 99 % at most {most:.1?}, longest {longest:.1?}"
                ));
            }
            lines.push(format!(
                "since the start: {} missed, {} skipped, {} records lost, {} goals abandoned",
                ticks.missed, ticks.skipped, self.records_lost, self.goals_abandoned
            ));
        }
        if let Some(times) = &self.time_to_motion {
            let [last, mean, longest] = [times.last, times.mean, times.longest].map(Duration::from_nanos);
            lines.push(format!(
                "time to motion: last {last:.2?}, mean {mean:.2?}, longest {longest:.2?}"
            ));
        }
        for (name, counts) in &self.counts {
            let counts: Vec<String> = counts
                .iter()
                .map(|(value, count)| format!("{value} {count}").trim_start().to_owned())
                .collect();
            lines.push(format!("{}: {}", name.replace('_', " "), counts.join(", ")));
        }
        lines
    }
}

#[cfg(any(feature = "ros", test))]
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

#[cfg(any(feature = "ros", test))]
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

#[cfg(any(feature = "ros", test))]
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
        let counted = |name: &str, counts: &[(&str, u64)]| {
            let counts = counts.iter().map(|(value, count)| ((*value).to_owned(), *count));
            (name.to_owned(), counts.collect())
        };
        let counters = NodeCounters {
            time_to_motion: Some(MotionCounters {
                last: 1_500_000_000,
                mean: 1_000_000_000,
                longest: 2_000_000_000,
            }),
            counts: vec![
                counted("goals", &[("halted timed out", 1), ("succeeded", 4)]),
                counted("tree_swaps", &[("", 2)]),
            ],
            ..NodeCounters::default()
        };
        assert_eq!(
            counters.lines(),
            [
                "time to motion: last 1.50s, mean 1.00s, longest 2.00s",
                "goals: halted timed out 1, succeeded 4",
                "tree swaps: 2"
            ]
        );
        assert!(NodeCounters::default().lines().is_empty());
    }
}
