//! `diagnostic_msgs`: the status reports of a node.

use serde::{Deserialize, Serialize};

use super::header::Header;

/// The statuses of several parts of a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiagnosticArray {
    /// The time of sending. There is no frame.
    pub header: Header,
    /// One entry per part.
    pub status: Vec<DiagnosticStatus>,
}

/// The status of one part.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiagnosticStatus {
    /// The level.
    pub level: DiagnosticLevel,
    /// Node and part: `navtree: ticks`.
    pub name: String,
    /// A summary in one sentence.
    pub message: String,
    /// Distinguishes several parts with the same name.
    pub hardware_id: String,
    /// Details as key-value pairs.
    pub values: Vec<KeyValue>,
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

/// A value with its name.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyValue {
    /// The name.
    pub key: String,
    /// The value.
    pub value: String,
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
