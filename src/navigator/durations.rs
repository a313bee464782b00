//! A histogram of the durations of ticks.

use std::time::Duration;

/// Number of size classes per power of two. With eight, a reading is at most an eighth too high.
const PER_DOUBLING: u32 = 8;
/// Up to 2^41 ns, about 37 minutes.
const CLASSES: usize = (PER_DOUBLING as usize) * 38;

/// A histogram of durations. An entry takes a few instructions, and nothing is allocated after creation.
#[derive(Clone, Debug)]
pub struct Durations {
    counts: Box<[u32; CLASSES]>,
    total: u64,
    sum: Duration,
    longest: Duration,
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            counts: Box::new([0; CLASSES]),
            total: 0,
            sum: Duration::ZERO,
            longest: Duration::ZERO,
        }
    }
}

impl Durations {
    /// Adds a duration.
    pub fn record(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        if let Some(count) = self.counts.get_mut(class(nanoseconds)) {
            *count = count.saturating_add(1);
        }
        self.total += 1;
        self.sum = self.sum.saturating_add(duration);
        self.longest = self.longest.max(duration);
    }

    /// The durations recorded after an earlier state of the same histogram. Of the longest one, only its class is
    /// known.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = self.clone();
        for (count, before) in later.counts.iter_mut().zip(earlier.counts.iter()) {
            *count = count.saturating_sub(*before);
        }
        later.total = self.total.saturating_sub(earlier.total);
        later.sum = self.sum.saturating_sub(earlier.sum);
        later.longest = match later.total {
            0 => Duration::ZERO,
            _ => later.quantile(1.0),
        };
        later
    }

    /// The number of durations.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The sum of all durations.
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// The longest duration.
    pub fn longest(&self) -> Duration {
        self.longest
    }

    /// The quantile: 0.5 for the median. Rounded up to the end of a class; zero for an empty histogram.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.total as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return Duration::from_nanos(end_of(index)).min(self.longest);
            }
        }
        self.longest
    }
}

/// The class of a number: the position of its highest bit, and the three bits after it.
fn class(number: u64) -> usize {
    let number = number.max(u64::from(PER_DOUBLING));
    let doublings = number.ilog2() - 3;
    let rest = (number >> doublings) as usize & 7;
    (doublings as usize * PER_DOUBLING as usize + rest).min(CLASSES - 1)
}

/// The first number of the next class.
fn end_of(class: usize) -> u64 {
    let doublings = class / PER_DOUBLING as usize;
    ((8 + class % PER_DOUBLING as usize + 1) as u64) << doublings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_at_most_an_eighth_too_high() {
        for number in (3..40).flat_map(|bit| [1_u64 << bit, (1 << bit) + 1, (3 << bit) / 2, (2 << bit) - 1]) {
            let end = end_of(class(number));
            assert!(end > number && end - number <= number / 8 + 1, "{number}: {end}");
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
        assert_eq!(class(0), 0);
    }

    #[test]
    fn quantiles_of_a_thousand() {
        let mut durations = Durations::default();
        assert_eq!(durations.quantile(0.5), Duration::ZERO);
        for microseconds in 1..=1000 {
            durations.record(Duration::from_micros(microseconds));
        }
        assert_eq!(
            (durations.total(), durations.longest()),
            (1000, Duration::from_millis(1))
        );
        for (share, exact) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let read = durations.quantile(share).as_secs_f64() * 1e6;
            assert!(read >= exact && read <= exact * 1.126, "{share}: {read}");
        }
    }

    #[test]
    fn later_ones_by_themselves() {
        let mut durations = Durations::default();
        durations.record(Duration::from_millis(900));
        let earlier = durations.clone();
        assert_eq!(durations.since(&earlier).total(), 0);
        assert_eq!(durations.since(&earlier).longest(), Duration::ZERO);
        for _ in 0..50 {
            durations.record(Duration::from_micros(80));
        }
        let later = durations.since(&earlier);
        assert_eq!(later.total(), 50);
        let longest = later.longest().as_secs_f64() * 1e6;
        assert!((80.0..=80.0 * 1.126).contains(&longest), "{longest}");
    }
}
