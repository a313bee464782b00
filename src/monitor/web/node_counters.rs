//! The counters of a node for the page and for `navtree top`: those of `/metrics`, in short.

use std::time::Duration;

use serde::{Deserialize, Serialize};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_counter_has_a_line() {
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
