//! `diagnostic_msgs`: how a node says how it is.

use serde::{Deserialize, Serialize};

use super::header::Header;

/// How some parts of a node are.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiagnosticArray {
    /// When it was sent; there is no frame.
    pub header: Header,
    /// One entry a part.
    pub status: Vec<DiagnosticStatus>,
}

/// How one part is.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiagnosticStatus {
    /// How bad it is.
    pub level: DiagnosticLevel,
    /// Node and part: `navtree: ticks`.
    pub name: String,
    /// In a sentence.
    pub message: String,
    /// What tells several of the same name apart.
    pub hardware_id: String,
    /// In figures.
    pub values: Vec<KeyValue>,
}

/// How bad it is, by the numbers of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum DiagnosticLevel {
    /// As it should be.
    #[default]
    Ok = 0,
    /// Not as it should be; the robot gets along.
    Warn = 1,
    /// Somebody has to look.
    Error = 2,
    /// Not known any more.
    Stale = 3,
}

impl DiagnosticLevel {
    /// From the number on the wire; one outside the definition says nothing that could be relied on.
    pub fn from_wire(number: u8) -> Self {
        match number {
            0 => Self::Ok,
            1 => Self::Warn,
            2 => Self::Error,
            _ => Self::Stale,
        }
    }
}

/// A figure with its name.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyValue {
    /// The name.
    pub key: String,
    /// The figure.
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
