//! The condition of one part.

use std::fmt::Display;

use crate::msg::{DiagnosticLevel, KeyValue};

/// The condition of one part, without its name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Condition {
    pub(super) level: DiagnosticLevel,
    pub(super) message: String,
    pub(super) values: Vec<KeyValue>,
}

impl Condition {
    /// Creates a condition with level OK.
    pub(super) fn ok(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Adds a problem. The worst problem gives the message; of equal ones, the first.
    pub(super) fn find(&mut self, level: DiagnosticLevel, message: impl Into<String>) {
        if level > self.level {
            (self.level, self.message) = (level, message.into());
        }
    }

    /// Adds a value.
    pub(super) fn value(&mut self, key: impl Into<String>, value: impl Display) {
        self.values.push(KeyValue {
            key: key.into(),
            value: value.to_string(),
        });
    }
}
