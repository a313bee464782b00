//! `diagnostic_msgs`: the status reports of a node.

use serde::{Deserialize, Serialize};

use super::declare::messages;
use super::header::Header;

messages! {
    diagnostic_msgs

    /// The statuses of several parts of a node.
    #[derive(Eq)]
    struct DiagnosticArray {
        /// The time of sending. There is no frame.
        header: Header,
        /// One entry per part.
        status: Vec<DiagnosticStatus>,
    }

    /// The status of one part.
    #[derive(Eq)]
    struct DiagnosticStatus {
        /// The level.
        level: DiagnosticLevel,
        /// Node and part: `navtree: ticks`.
        name: String,
        /// A summary in one sentence.
        message: String,
        /// Distinguishes several parts with the same name.
        hardware_id: String,
        /// Details as key-value pairs.
        values: Vec<KeyValue>,
    }

    /// A value with its name.
    #[derive(Eq)]
    struct KeyValue {
        /// The name.
        key: String,
        /// The value.
        value: String,
    }
}

/// The level of a status, with the numbers of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum DiagnosticLevel {
    /// No problem.
    #[default]
    Ok = 0,
    /// A problem; the robot can continue.
    Warn = 1,
    /// A problem that needs attention by a person.
    Error = 2,
    /// No current information.
    Stale = 3,
}

impl DiagnosticLevel {
    /// Converts the number on the wire. A number outside the definition is [`DiagnosticLevel::Stale`].
    pub fn from_wire(number: u8) -> Self {
        match number {
            0 => Self::Ok,
            1 => Self::Warn,
            2 => Self::Error,
            _ => Self::Stale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DiagnosticLevel as Level;

    #[test]
    fn numbers_are_those_of_diagnostic_msgs() {
        for level in [Level::Ok, Level::Warn, Level::Error, Level::Stale] {
            assert_eq!(Level::from_wire(level as u8), level);
        }
        assert_eq!(Level::from_wire(9), Level::Stale);
        assert!(Level::Ok < Level::Warn && Level::Warn < Level::Error);
    }
}
