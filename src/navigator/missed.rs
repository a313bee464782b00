//! Says that ticks were missed, as often as somebody can read it.

use std::time::Duration;

use crate::bt::Time;

/// Between two lines: a simulation that runs faster than this machine can tick misses some with every tick.
const QUIET: Duration = Duration::from_secs(10);

/// The missed ticks that nobody was told of yet (guarantee G10: none is left uncounted).
#[derive(Debug, Default)]
pub(crate) struct MissedTicks {
    told: Option<Time>,
    count: u64,
    /// Of the ticks after which some were missed.
    longest: Duration,
    /// They had to wait, because another line had just been written.
    held_back: bool,
}

impl MissedTicks {
    /// Takes in that so many were missed after one that took so long.
    pub(crate) fn note(&mut self, count: u64, took: Duration) {
        self.count = self.count.saturating_add(count);
        self.longest = self.longest.max(took);
    }

    /// Whether there is something to tell, now or later.
    pub(crate) fn is_pending(&self) -> bool {
        self.count > 0
    }

    /// The line that is due: the first miss at once, and then all of ten seconds in one. `now` is the time that people
    /// live by, not a simulation's.
    pub(crate) fn line(&mut self, now: Time) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        if self.told.is_some_and(|told| now.since(told) < QUIET) {
            self.held_back = true;
            return None;
        }
        let (count, longest) = (self.count, self.longest);
        let line = if self.held_back {
            format!("{count} more ticks missed in {QUIET:?}: the longest one took {longest:?}")
        } else {
            format!("{count} ticks missed: the last one took {longest:?}")
        };
        *self = Self {
            told: Some(now),
            ..Self::default()
        };
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of ticks that end at the given times and after which one was missed each.
    fn lines(ends: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, String)> {
        let mut missed = MissedTicks::default();
        let mut lines = Vec::new();
        for (end, count) in ends {
            if count > 0 {
                missed.note(count, Duration::from_millis(20 + end % 7));
            }
            lines.extend(missed.line(Time::from_millis(end)).map(|line| (end, line)));
        }
        lines
    }

    #[test]
    fn g10_a_flood_of_misses_is_a_line_at_once_and_then_one_in_ten_seconds() {
        let flood = lines((0..2_500).map(|tick| (7_000 + 10 * tick, 1)));
        assert_eq!(
            flood,
            [
                (7_000, "1 ticks missed: the last one took 20ms".to_owned()),
                (
                    17_000,
                    "1000 more ticks missed in 10s: the longest one took 26ms".to_owned()
                ),
                (
                    27_000,
                    "1000 more ticks missed in 10s: the longest one took 26ms".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn g10_the_summary_comes_when_its_time_has_come_and_not_with_the_next_miss() {
        let said = lines([
            (0, 3),
            (100, 2),
            (9_999, 0),
            (10_000, 0),
            (10_010, 0),
            (30_000, 0),
        ]);
        assert_eq!(
            said,
            [
                (0, "3 ticks missed: the last one took 20ms".to_owned()),
                (
                    10_000,
                    "2 more ticks missed in 10s: the longest one took 22ms".to_owned()
                ),
            ]
        );
    }

    #[test]
    fn g10_a_miss_after_a_long_quiet_is_said_at_once() {
        let said = lines([(0, 1), (60_000, 4), (60_010, 1)]);
        assert_eq!(said.len(), 2);
        assert_eq!(
            said[1],
            (60_000, "4 ticks missed: the last one took 23ms".to_owned())
        );
    }
}
