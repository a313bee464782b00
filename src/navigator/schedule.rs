//! The due times of ticks (guarantee G10).

use std::time::Duration;

use crate::bt::Time;

/// A fixed rate: tick n is due at start + n·period. There is no drift, because each due time is computed from the start
/// and not from the previous tick. There is no burst after an overrun, because missed ticks are counted and left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    start: Time,
    period: Duration,
    /// The number of the next tick.
    next: u64,
    missed: u64,
    skipped: u64,
}

impl Schedule {
    /// Creates a schedule. The first tick is due at `start`.
    pub fn new(start: Time, period: Duration) -> Self {
        Self {
            start,
            period: period.max(Duration::from_micros(100)),
            next: 0,
            missed: 0,
            skipped: 0,
        }
    }

    /// The time from which all due times are computed.
    pub fn start(&self) -> Time {
        self.start
    }

    /// The due time of the next tick.
    pub fn due(&self) -> Time {
        let offset = u128::from(self.next) * self.period.as_nanos();
        self.start + Duration::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// Call this at the end of each tick; `now` is the time of that end. Due times that have passed without a tick never
    /// get one. They are counted: as *missed* if the clock stopped at them, and as *skipped* if one step of a simulated
    /// clock ([`TickClock::now_and_due_steps`]) passed several of them. A clock that was set back (a restarted
    /// simulation) begins a new schedule.
    ///
    /// [`TickClock::now_and_due_steps`]: super::TickClock::now_and_due_steps
    pub fn ticked(&mut self, now: Time, steps: Option<u64>) {
        if now < self.start || now + self.period < self.due() {
            *self = Self {
                start: now,
                next: 1,
                ..self.clone()
            };
            return;
        }
        let elapsed = now.since(self.start).as_nanos() / self.period.as_nanos().max(1);
        let passed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        let passed_over = passed.saturating_sub(self.next);
        let missed = steps.map_or(passed_over, |steps| passed_over.min(steps.saturating_sub(1)));
        self.missed += missed;
        self.skipped += passed_over - missed;
        self.next = self.next.max(passed) + 1;
    }

    /// Ticks that did not happen because an earlier tick or the machine was late.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Ticks that did not happen because the clock passed them in one step with another tick.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The period.
    pub fn period(&self) -> Duration {
        self.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_millis(milliseconds)
    }

    /// Runs ticks that end at the given times. Returns the due times and the number of missed ticks.
    fn run(ends: &[u64]) -> (Vec<u64>, u64) {
        let mut schedule = Schedule::new(at(1000), Duration::from_millis(10));
        let mut due = vec![];
        for end in ends {
            due.push(schedule.due().as_nanos() / 1_000_000);
            schedule.ticked(at(*end), None);
        }
        due.push(schedule.due().as_nanos() / 1_000_000);
        (due, schedule.missed())
    }

    #[test]
    fn g10_late_ticks_do_not_shift_the_later_ones() {
        assert_eq!(
            run(&[1003, 1012, 1029, 1031]),
            (vec![1000, 1010, 1020, 1030, 1040], 0)
        );
    }

    #[test]
    fn g10_an_overrun_is_counted_and_not_made_up_for() {
        assert_eq!(run(&[1001, 1047, 1051]), (vec![1000, 1010, 1050, 1060], 3));
    }

    #[test]
    fn g10_a_clock_set_back_starts_a_new_schedule() {
        assert_eq!(run(&[1001, 5]), (vec![1000, 1010, 15], 0));
    }
    /// Runs ticks that end at the given times, each after a number of steps of the clock. Returns the numbers of missed
    /// and skipped ticks.
    fn run_by_steps(ends: impl IntoIterator<Item = (u64, u64)>) -> (u64, u64) {
        let mut schedule = Schedule::new(at(1000), Duration::from_millis(10));
        for (end, steps) in ends {
            schedule.ticked(at(end), Some(steps));
        }
        (schedule.missed(), schedule.skipped())
    }

    #[test]
    fn g10_a_step_of_the_clock_that_passes_several_ticks_allows_one() {
        // /clock at 40 Hz: each tick comes with the step that allows it.
        assert_eq!(run_by_steps((0..100).map(|tick| (1000 + 25 * tick, 1))), (0, 148));
    }

    #[test]
    fn g10_a_tick_that_is_late_by_steps_of_the_clock_has_missed_one_for_each() {
        // 25 ms per step, and one tick during which the clock makes four steps.
        assert_eq!(run_by_steps([(1000, 1), (1025, 1), (1125, 4), (1150, 1)]), (3, 9));
        // Steps of a millisecond do not limit the ticks.
        assert_eq!(run_by_steps([(1000, 1), (1047, 5), (1051, 1)]), (3, 0));
    }
}
