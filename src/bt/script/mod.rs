//! The scripting language of tree files, compiled once when the tree is.
//!
//! Three steps, one file each: text to tokens (`lexer`), tokens to a flat program with every name resolved to its
//! slot or its enumeration number (`parser`, `program`), program to value (`evaluate`, `assign`).

use std::ops::Range;

use super::blackboard::{Blackboard, SlotId};
use super::types::PortValue;
use super::value::Value;
use super::{Enums, Time};

mod assign;
mod evaluate;
mod lexer;
mod operators;
mod parser;
mod program;

use evaluate::Evaluation;
use parser::Parser;
use program::Program;

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
    /// The entry of a key. `range` is its place in the text.
    fn slot(&mut self, key: &str, access: Access, range: Range<usize>) -> SlotId;

    /// Every run of the script writes this literal to the entry. `range` is the place of the assignment in its text.
    fn assigns(&mut self, _slot: SlotId, _literal: &Value, _range: Range<usize>) {}

    /// Every run of the script calculates with the entry, or compares it. `range` is the place of the operation.
    fn calculates(&mut self, _slot: SlotId, _operator: &'static str, _range: Range<usize>) {}
}

/// What the value of a script's last expression is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptResult {
    /// Nothing: the script is run for what it assigns.
    Ignored,
    /// A condition: true or false.
    Truth,
    /// A number, as of a priority.
    Number,
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

/// A compiled script. Evaluating one that computes numbers does not allocate.
#[derive(Debug, Clone)]
pub struct Script {
    text: Box<str>,
    program: Program,
}

impl Script {
    /// Compiles a script: names become slots, enumeration names and whatever else is constant become values.
    ///
    /// # Errors
    /// [`ScriptError`] where the text is no script, or where it is one that must fail whenever it is evaluated
    /// (text minus a number, an assignment to something that is no name).
    pub fn compile(text: &str, enums: &Enums, names: &mut dyn Names) -> Result<Self, ScriptError> {
        let program = Parser::new(text, enums, names)?.script()?;
        Ok(Self {
            text: text.into(),
            program,
        })
    }

    /// Why its value can never be what it is for: a constant that is none.
    pub(crate) fn mismatch(&self, result: ScriptResult) -> Option<String> {
        let last = self.program.statements.last()?;
        let value = self.program.expressions.get(last.0 as usize)?.literal()?;
        match result {
            ScriptResult::Ignored => None,
            ScriptResult::Truth => operators::truth(value).err(),
            ScriptResult::Number => f64::from_value(value).err(),
        }
    }

    /// Runs it; the value of its last expression. What it assigned before it failed stays assigned.
    ///
    /// # Errors
    /// [`ScriptError`].
    pub fn evaluate(&self, board: &mut Blackboard, enums: &Enums, now: Time) -> Result<Value, ScriptError> {
        let mut evaluation = Evaluation {
            program: &self.program,
            text: &self.text,
            board,
            enums,
            now,
        };
        evaluation.run().map_err(|fault| self.error(*fault))
    }

    /// Runs it as a condition: the last value as a boolean. Integers are booleans when they are 0 or 1, other
    /// numbers when they are not negative; text is none.
    ///
    /// # Errors
    /// [`ScriptError`].
    pub fn test(&self, board: &mut Blackboard, enums: &Enums, now: Time) -> Result<bool, ScriptError> {
        let value = self.evaluate(board, enums, now)?;
        operators::truth(&value).map_err(|message| {
            self.error(ScriptError {
                message: format!("the result of a condition must be true or false: {message}"),
                range: 0..self.text.len(),
            })
        })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// An error at run time says in which script: its place in the file may be far from where it is read.
    #[cold]
    fn error(&self, mut error: ScriptError) -> ScriptError {
        const MOST_SHOWN: usize = 120;
        let mut shown: String = self.text.chars().take(MOST_SHOWN).collect();
        if shown.len() < self.text.len() {
            shown.push('…');
        }
        error.message = format!("{} (in the script \"{shown}\")", error.message);
        error
    }
}

#[cfg(test)]
mod tests;
