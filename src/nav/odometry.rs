//! The velocity of the robot during the last moments.

use std::collections::VecDeque;
use std::time::Duration;

use crate::msg::{Odometry, Stamp, Twist, Vector3};

/// The used part of an odometry message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdometrySample {
    /// Time of measurement.
    pub stamp: Stamp,
    /// Velocity.
    pub twist: Twist,
}

/// The mean twist over a window (`filter_duration`), with its samples. Uses the time of messages, not a clock: the
/// window ends at the newest message.
#[derive(Clone, Debug)]
pub struct OdometrySmoother {
    window: Duration,
    samples: VecDeque<OdometrySample>,
}

/// Minimum number of samples, kept even if they are older than the window: `IsStuck` uses the last three.
const FEWEST: usize = 3;
/// Maximum number of samples at any rate: 0.3 s at 3 kHz.
const MAX_SAMPLES: usize = 1000;

impl OdometrySmoother {
    /// Creates a smoother without samples.
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            samples: VecDeque::new(),
        }
    }

    /// Adds a message. A message older than the newest one means that time was set back; all samples are dropped.
    pub fn add(&mut self, message: &Odometry) {
        let stamp = message.header.stamp;
        if self.samples.back().is_some_and(|newest| stamp < newest.stamp) {
            self.samples.clear();
        }
        self.samples.push_back(OdometrySample {
            stamp,
            twist: message.twist,
        });
        while self.samples.len() > FEWEST
            && self
                .samples
                .front()
                .is_some_and(|oldest| stamp.since(oldest.stamp) > self.window)
            || self.samples.len() > MAX_SAMPLES
        {
            self.samples.pop_front();
        }
    }

    /// Replaces all samples, oldest first.
    pub(crate) fn restore(&mut self, samples: &[OdometrySample]) {
        self.samples = samples.iter().copied().collect();
    }

    /// The newest sample.
    pub fn newest(&self) -> Option<&OdometrySample> {
        self.samples.back()
    }

    /// All samples of the window, oldest first; at least the last three if there are so many.
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = &OdometrySample> + ExactSizeIterator {
        self.samples.iter()
    }

    /// The mean over the window; `None` before the first message.
    pub fn twist(&self) -> Option<Twist> {
        let newest = self.samples.back()?;
        let mut count = 0.0;
        let mut sum = Twist::default();
        for sample in self.samples.iter().rev() {
            if newest.stamp.since(sample.stamp) > self.window {
                break;
            }
            count += 1.0;
            sum.linear = add(sum.linear, sample.twist.linear);
            sum.angular = add(sum.angular, sample.twist.angular);
        }
        Some(Twist {
            linear: divide(sum.linear, count),
            angular: divide(sum.angular, count),
        })
    }

    /// The planar speed of the mean twist, metres per second; 0 before the first message.
    pub fn speed(&self) -> f64 {
        self.twist()
            .map_or(0.0, |twist| twist.linear.x.hypot(twist.linear.y))
    }
}

fn add(a: Vector3, b: Vector3) -> Vector3 {
    Vector3 {
        x: a.x + b.x,
        y: a.y + b.y,
        z: a.z + b.z,
    }
}

fn divide(a: Vector3, by: f64) -> Vector3 {
    Vector3 {
        x: a.x / by,
        y: a.y / by,
        z: a.z / by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::Header;

    fn message(milliseconds: i64, speed: f64) -> Odometry {
        Odometry {
            header: Header::new(Stamp::from_nanos(milliseconds * 1_000_000), "odom"),
            twist: Twist::planar(speed, 0.0),
            ..Odometry::default()
        }
    }

    #[test]
    fn the_mean_is_over_the_window() {
        let mut smoother = OdometrySmoother::new(Duration::from_millis(300));
        assert_eq!(smoother.twist(), None);
        for (at, speed) in [(0, 9.0), (1000, 1.0), (1100, 2.0), (1200, 3.0), (1300, 2.0)] {
            smoother.add(&message(at, speed));
        }
        assert_eq!(smoother.speed(), 2.0);
        assert_eq!(smoother.samples().len(), 4);
    }

    #[test]
    fn a_window_shorter_than_the_period_returns_the_newest_sample() {
        let mut smoother = OdometrySmoother::new(Duration::ZERO);
        for (at, speed) in [(0, 9.0), (100, 1.0), (200, 2.0), (300, 5.0)] {
            smoother.add(&message(at, speed));
        }
        assert_eq!((smoother.speed(), smoother.samples().len()), (5.0, 3));
    }

    #[test]
    fn time_may_be_set_back() {
        let mut smoother = OdometrySmoother::new(Duration::from_secs(1));
        smoother.add(&message(5000, 1.0));
        smoother.add(&message(10, 3.0));
        assert_eq!(smoother.speed(), 3.0);
    }
}
