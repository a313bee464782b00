//! Logs missed ticks: at most one line per minute, and a warning only if a navigation is affected.

use std::fmt;
use std::time::Duration;

use crate::bt::Time;

/// Minimum time between two lines.
const QUIET: Duration = Duration::from_secs(60);
/// A tree that is not ticked for this time reacts noticeably late.
const LATE: Duration = Duration::from_millis(100);
/// The same is true if one tick in this number is missed ...
const ONE_IN: u64 = 10;
/// ... and more ticks are missed than a single slow tick causes.
const SEVERAL: u64 = 10;

/// The missed ticks that are not logged yet (guarantee G10: each is counted), and the ticks that happened meanwhile.
#[derive(Debug, Default)]
pub(crate) struct MissedTicks {
    /// The time of the last line, or of the first missed tick.
    since: Option<Time>,
    /// `since` is the time of a line.
    told: bool,
    count: u64,
    ticks: u64,
    /// The largest number in a row.
    in_a_row: u64,
    period: Duration,
    longest_tick: Duration,
}

/// The log line about missed ticks.
#[derive(Debug)]
pub(crate) struct MissedTicksSummary(MissedTicks);

impl MissedTicks {
    /// Records a tick, its duration and the number of ticks missed with it.
    pub(crate) fn note(&mut self, missed: u64, period: Duration, took: Duration) {
        if missed == 0 && self.count == 0 {
            return;
        }
        self.count = self.count.saturating_add(missed);
        self.ticks += 1;
        self.in_a_row = self.in_a_row.max(missed);
        self.period = period;
        self.longest_tick = self.longest_tick.max(took);
    }

    /// Returns whether there are missed ticks to log, now or later.
    pub(crate) fn is_pending(&self) -> bool {
        self.count > 0
    }

    /// The summary that is due. `now` is wall-clock time, not simulation time.
    pub(crate) fn summary(&mut self, now: Time) -> Option<MissedTicksSummary> {
        if self.count == 0 {
            return None;
        }
        let quiet = now.since(*self.since.get_or_insert(now)) < QUIET;
        let waits = if self.is_severe() {
            self.told && quiet
        } else {
            quiet
        };
        if waits {
            return None;
        }
        let told = Self {
            since: Some(now),
            told: true,
            ..Self::default()
        };
        Some(MissedTicksSummary(std::mem::replace(self, told)))
    }

    fn longest_gap(&self) -> Duration {
        self.period
            .saturating_mul(u32::try_from(self.in_a_row).unwrap_or(u32::MAX))
    }

    fn is_severe(&self) -> bool {
        let due = self.count.saturating_add(self.ticks);
        self.longest_gap() >= LATE || (self.count >= SEVERAL && self.count >= due / ONE_IN)
    }
}

impl MissedTicksSummary {
    /// Returns whether a navigation was affected: its tree was not ticked for a long time, or too seldom.
    pub(crate) fn is_severe(&self) -> bool {
        self.0.is_severe()
    }
}

impl fmt::Display for MissedTicksSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(missed) = self;
        write!(
            f,
            "{} of {} ticks missed, up to {} in a row ({:?}); the longest tick took {:?}",
            missed.count,
            missed.count.saturating_add(missed.ticks),
            missed.in_a_row,
            missed.longest_gap(),
            missed.longest_tick
        )?;
        if !self.is_severe() {
            return Ok(());
        }
        let advice = if missed.longest_tick < missed.period {
            "other processes use the CPU: reduce their load, or raise bt_loop_duration"
        } else {
            "the ticks take too long: find the slow leaf, or raise bt_loop_duration"
        };
        write!(f, "; {advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(10);
    const TOOK: Duration = Duration::from_micros(50);

    /// The lines for ticks at the given times, each with a number of missed ticks.
    fn lines(ends: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, bool, String)> {
        let mut missed = MissedTicks::default();
        let mut lines = Vec::new();
        for (end, count) in ends {
            missed.note(count, PERIOD, TOOK);
            let summary = missed.summary(Time::from_millis(end));
            lines.extend(summary.map(|summary| (end, summary.is_severe(), summary.to_string())));
        }
        lines
    }

    #[test]
    fn g10_missed_ticks_without_a_navigation_are_one_log_line_per_minute() {
        let one_in_fifty = |tick: u64| (10 * tick, u64::from(tick % 50 == 7));
        let told = lines((0..13_000).map(one_in_fifty));
        let line = |count: u64, of: u64| {
            format!("{count} of {of} ticks missed, up to 1 in a row (10ms); the longest tick took 50µs")
        };
        assert_eq!(
            told,
            [
                (60_070, false, line(121, 6122)),
                (120_070, false, line(120, 6120 - 49))
            ]
        );
    }

    #[test]
    fn g10_a_navigation_that_is_ticked_too_seldom_is_a_warning_at_once_and_then_one_a_minute() {
        let told = lines((0..13_000).map(|tick| (10 * tick, 1)));
        let times: Vec<_> = told.iter().map(|(at, severe, _)| (*at, *severe)).collect();
        assert_eq!(times, [(90, true), (60_090, true), (120_090, true)]);
        assert_eq!(
            told[0].2,
            "10 of 20 ticks missed, up to 1 in a row (10ms); the longest tick took 50µs; other processes use the \
             CPU: reduce their load, or raise bt_loop_duration"
        );
    }

    #[test]
    fn g10_a_navigation_that_is_not_ticked_for_long_is_a_warning_at_once() {
        let told = lines([(0, 0), (10, 3), (500, 10)]);
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].0, told[0].1), (500, true));
        assert!(
            told[0]
                .2
                .starts_with("13 of 15 ticks missed, up to 10 in a row (100ms)"),
            "{told:?}"
        );
    }

    #[test]
    fn g10_a_slow_tree_is_reported() {
        let mut missed = MissedTicks::default();
        missed.note(12, PERIOD, Duration::from_millis(125));
        let summary = missed.summary(Time::ZERO).unwrap();
        assert!(
            summary.to_string().ends_with(
                "the longest tick took 125ms; the ticks take too long: find the slow leaf, or raise bt_loop_duration"
            ),
            "{summary}"
        );
    }
}
