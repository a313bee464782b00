//! Reports once that the clock advances in longer steps than the tick period.

use std::time::Duration;

use crate::bt::Time;

/// Number of ticks that are evaluated together.
const TICKS: u32 = 50;
/// Minimum number of these ticks that skip other ticks, for a slow clock. A single leap of a simulation or a lost
/// message is not a slow clock.
const SLOW: u32 = 5;

/// The steps of the clock from tick to tick.
#[derive(Debug, Default)]
pub(crate) struct SlowClock {
    /// The end time of the previous tick, on the clock with steps.
    before: Option<Time>,
    ticks: u32,
    /// The ticks that skipped others.
    skipping: u32,
    steps: u64,
    elapsed: Duration,
    told: bool,
}

impl SlowClock {
    /// Records a tick that ended at `now`, with the number of steps of the clock since the previous tick and the number
    /// of skipped ticks. Returns the log line, once.
    pub(crate) fn note(
        &mut self,
        now: Time,
        steps: Option<u64>,
        skipped: u64,
        period: Duration,
    ) -> Option<String> {
        let Some(steps) = steps.filter(|_| !self.told) else {
            self.before = None;
            return None;
        };
        let before = self.before.replace(now)?;
        self.ticks += 1;
        self.skipping += u32::from(skipped > 0);
        self.steps += steps;
        self.elapsed += now.since(before);
        if self.ticks < TICKS {
            return None;
        }
        let judged = std::mem::take(self);
        self.before = Some(now);
        self.told = judged.skipping >= SLOW;
        self.told.then(|| {
            let steps = u32::try_from(judged.steps).unwrap_or(u32::MAX).max(1);
            format!(
                "/clock advances every {:.0?}, slower than the tick period of {period:?}: ticks follow the clock",
                judged.elapsed / steps
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(10);

    /// The lines for steps of the clock, in milliseconds. A tick follows each step at once.
    fn lines(steps: impl IntoIterator<Item = u64>) -> Vec<String> {
        let (mut clock, mut now) = (SlowClock::default(), 0);
        let note = |step| {
            now += step;
            clock.note(Time::from_millis(now), Some(1), step / 10 - 1, PERIOD)
        };
        steps.into_iter().filter_map(note).collect()
    }

    #[test]
    fn g10_a_slow_clock_is_reported_once() {
        assert_eq!(
            lines([25; 1000]),
            ["/clock advances every 25ms, slower than the tick period of 10ms: ticks follow the clock"]
        );
    }

    #[test]
    fn g10_a_clock_with_occasional_jumps_is_not_slow() {
        let leaps = |tick: u64| if tick.is_multiple_of(30) { 5000 } else { 10 };
        assert!(lines((0..1000).map(leaps)).is_empty());
    }

    #[test]
    fn g10_a_clock_without_steps_is_not_judged() {
        let mut clock = SlowClock::default();
        let mut note = |tick: u64, steps| clock.note(Time::from_millis(25 * tick), steps, 1, PERIOD);
        assert!((0..1000).all(|tick| note(tick, None).is_none()));
        assert!((1000..2000).any(|tick| note(tick, Some(1)).is_some()));
    }
}
