//! Applies operators to values, at run time and to constants during compilation.

use std::cmp::Ordering;
use std::sync::Arc;

use super::program::{Binary, Comparison, Prefix};
use crate::bt::Enums;
use crate::bt::numeral;
use crate::bt::value::Value;

/// The reason why an operator does not apply.
pub(super) type Refusal = String;

/// From this value on, doubles do not represent every integer.
const EXACT: u64 = 1 << 53;
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

pub(super) fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::UInt(_) | Value::Real(_))
}

/// A number as a double; all arithmetic uses doubles.
#[inline]
pub(super) fn number(value: &Value) -> Result<f64, Refusal> {
    match value {
        Value::Real(number) => Ok(*number),
        Value::Int(number) if number.unsigned_abs() < EXACT => Ok(*number as f64),
        Value::UInt(number) if *number < EXACT => Ok(*number as f64),
        Value::Int(_) | Value::UInt(_) => Err(format!(
            "{value:?} is too large for arithmetic: integers are exact only up to 2^53"
        )),
        other => Err(format!("{} is not a number", described(other))),
    }
}

/// The number of a text: `true`, `false`, an enumeration name, or digits.
pub(super) fn number_in_text(text: &str, enums: &Enums) -> Result<f64, Refusal> {
    match text {
        "true" => Ok(1.0),
        "false" => Ok(0.0),
        _ => match enums.get(text) {
            Some(number) => Ok(number as f64),
            None => numeral::parse_real(text),
        },
    }
}

/// The boolean of a value.
#[inline]
pub(super) fn truth(value: &Value) -> Result<bool, Refusal> {
    match value {
        Value::Int(0) | Value::UInt(0) => Ok(false),
        Value::Int(1) | Value::UInt(1) => Ok(true),
        Value::Real(number) if *number >= 0.0 => Ok(*number != 0.0),
        Value::Real(number) => Err(format!(
            "{number} is not a boolean: only numbers from 0 upwards are; write a comparison"
        )),
        Value::Int(_) | Value::UInt(_) => Err(format!(
            "the integer {value:?} is not a boolean: only 0 and 1 are; write a comparison"
        )),
        other => Err(format!(
            "{} is not a boolean: write a comparison",
            described(other)
        )),
    }
}

/// The exact integer of a number.
fn integer(value: &Value) -> Result<i64, Refusal> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::UInt(number) => {
            i64::try_from(*number).map_err(|_| format!("{number} does not fit a signed integer of 64 bits"))
        }
        Value::Real(number) if number.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(number) => {
            Ok(*number as i64)
        }
        other => Err(format!(
            "bit operators need whole numbers, and {other:?} is not one"
        )),
    }
}

/// A number as text, in the formats `%f` and `%d` of C.
pub(super) fn written(value: &Value) -> Result<Arc<str>, Refusal> {
    Ok(match value {
        Value::Text(text) => Arc::clone(text),
        Value::Int(number) => number.to_string().into(),
        Value::UInt(number) => number.to_string().into(),
        Value::Real(number) if number.is_nan() => "nan".into(),
        Value::Real(number) => format!("{number:.6}").into(),
        other => return Err(format!("{} cannot be written as text", described(other))),
    })
}

/// Maximum length of a text that a script may create, in bytes. Without a limit, `s += s` uses all memory within thirty
/// ticks. (BehaviorTree.CPP's small strings end at 100 MB.)
pub(super) const MAX_TEXT: usize = 16 * 1024 * 1024;

/// Joins two values to one text.
pub(super) fn joined(left: &Value, right: &Value) -> Result<Value, Refusal> {
    let (left, right) = (written(left)?, written(right)?);
    let length = left.len().saturating_add(right.len());
    if length > MAX_TEXT {
        return Err(format!(
            "the text would have {length} bytes; the maximum is {MAX_TEXT}"
        ));
    }
    let mut text = String::with_capacity(length);
    text.push_str(&left);
    text.push_str(&right);
    Ok(Value::text(text))
}

/// A description of a value for messages.
pub(super) fn described(value: &Value) -> String {
    /// Maximum number of characters of a text in a message.
    const MAX_SHOWN: usize = 120;
    match value {
        Value::Empty => "something without a value".to_owned(),
        Value::Text(text) => match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("the text `{}…`", &text[..end]),
            None => format!("the text `{text}`"),
        },
        Value::Object(object) => format!("an object ({})", object.info().name),
        other => format!("{other:?}"),
    }
}

pub(super) fn initialized(value: &Value, side: &str, operator: &str) -> Result<(), Refusal> {
    if value.is_empty() {
        return Err(format!(
            "the {side} operand of `{operator}` is not initialized: write it before this script runs"
        ));
    }
    Ok(())
}

#[inline]
pub(super) fn binary(operator: Binary, left: &Value, right: &Value) -> Result<Value, Refusal> {
    if is_number(left) && is_number(right) {
        return numbers(operator, left, right);
    }
    mixed(operator, left, right)
}

