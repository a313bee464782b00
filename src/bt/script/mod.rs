//! The scripting language of tree files (`spec/btcpp.md` 3), compiled once when the tree is.

use std::ops::Range;

use super::blackboard::{Blackboard, SlotId};
use super::value::Value;
use super::{Enums, Time};

/// How a script uses a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes it, and makes it where it does not exist (`:=`).
    Create,
    /// Writes it where it exists (`=`, `+=`, …).
    Assign,
}

/// Resolves the names in a script to entries, while it is compiled.
pub trait Names {
    /// The entry of a key.
    fn slot(&mut self, key: &str, access: Access) -> SlotId;
}

/// What is wrong with a script, and where in its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// Why, and what to do.
    pub message: String,
    /// Bytes of the script's text.
    pub range: Range<usize>,
}

/// A compiled script.
#[derive(Debug, Clone)]
pub struct Script {
    text: Box<str>,
}

impl Script {
    /// Compiles a script.
    ///
    /// # Errors
    /// [`ScriptError`].
    pub fn compile(text: &str, _enums: &Enums, _names: &mut dyn Names) -> Result<Self, ScriptError> {
        Ok(Self { text: text.into() })
    }

    /// Runs it; the value of its last expression.
    ///
    /// # Errors
    /// [`ScriptError`].
    pub fn evaluate(&self, _: &mut Blackboard, _: &Enums, _: Time) -> Result<Value, ScriptError> {
        Err(ScriptError {
            message: "scripts are not evaluated yet".to_owned(),
            range: 0..self.text.len(),
        })
    }

    /// Runs it as a condition.
    ///
    /// # Errors
    /// [`ScriptError`].
    pub fn test(&self, board: &mut Blackboard, enums: &Enums, now: Time) -> Result<bool, ScriptError> {
        self.evaluate(board, enums, now).map(|_| false)
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }
}
