//! The scripting language of tree files. Scripts are compiled once, with the tree.
//!
//! There are three steps: text to tokens (`lexer`), tokens to a flat program with every name resolved to its slot or
//! its enumeration number (`parser`, `program`), and program to value (`evaluate`, `assign`).

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
mod term;

use evaluate::Evaluation;
use parser::Parser;
use program::{NumberComparison, Program};

/// The access of a script to a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes the key and creates it if it does not exist (`:=`).
    Create,
    /// Writes an existing key (`=`, `+=`, …).
    Assign,
}

/// Resolves the names of a script to entries during compilation.
pub trait Names {
    /// The entry of a key. `range` is its place in the text.
    fn slot(&mut self, key: &str, access: Access, range: Range<usize>) -> SlotId;

    /// Reports that every run of the script writes this literal to the entry. `range` is the place of the assignment.
    fn assigns(&mut self, _slot: SlotId, _literal: &Value, _range: Range<usize>) {}

    /// Reports that every run of the script calculates with the entry or compares it. `range` is the place of the
    /// operation.
    fn calculates(&mut self, _slot: SlotId, _operator: &'static str, _range: Range<usize>) {}

    /// Reports the first place `range` of a form that only earlier versions of BehaviorTree.CPP take.
    fn outdated(&mut self, _form: Outdated, _range: Range<usize>) {}
}

/// A form that only earlier versions of BehaviorTree.CPP take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outdated {
    /// A `\` before the end of a line.
    LineContinuation,
    /// A text in double quotes.
    DoubleQuotes,
}

/// The use of the value of a script's last expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptResult {
    /// Not used: the script is run for its assignments.
    Ignored,
    /// A condition.
    Truth,
    /// A number, for example a priority.
    Number,
}

/// An error in a script, with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// The reason, and what to do.
    pub message: String,
    /// The byte range in the script's text.
    pub range: Range<usize>,
}

/// A compiled script. The evaluation of a numeric script does not allocate.
#[derive(Debug, Clone)]
pub struct Script {
    text: Box<str>,
    program: Program,
    /// Evaluated in place of the program, which would copy both values.
    number_comparison: Option<NumberComparison>,
}

impl Script {
    /// Compiles a script. Names become slots; enumeration names and other constants become values.
    ///
    /// # Errors
    /// [`ScriptError`] if the text is not a valid script, or if the script always fails (a text minus a number, an
    /// assignment to something other than a name).
    pub fn compile(text: &str, enums: &Enums, names: &mut dyn Names) -> Result<Self, ScriptError> {
        let program = Parser::new(text, enums, names)?.script()?;
        Ok(Self {
            text: text.into(),
            number_comparison: program.number_comparison(),
            program,
        })
    }

    /// The reason why a constant result does not fit its use.
    pub(crate) fn mismatch(&self, result: ScriptResult) -> Option<String> {
        let last = self.program.statements.last()?;
        let value = self.program.expressions.get(last.0 as usize)?.literal()?;
        match result {
            ScriptResult::Ignored => None,
            ScriptResult::Truth => operators::truth(value).err(),
            ScriptResult::Number => f64::from_value(value).err(),
        }
    }

    /// Runs the script and returns the value of its last expression. Assignments before an error remain.
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

    /// Runs the script as a condition and returns its last value as a boolean. An integer is a boolean if it is 0 or 1;
    /// any other number if it is not negative; a text is not.
    ///
    /// # Errors
    /// [`ScriptError`].
    pub fn test(&self, board: &mut Blackboard, enums: &Enums, now: Time) -> Result<bool, ScriptError> {
        if let Some(comparison) = &self.number_comparison
            && let Some(holds) = comparison.evaluate(board)
        {
            return Ok(holds);
        }
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

    /// Adds the text of the script to a run-time error, because the error may be reported far from the script.
    #[cold]
    fn error(&self, mut error: ScriptError) -> ScriptError {
        const MAX_SHOWN: usize = 120;
        let mut shown: String = self.text.chars().take(MAX_SHOWN).collect();
        if shown.len() < self.text.len() {
            shown.push('…');
        }
        error.message = format!("{} (in the script \"{shown}\")", error.message);
        error
    }
}

#[cfg(test)]
mod tests;
