//! What every part says of itself.

use std::fmt::Display;

use crate::msg::{DiagnosticLevel, KeyValue};

/// How one part is, before it has its name.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Condition {
    pub(super) level: DiagnosticLevel,
    pub(super) message: String,
    pub(super) values: Vec<KeyValue>,
}

impl Condition {
    /// As it should be, until somebody finds otherwise.
    pub(super) fn ok(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Finds it at least so bad; the worst finding is the message, of equals the first.
    pub(super) fn find(&mut self, level: DiagnosticLevel, message: impl Into<String>) {
        if level > self.level {
            (self.level, self.message) = (level, message.into());
        }
    }

    /// Adds a figure.
    pub(super) fn value(&mut self, key: impl Into<String>, value: impl Display) {
        self.values.push(KeyValue {
            key: key.into(),
            value: value.to_string(),
        });
    }
}
