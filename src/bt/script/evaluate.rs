//! Runs a program.

use super::ScriptError;
use super::operators::{self, Refusal};
use super::program::{ExpressionId, Operand, Place, Program, Step};
use crate::bt::blackboard::Blackboard;
use crate::bt::value::Value;
use crate::bt::{Enums, Time};

/// The error is boxed to keep results as small as values.
pub(super) type Evaluated = Result<Value, Box<ScriptError>>;

/// One evaluation.
pub(super) struct Evaluation<'e> {
    pub(super) program: &'e Program,
    pub(super) text: &'e str,
    pub(super) board: &'e mut Blackboard,
    pub(super) enums: &'e Enums,
    pub(super) now: Time,
}

#[cold]
pub(super) fn fault(message: Refusal, place: Place) -> Box<ScriptError> {
    Box::new(ScriptError {
        message,
        range: place.range(),
    })
}

impl Evaluation<'_> {
    /// Runs all statements in order and returns the value of the last.
    pub(super) fn run(&mut self) -> Evaluated {
        let program = self.program;
        let mut last = Value::Empty;
        for statement in &program.statements {
            last = self.expression(*statement)?;
        }
        Ok(last)
    }

    pub(super) fn expression(&mut self, id: ExpressionId) -> Evaluated {
        let program = self.program;
        let expression = &program.expressions[id.0 as usize];
        let mut value = self.operand(&expression.first)?;
        let mut links = expression.links.iter().peekable();
        while let Some(link) = links.next() {
            value = match &link.step {
                Step::Binary(operator, right) => {
                    let right = self.operand(right)?;
                    operators::binary(*operator, &value, &right)
                        .map_err(|message| fault(message, link.place))?
                }
                Step::Compare(operator, right) => {
                    let right = self.operand(right)?;
                    let holds = operators::compare(*operator, &value, &right, self.enums)
                        .map_err(|message| fault(message, link.place))?;
                    let chained = |link: &&super::program::Link| matches!(link.step, Step::Compare(..));
                    if !holds {
                        // Skip the rest of the chain.
                        while links.next_if(chained).is_some() {}
                        Value::Real(0.0)
                    } else if links.peek().is_some_and(chained) {
                        right
                    } else {
                        Value::Real(1.0)
                    }
                }
                Step::Choose(then, otherwise) => {
                    let chosen = operators::choice(&value).map_err(|message| fault(message, link.place))?;
                    self.expression(if chosen { *then } else { *otherwise })?
                }
            };
        }
        Ok(value)
    }

    #[inline]
    fn operand(&mut self, operand: &Operand) -> Evaluated {
        match operand {
            Operand::Literal(value) => Ok(value.clone()),
            Operand::Read(slot, place) => match self.board.get(*slot) {
                Some(value) => Ok(value.clone()),
                None if self.board.entry(*slot).exists() => Ok(Value::Empty),
                None => Err(self.missing(*place, "Variable not found", "write it first, or check its name")),
            },
            Operand::Prefix(operator, operand, place) => {
                let value = self.expression(*operand)?;
                operators::prefix(*operator, &value).map_err(|message| fault(message, *place))
            }
            Operand::Group(inner) => self.expression(*inner),
            Operand::Assign(operator, slot, value, place) => {
                let value = self.expression(*value)?;
                self.assign(*operator, *slot, value, *place)
            }
        }
    }

    #[cold]
    pub(super) fn missing(&self, place: Place, what: &str, help: &str) -> Box<ScriptError> {
        let name = self.text.get(place.range()).unwrap_or_default();
        fault(format!("{what}: `{name}` ({help})"), place)
    }
}
