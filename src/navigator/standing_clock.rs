//! Reports that the clock does not advance while a tree runs.

use std::time::Duration;

use crate::bt::Time;

/// A simulation that is paused for less time is not worth a line.
const LIMIT: Duration = Duration::from_secs(10);

/// The time since which the clock stands.
#[derive(Debug, Default)]
pub(crate) struct StandingClock {
    /// The time on the clock, and the time on the clock that a simulation does not stop when it was first read.
    at: Option<(Time, Time)>,
    told: bool,
}

impl StandingClock {
    /// Records the time in a turn of the thread while a tree runs. Returns the log line, once until the clock advances.
    pub(crate) fn note(&mut self, now: Time, steady: Time) -> Option<String> {
        let Some((_, since)) = self.at.filter(|(then, _)| *then == now) else {
            (self.at, self.told) = (Some((now, steady)), false);
            return None;
        };
        if self.told || steady.since(since) < LIMIT {
            return None;
        }
        self.told = true;
        Some(format!(
            "/clock has not advanced for {LIMIT:?}: the tree is not ticked before it does, except for events with tick_on_event, \
             and its goals go on; continue the simulation, or cancel the navigation"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g10_a_clock_that_stands_is_reported_once_each_time() {
        let mut clock = StandingClock::default();
        // For each second, the time on the clock.
        let reads = (0..5)
            .chain([5; 30])
            .chain(6..9)
            .chain([9; 9])
            .chain(10..12)
            .chain([12; 30]);
        let told = reads.enumerate().filter_map(|(second, read)| {
            let line = clock.note(
                Time::from_millis(1000 * read),
                Time::from_millis(1000 * second as u64),
            );
            line.map(|line| (second, line.starts_with("/clock has not advanced for 10s: ")))
        });
        assert_eq!(told.collect::<Vec<_>>(), [(15, true), (59, true)]);
    }
}
