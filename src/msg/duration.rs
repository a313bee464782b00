//! `builtin_interfaces/Duration` for messages. The other code uses [`std::time::Duration`].
//!
//! A ROS duration may be negative, a Rust duration may not. All durations of these interfaces are amounts of time (an
//! allowance, an elapsed or remaining time), so negative ones are clamped to zero. Nav2's behaviors treat a time
//! allowance of zero or less as "no limit", and a negative `time_left` is late feedback.
//!
//! Also a serde module: `#[serde(with = "duration")]` writes `{"sec": 1, "nanosec": 500000000}`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The wire form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RosDuration {
    /// Seconds, negative for negative durations.
    pub sec: i32,
    /// Nanoseconds added to the seconds, below 1 000 000 000.
    pub nanosec: u32,
}

impl From<RosDuration> for Duration {
    fn from(wire: RosDuration) -> Self {
        let nanoseconds = i64::from(wire.sec) * 1_000_000_000 + i64::from(wire.nanosec);
        Self::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
    }
}

impl From<Duration> for RosDuration {
    /// Saturates at the maximum of the wire type, 68 years.
    fn from(duration: Duration) -> Self {
        i32::try_from(duration.as_secs()).map_or(
            Self {
                sec: i32::MAX,
                nanosec: 999_999_999,
            },
            |sec| Self {
                sec,
                nanosec: duration.subsec_nanos(),
            },
        )
    }
}

/// Converts `seconds`: zero for negative numbers and NaN, the maximum of the wire type for larger numbers. Ports and
/// parameters give seconds in floating point.
pub fn from_seconds(seconds: f64) -> Duration {
    if seconds.is_nan() {
        return Duration::ZERO;
    }
    Duration::from_secs_f64(seconds.clamp(0.0, f64::from(i32::MAX)))
}

/// Writes the wire form.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    RosDuration::from(*duration).serialize(serializer)
}

/// Reads the wire form. A negative duration becomes zero.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    RosDuration::deserialize(deserializer).map(Duration::from)
}

#[cfg(test)]
mod tests {
    use super::{RosDuration, from_seconds};
    use std::time::Duration;

    #[test]
    fn negative_is_clamped_to_zero() {
        let wire = |sec, nanosec| Duration::from(RosDuration { sec, nanosec });
        assert_eq!(wire(-1, 500_000_000), Duration::ZERO);
        assert_eq!(wire(i32::MIN, 0), Duration::ZERO);
        assert_eq!(wire(1, 500_000_000), Duration::from_millis(1500));
        assert_eq!(wire(0, u32::MAX), Duration::from_nanos(u64::from(u32::MAX)));
    }

    #[test]
    fn long_is_clamped_to_the_wire_type() {
        assert_eq!(RosDuration::from(Duration::MAX).sec, i32::MAX);
        assert_eq!(
            Duration::from(RosDuration::from(Duration::from_millis(2500))),
            Duration::from_millis(2500)
        );
    }

    #[test]
    fn seconds_from_ports() {
        assert_eq!(from_seconds(1.5), Duration::from_millis(1500));
        for none in [-1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(from_seconds(none), Duration::ZERO);
        }
        assert_eq!(from_seconds(f64::INFINITY).as_secs(), i32::MAX as u64);
    }
}
