//! `std_msgs/Header` and `builtin_interfaces/Time`.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::declare::messages;

/// The name of a coordinate frame. Shared text: a path of a thousand poses contains one copy of `map`.
pub type FrameId = Arc<str>;

/// A time on the ROS clock (system or simulation time), as in messages. Ticks use another clock: [`crate::bt::Time`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stamp {
    /// Seconds since the epoch of the clock.
    pub sec: i32,
    /// Nanoseconds within the second, below 1 000 000 000.
    pub nanosec: u32,
}

impl Stamp {
    /// The zero stamp: "latest available" in transform lookups.
    pub const ZERO: Self = Self { sec: 0, nanosec: 0 };

    /// Whether this is the zero stamp, "no particular time".
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// The stamp `nanoseconds` after the epoch. Saturates in 2038, the end of the message type.
    pub fn from_nanos(nanoseconds: i64) -> Self {
        let seconds = nanoseconds.div_euclid(1_000_000_000);
        match i32::try_from(seconds) {
            Ok(sec) => Self {
                sec,
                nanosec: nanoseconds.rem_euclid(1_000_000_000) as u32,
            },
            Err(_) if seconds > 0 => Self {
                sec: i32::MAX,
                nanosec: 999_999_999,
            },
            Err(_) => Self {
                sec: i32::MIN,
                nanosec: 0,
            },
        }
    }

    /// Nanoseconds since the epoch.
    pub fn as_nanos(self) -> i64 {
        i64::from(self.sec) * 1_000_000_000 + i64::from(self.nanosec)
    }

    /// Time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        let nanoseconds = self.as_nanos().saturating_sub(earlier.as_nanos());
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
    }
}

messages! {
    std_msgs

    /// Time and frame of the data of a message.
    #[derive(Eq)]
    struct Header {
        /// The time of the data.
        stamp: Stamp,
        /// The frame of the data.
        frame_id: FrameId,
    }
}

impl Header {
    /// A header for `frame_id` at `stamp`.
    pub fn new(stamp: Stamp, frame_id: impl Into<FrameId>) -> Self {
        Self {
            stamp,
            frame_id: frame_id.into(),
        }
    }

    /// A header for `frame_id` without a time (stamp zero).
    pub fn in_frame(frame_id: impl Into<FrameId>) -> Self {
        Self::new(Stamp::ZERO, frame_id)
    }
}

#[cfg(test)]
mod tests {
    use super::{Header, Stamp};
    use std::time::Duration;

    #[test]
    fn stamps_convert_and_saturate() {
        for nanoseconds in [
            0,
            1,
            999_999_999,
            1_000_000_000,
            1_700_000_000_123_456_789,
            -1,
            -1_000_000_001,
        ] {
            assert_eq!(Stamp::from_nanos(nanoseconds).as_nanos(), nanoseconds);
        }
        assert_eq!(Stamp::from_nanos(i64::MAX).sec, i32::MAX);
        assert_eq!(Stamp::from_nanos(i64::MIN).sec, i32::MIN);
    }

    #[test]
    fn time_since_is_never_negative() {
        let (early, late) = (Stamp::from_nanos(5), Stamp::from_nanos(2_000_000_005));
        assert_eq!(late.since(early), Duration::from_secs(2));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    #[test]
    fn json_has_the_names_of_the_interface() {
        let text = serde_json::to_string(&Header::in_frame("map")).unwrap();
        assert_eq!(text, r#"{"stamp":{"sec":0,"nanosec":0},"frame_id":"map"}"#);
        assert_eq!(
            serde_json::from_str::<Header>(&text).unwrap(),
            Header::in_frame("map")
        );
    }
}
