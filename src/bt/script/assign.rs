//! Assigns values to entries.

use super::ScriptError;
use super::evaluate::{Evaluated, Evaluation, fault};
use super::operators::{self, Refusal, described};
use super::program::{AssignOperator, Place};
use crate::bt::Enums;
use crate::bt::blackboard::{Entry, SlotId, convert};
use crate::bt::types::{Family, PortValue};
use crate::bt::value::Value;

impl Evaluation<'_> {
    /// Writes an entry and returns its new value. `place` is the place of the name.
    pub(super) fn assign(
        &mut self,
        operator: AssignOperator,
        slot: SlotId,
        value: Value,
        place: Place,
    ) -> Evaluated {
        let entry = self.board.entry(slot);
        if operator != AssignOperator::Create && !entry.exists() {
            return Err(self.missing(place, "there is no such entry", "use := to create it"));
        }
        let refused = |message: Refusal| -> Box<ScriptError> {
            let name = self.text.get(place.range()).unwrap_or_default();
            fault(format!("`{name}` {} …: {message}", operator.symbol()), place)
        };
        operators::initialized(&value, "right", operator.symbol()).map_err(refused)?;
        let value = match operator {
            AssignOperator::Create | AssignOperator::Existing => fitted(entry, value, self.enums),
            _ => combined(operator, entry, &value).and_then(|value| copied(entry, value, self.enums)),
        }
        .map_err(refused)?;
        self.board.put(slot, value.clone(), self.now);
        Ok(value)
    }
}

/// The result of `+=`, `-=` and the like, before it is converted to the entry's type.
fn combined(operator: AssignOperator, entry: &Entry, value: &Value) -> Result<Value, Refusal> {
    let Some(before) = entry.value() else {
        return Err("it has no value yet: assign one with = first".to_owned());
    };
    if let Value::Text(_) = value {
        if operator != AssignOperator::Add {
            return Err("of these operators, text supports += only".to_owned());
        }
        return operators::joined(before, value);
    }
    let (before, value) = (operators::number(before)?, operators::number(value)?);
    Ok(Value::Real(match operator {
        AssignOperator::Subtract => before - value,
        AssignOperator::Multiply => before * value,
        AssignOperator::Divide => before / value,
        AssignOperator::Add | AssignOperator::Create | AssignOperator::Existing => before + value,
    }))
}

/// The value for `:=` and `=`. A text is parsed by the type of the entry, or becomes a number if an untyped entry holds
/// one.
fn fitted(entry: &Entry, value: Value, enums: &Enums) -> Result<Value, Refusal> {
    let strong = entry.info().filter(|info| info.is_strong());
    let before = entry.value();
    if let (Value::Text(text), false) = (&value, matches!(before, Some(Value::Text(_)))) {
        return match (strong, before) {
            (Some(info), _) => (info.parse)(text, enums),
            (None, None) => Ok(value),
            (None, Some(before)) if operators::is_number(before) => {
                operators::number_in_text(text, enums).map(Value::Real)
            }
            (None, Some(before)) => Err(format!(
                "it holds {}, and text does not convert to it",
                described(before)
            )),
        };
    }
    copied(entry, value, enums)
}

/// Converts a value without loss to the type of the entry or of its current value.
fn copied(entry: &Entry, value: Value, enums: &Enums) -> Result<Value, Refusal> {
    let number = operators::is_number(&value);
    let strong = entry.info().filter(|info| info.is_strong());
    match (entry.value(), strong) {
        // An entry declared as text stores a number first and converts it to text when it is read.
        (None, None) => Ok(value),
        (None, Some(info)) if number && info.family == Family::Text => Ok(value),
        // The first number of an entry may have any type; a port that cannot read it reports an error. A double stays a
        // double.
        (None, Some(info)) if number && info.family == Family::Real => {
            Ok(convert(&value, f64::TYPE, info, enums).unwrap_or(value))
        }
        (None, Some(info)) if number && info.is_numeric() => Ok(value),
        (Some(Value::Text(_)), _) => match value {
            Value::Text(_) => Ok(value),
            other => Err(format!(
                "it holds text and cannot hold {}; '' .. x converts a number to text",
                described(&other)
            )),
        },
        (Some(before), Some(info))
            if operators::is_number(before) && number && info.family != Family::Real =>
        {
            number_like(before, &value, enums)
        }
        (_, Some(info)) => {
            let from = match &value {
                Value::Int(_) => i64::TYPE,
                Value::UInt(_) => u64::TYPE,
                Value::Real(_) => f64::TYPE,
                Value::Text(_) => <crate::bt::Text as PortValue>::TYPE,
                Value::Object(object) if object.info() == info => return Ok(value),
                Value::Object(object) => object.info(),
                Value::Empty => return Ok(value),
            };
            if let (Value::Text(_), true) = (&value, info.family != Family::Text) {
                return Err(format!("it is of type {} and cannot hold text here", info.name));
            }
            convert(&value, from, info, enums).map_err(|clash| {
                format!(
                    "it is of type {} and cannot hold {}: {}",
                    info.name,
                    described(&value),
                    clash.reason
                )
            })
        }
        (Some(before), None) if operators::is_number(before) && number => number_like(before, &value, enums),
        (Some(Value::Object(before)), None) => match &value {
            Value::Object(object) if object.info() == before.info() => Ok(value),
            other => Err(format!(
                "it holds {} and cannot hold {}",
                before.info().name,
                described(other)
            )),
        },
        (Some(before), None) => Err(format!(
            "it holds {} and cannot hold {}",
            described(before),
            described(&value)
        )),
    }
}

/// Converts a number to the form of the previous one.
fn number_like(before: &Value, value: &Value, enums: &Enums) -> Result<Value, Refusal> {
    let into = match before {
        Value::Int(_) => i64::TYPE,
        Value::UInt(_) => u64::TYPE,
        _ => f64::TYPE,
    };
    convert(value, f64::TYPE, into, enums).map_err(|clash| match before {
        Value::Real(_) => clash.reason,
        _ => format!(
            "it holds an integer and cannot hold {}; initialize it with 0.0 to allow fractions",
            described(value)
        ),
    })
}