#[inline]
fn numbers(operator: Binary, left: &Value, right: &Value) -> Result<Value, Refusal> {
    // All arithmetic uses doubles, including bit operations. An integer that is not exact as a double is refused.
    let bits = |apply: fn(i64, i64) -> i64| -> Result<Value, Refusal> {
        number(left).and(number(right))?;
        Ok(Value::Real(apply(integer(left)?, integer(right)?) as f64))
    };
    Ok(Value::Real(match operator {
        Binary::Add => number(left)? + number(right)?,
        Binary::Subtract => number(left)? - number(right)?,
        Binary::Multiply => number(left)? * number(right)?,
        Binary::Divide => number(left)? / number(right)?,
        Binary::BitAnd => return bits(|a, b| a & b),
        Binary::BitOr => return bits(|a, b| a | b),
        Binary::BitXor => return bits(|a, b| a ^ b),
        // Both sides are always checked: a side that is not a boolean is an error even if the other side decides.
        Binary::And => f64::from(u8::from(truth(left)? & truth(right)?)),
        Binary::Or => f64::from(u8::from(truth(left)? | truth(right)?)),
        // BehaviorTree.CPP's result for two numbers: an empty value, which fails when it is used.
        Binary::Concatenate => return number(left).and(number(right)).map(|_| Value::Empty),
    }))
}

fn mixed(operator: Binary, left: &Value, right: &Value) -> Result<Value, Refusal> {
    initialized(left, "left", operator.symbol())?;
    initialized(right, "right", operator.symbol())?;
    let texts = matches!((left, right), (Value::Text(_), Value::Text(_)));
    let joinable = |value: &Value| is_number(value) || matches!(value, Value::Text(_));
    match operator {
        Binary::Add if texts => joined(left, right),
        Binary::Concatenate if joinable(left) && joinable(right) => joined(left, right),
        _ => {
            let help = match operator {
                Binary::Add => "; use `..` to join text and numbers",
                Binary::And | Binary::Or => "; write a comparison",
                _ => "",
            };
            Err(format!(
                "`{}` does not apply to {} and {}{help}",
                operator.symbol(),
                described(left),
                described(right)
            ))
        }
    }
}

#[inline]
pub(super) fn compare(
    operator: Comparison,
    left: &Value,
    right: &Value,
    enums: &Enums,
) -> Result<bool, Refusal> {
    match (left, right) {
        (Value::Text(left), Value::Text(right)) => Ok(holds(operator, left.as_bytes().cmp(right.as_bytes()))),
        (Value::Text(text), other) if is_number(other) => Ok(compare_numbers(
            operator,
            number_in_text(text, enums)?,
            number(other)?,
        )),
        (other, Value::Text(text)) if is_number(other) => Ok(compare_numbers(
            operator,
            number(other)?,
            number_in_text(text, enums)?,
        )),
        _ if is_number(left) && is_number(right) => {
            Ok(compare_numbers(operator, number(left)?, number(right)?))
        }
        _ => {
            initialized(left, "left", "comparison")?;
            initialized(right, "right", "comparison")?;
            Err(format!(
                "{} and {} are of different types and cannot be compared",
                described(left),
                described(right)
            ))
        }
    }
}

#[inline]
#[allow(clippy::neg_cmp_op_on_partial_ord)]
pub(super) fn compare_numbers(operator: Comparison, left: f64, right: f64) -> bool {
    // Equality tolerates the precision of a float; the order does not. Each order is computed as the negation of its
    // opposite, so it is true for NaN, as in BehaviorTree.CPP.
    let same = || (left - right).abs() <= f64::from(f32::EPSILON);
    match operator {
        Comparison::Equal => same(),
        Comparison::NotEqual => !same(),
        Comparison::Less => !(left >= right),
        Comparison::LessOrEqual => !(left > right),
        Comparison::Greater => !(left <= right),
        Comparison::GreaterOrEqual => !(left < right),
    }
}

fn holds(operator: Comparison, ordering: Ordering) -> bool {
    match operator {
        Comparison::Equal => ordering.is_eq(),
        Comparison::NotEqual => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    }
}

pub(super) fn prefix(operator: Prefix, value: &Value) -> Result<Value, Refusal> {
    if !is_number(value) {
        initialized(value, "only", operator.symbol())?;
        return Err(format!(
            "`{}` does not apply to {}",
            operator.symbol(),
            described(value)
        ));
    }
    let number = number(value)?;
    Ok(Value::Real(match operator {
        Prefix::Negate => -number,
        Prefix::Not => f64::from(u8::from(number == 0.0)),
        Prefix::Complement if (-TWO_TO_63..=TWO_TO_63).contains(&number) => !(number as i64) as f64,
        Prefix::Complement => return Err(format!("`~` does not apply to {number}: it does not fit 64 bits")),
    }))
}

/// The condition of `?:`, which accepts more than other conditions: any number, also as text, and any other text that
/// is not empty.
pub(super) fn choice(value: &Value) -> Result<bool, Refusal> {
    match value {
        Value::Text(text) if !text.is_empty() => Ok(numeral::parse_real(text) != Ok(0.0)),
        Value::Text(_) => Err("an empty text is not a condition: compare it with ''".to_owned()),
        other => {
            initialized(other, "left", "?")?;
            Ok(number(other)? != 0.0)
        }
    }
}
