//! The due times of steps and of messages.

use std::time::Duration;

use crate::bt::Time;
use crate::msg::duration::from_seconds;

/// Converts real time to steps: step n is due at start + n periods, so there is no drift. A simulation that is too slow
/// runs slower than requested and does not step in bursts: servers that jump by seconds would behave like a different
/// robot.
#[derive(Clone, Debug)]
pub struct Pace {
    start: Time,
    steps: u64,
    period: Duration,
    /// Steps that were skipped because the machine was too slow.
    pub missed: u64,
}

/// Maximum number of late steps that are executed at once.
const MAX_STEPS_BEHIND: u64 = 5;

impl Pace {
    /// A pace that starts at `now`, in real time: `period` simulated seconds per step, `speed_factor` simulated seconds
    /// per second.
    pub fn new(now: Time, period: Duration, speed_factor: f64) -> Self {
        Self {
            start: now,
            steps: 0,
            // Not zero for any factor: the next step must always be in the future.
            period: period
                .div_f64(speed_factor.clamp(1e-6, 1e6))
                .max(Duration::from_micros(1)),
            missed: 0,
        }
    }

    /// The steps due since the last call.
    pub fn due(&mut self, now: Time) -> u64 {
        let elapsed = now.since(self.start).as_nanos() / self.period.as_nanos().max(1);
        let behind = u64::try_from(elapsed)
            .unwrap_or(u64::MAX)
            .saturating_sub(self.steps);
        self.steps = self.steps.saturating_add(behind);
        let steps = behind.min(MAX_STEPS_BEHIND);
        self.missed += behind - steps;
        steps
    }

    /// The time of the next step, in real time.
    pub fn next(&self) -> Time {
        let nanoseconds = self.period.as_nanos().saturating_mul(u128::from(self.steps) + 1);
        self.start + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

/// An event with a rate in simulated time.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    next: Time,
}

impl Rate {
    /// A rate whose first event is due after a delay. Robots with different delays are not due all at once.
    pub fn after(delay: Duration) -> Self {
        Self {
            next: Time::ZERO + delay,
        }
    }

    /// Returns whether the event is due at rate `hertz`; 0 means never. The first one is due at once.
    pub fn is_due(&mut self, now: Time, hertz: f64) -> bool {
        if hertz <= 0.0 || now < self.next {
            return false;
        }
        let period = from_seconds(1.0 / hertz);
        // The next time is computed from the last due time, which keeps the rate even if it is not a multiple of steps.
        // After a delay it is computed from now, which avoids a burst.
        let regular = self.next + period;
        self.next = if regular > now { regular } else { now + period };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, Rate};
    use crate::bt::Time;
    use std::time::Duration;

    #[test]
    fn keeps_pace_without_drift_or_bursts() {
        let at = Time::from_millis;
        let mut pace = Pace::new(at(100), Duration::from_millis(20), 2.0);
        assert_eq!(pace.next(), at(110));
        assert_eq!(pace.due(at(109)), 0);
        assert_eq!(pace.due(at(113)), 1);
        assert_eq!(pace.next(), at(120), "not 123");
        assert_eq!(pace.due(at(145)), 3);
        assert_eq!(pace.due(at(1145)), 5);
        assert_eq!((pace.missed, pace.next()), (95, at(1150)));
    }

    #[test]
    fn rates_hold_on_average() {
        let mut rate = Rate::default();
        let count = (0..500)
            .filter(|step| rate.is_due(Time::from_millis(step * 20), 30.0))
            .count();
        assert_eq!(count, 300);
        assert!(!Rate::default().is_due(Time::ZERO, 0.0));
        let mut late = Rate::after(Duration::from_millis(5));
        assert!(!late.is_due(Time::from_millis(4), 30.0) && late.is_due(Time::from_millis(5), 30.0));
    }
}
