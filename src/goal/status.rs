//! Statuses, terminal statuses and cancel codes, with the numbers of `action_msgs`.

/// `action_msgs/GoalStatus`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(i8)]
pub enum GoalStatus {
    /// Unknown goal, or not set.
    Unknown = 0,
    /// Accepted, not executing yet.
    Accepted = 1,
    /// Executing.
    Executing = 2,
    /// A cancel was accepted; the goal has not ended.
    Canceling = 3,
    /// Ended: succeeded.
    Succeeded = 4,
    /// Ended: cancelled.
    Canceled = 5,
    /// Ended: aborted.
    Aborted = 6,
}

impl GoalStatus {
    /// Converts the number on the wire. A number outside the definition is [`GoalStatus::Unknown`].
    pub fn from_wire(number: i8) -> Self {
        match number {
            1 => Self::Accepted,
            2 => Self::Executing,
            3 => Self::Canceling,
            4 => Self::Succeeded,
            5 => Self::Canceled,
            6 => Self::Aborted,
            _ => Self::Unknown,
        }
    }

    /// The terminal status, if the goal has ended.
    pub fn end(self) -> Option<TerminalStatus> {
        match self {
            Self::Succeeded => Some(TerminalStatus::Succeeded),
            Self::Canceled => Some(TerminalStatus::Canceled),
            Self::Aborted => Some(TerminalStatus::Aborted),
            Self::Unknown | Self::Accepted | Self::Executing | Self::Canceling => None,
        }
    }

    /// Whether the goal is accepted and has not ended.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Accepted | Self::Executing | Self::Canceling)
    }
}

/// The end of a goal on its server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum TerminalStatus {
    /// Succeeded.
    Succeeded,
    /// Aborted, usually with an error code in the result.
    Aborted,
    /// Cancelled, by this node or another client.
    Canceled,
}

impl TerminalStatus {
    /// The same status as a [`GoalStatus`].
    pub fn status(self) -> GoalStatus {
        match self {
            Self::Succeeded => GoalStatus::Succeeded,
            Self::Aborted => GoalStatus::Aborted,
            Self::Canceled => GoalStatus::Canceled,
        }
    }
}

/// The return code of `action_msgs/CancelGoal`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(i8)]
pub enum CancelCode {
    /// All selected goals are now cancelling.
    None = 0,
    /// The server refused.
    Rejected = 1,
    /// The server does not know the goal id.
    UnknownGoal = 2,
    /// The goal cannot be cancelled: it has ended, *or is already cancelling* (rcl's answer to a second cancel).
    GoalTerminated = 3,
    /// Not on the wire: one of several servers with the same name does not know the goal id, and another one may know
    /// it. A client gets one answer to each request.
    UnknownToOne = -1,
}

impl CancelCode {
    /// Converts the number on the wire. A number outside the definition counts as a refusal.
    pub fn from_wire(number: i8) -> Self {
        match number {
            0 => Self::None,
            2 => Self::UnknownGoal,
            3 => Self::GoalTerminated,
            _ => Self::Rejected,
        }
    }
}

/// The wall time or simulation time of a server (`builtin_interfaces/Time`). Not [`crate::bt::Time`]: it comes from
/// another machine and is only compared with other stamps of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stamp {
    /// Nanoseconds since the epoch of that clock.
    pub nanoseconds: i64,
}

impl Stamp {
    /// The zero stamp: no particular time, in a cancel request.
    pub const ZERO: Self = Self { nanoseconds: 0 };

    /// Converts the two fields on the wire.
    pub fn from_parts(seconds: i32, nanoseconds: u32) -> Self {
        // Cannot overflow: 2^31 s is 2.1e18 ns, i64 holds 9.2e18.
        Self {
            nanoseconds: i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds),
        }
    }

    /// Returns the two fields on the wire. Seconds beyond 32 bits saturate.
    pub fn to_parts(self) -> (i32, u32) {
        let seconds = self.nanoseconds.div_euclid(1_000_000_000);
        let nanoseconds = self.nanoseconds.rem_euclid(1_000_000_000);
        let limit = if seconds < 0 { i32::MIN } else { i32::MAX };
        (
            i32::try_from(seconds).unwrap_or(limit),
            u32::try_from(nanoseconds).unwrap_or(0),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_action_msgs() {
        for status in [
            GoalStatus::Unknown,
            GoalStatus::Accepted,
            GoalStatus::Executing,
            GoalStatus::Canceling,
            GoalStatus::Succeeded,
            GoalStatus::Canceled,
            GoalStatus::Aborted,
        ] {
            assert_eq!(GoalStatus::from_wire(status as i8), status);
        }
        assert_eq!(GoalStatus::from_wire(-1), GoalStatus::Unknown);
        for code in 0..4 {
            assert_eq!(CancelCode::from_wire(code) as i8, code);
        }
        assert_eq!(CancelCode::from_wire(9), CancelCode::Rejected);
    }

    #[test]
    fn stamps_round_trip() {
        for parts in [(0, 0), (1, 2), (i32::MAX, 999_999_999), (-1, 5)] {
            assert_eq!(Stamp::from_parts(parts.0, parts.1).to_parts(), parts);
        }
    }
}
