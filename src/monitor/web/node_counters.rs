//! The counters of a node for the page and for `navtree top`: those of `/metrics`, in short.

#[cfg(any(feature = "ros", test))]
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[cfg(any(feature = "ros", test))]
use crate::navigator::TickStatus;
#[cfg(any(feature = "ros", test))]
use crate::record::Totals;

/// The counters that are shown, and the label by which each is divided.
#[cfg(any(feature = "ros", test))]
const SHOWN: [(&str, &str); 4] = [
    ("navigations", "status"),
    ("goals", "outcome"),
    ("leaf_halts", "reason"),
    ("recoveries", "leaf"),
];

/// What has happened since the start of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::monitor) struct NodeCounters {
    /// `None`: the tick thread has not answered yet.
    pub(in crate::monitor) ticks: Option<TickCounters>,
    /// Records that the event stream has lost.
    pub(in crate::monitor) records_lost: u64,
    /// What is counted, and the count of each value of its label.
    pub(in crate::monitor) counts: Vec<(String, Vec<(String, u64)>)>,
}

/// The ticks since the start of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::monitor) struct TickCounters {
    /// Ticks that were due and did not happen.
    pub(in crate::monitor) missed: u64,
    /// Ticks that `/clock` passed over.
    pub(in crate::monitor) skipped: u64,
    /// Time from the due time of a tick to its start in ns: the median, the 99th percentile and the longest.
    pub(in crate::monitor) lateness: [u64; 3],
}

impl NodeCounters {
    /// The counters so far.
    #[cfg(any(feature = "ros", test))]
    pub(super) fn new(status: Option<&TickStatus>, totals: &Totals) -> Self {
        let counts = totals.counts();
        let sums = |name: &str, label: &str| {
            let mut sums: BTreeMap<String, u64> = BTreeMap::new();
            for (counter, count) in counts.iter().filter(|(counter, _)| counter.name == name) {
                let value = counter.labels.iter().find(|(known, _)| *known == label);
                *sums
                    .entry(value.map_or_else(String::new, |(_, value)| value.to_string()))
                    .or_default() += count;
            }
            (name.to_owned(), sums.into_iter().collect::<Vec<_>>())
        };
        let all = SHOWN.iter().map(|(name, label)| sums(name, label));
        Self {
            ticks: status.map(TickCounters::new),
            records_lost: totals.lost(),
            counts: all.filter(|(_, counts)| !counts.is_empty()).collect(),
        }
    }

    /// One line for each kind of counter.
    pub(in crate::monitor) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(ticks) = &self.ticks {
            let [median, most, longest] = ticks.lateness.map(Duration::from_nanos);
            lines.push(format!(
                "late by {median:.1?}, 99 % at most {most:.1?}, longest {longest:.1?}"
            ));
            lines.push(format!(
                "since the start: {} missed, {} skipped, {} records lost",
                ticks.missed, ticks.skipped, self.records_lost
            ));
        }
        for (name, counts) in &self.counts {
            let counts: Vec<String> = counts
                .iter()
                .map(|(value, count)| format!("{value} {count}"))
                .collect();
            lines.push(format!("{}: {}", name.replace('_', " "), counts.join(", ")));
        }
        lines
    }
}

impl TickCounters {
    #[cfg(any(feature = "ros", test))]
    fn new(status: &TickStatus) -> Self {
        let statistics = &status.statistics;
        let lateness = [0.5, 0.99, 1.0].map(|share| {
            let time = statistics.lateness.quantile(share);
            u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
        });
        Self {
            missed: statistics.missed,
            skipped: statistics.skipped,
            lateness,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::diagnostics::tick_status;

    #[test]
    fn the_counters_are_those_of_the_metrics() {
        let mut status = tick_status();
        status.statistics.missed = 3;
        status.statistics.lateness.record(Duration::from_millis(2));
        let counters = NodeCounters::new(Some(&status), &Totals::default());
        assert_eq!(
            counters.lines(),
            [
                "late by 2.0ms, 99 % at most 2.0ms, longest 2.0ms",
                "since the start: 3 missed, 0 skipped, 0 records lost"
            ]
        );
        let counts = vec![("aborted".to_owned(), 1), ("succeeded".to_owned(), 4)];
        let counters = NodeCounters {
            counts: vec![("leaf_halts".to_owned(), counts)],
            ..NodeCounters::default()
        };
        assert_eq!(counters.lines(), ["leaf halts: aborted 1, succeeded 4"]);
        assert!(NodeCounters::default().lines().is_empty());
    }
}
