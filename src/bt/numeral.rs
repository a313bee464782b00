//! Numbers and booleans as text, parsed like BehaviorTree.CPP's `from_chars`: text after a number is ignored.

use super::types::{Family, ObjectType, PortValue, TypeInfo};
use super::value::{List, Value};

/// The length in bytes of the whole number at the beginning, as BehaviorTree.CPP's `from_chars` reads it: `12abc` is
/// 12.
fn integer_end(text: &str) -> usize {
    let sign = usize::from(text.starts_with('-'));
    match digits(text, sign) {
        0 => 0,
        count => sign + count,
    }
}

/// The length in bytes of the decimal number at the beginning. Follows the grammar in one pass: trying shorter and
/// shorter prefixes takes hours for a malicious text.
fn real_end(text: &str) -> usize {
    let mut end = usize::from(text.starts_with('-'));
    let is_next = |end: usize, word: &str| {
        text.as_bytes()
            .get(end..end + word.len())
            .is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    if let Some(word) = ["infinity", "inf", "nan"]
        .into_iter()
        .find(|word| is_next(end, word))
    {
        return end + word.len();
    }
    let whole = digits(text, end);
    end += whole;
    let mut fraction = 0;
    if is_next(end, ".") {
        fraction = digits(text, end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if is_next(end, "e") {
        let sign = usize::from(is_next(end + 1, "+") || is_next(end + 1, "-"));
        let exponent = digits(text, end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

/// The number of digits at a place.
fn digits(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// The ignored text after the number of a literal, if any. For a list, the text after the first such element.
pub(crate) fn ignored<'t>(text: &'t str, info: &TypeInfo) -> Option<&'t str> {
    let element = [(List::<i64>::TYPE, i64::TYPE), (List::<f64>::TYPE, f64::TYPE)]
        .into_iter()
        .find(|(list, _)| *list == info);
    if let Some((_, element)) = element {
        return ignored_in_list(text, element);
    }
    let end = match info.family {
        Family::Integer { .. } => integer_end(text),
        Family::Real => real_end(text),
        _ => 0,
    };
    text.get(end..).filter(|rest| end > 0 && !rest.is_empty())
}

/// Like [`ignored`], for a list separated by semicolons.
pub(crate) fn ignored_in_list<'t>(text: &'t str, element: &TypeInfo) -> Option<&'t str> {
    if text.starts_with("json:") {
        return None;
    }
    text.split(';').find_map(|part| ignored(part, element))
}

pub(crate) fn parse_integer(text: &str, least: i128, greatest: i128) -> Result<i128, String> {
    let digits = &text[..integer_end(text)];
    let number: i128 = digits.parse().map_err(|_| match digits {
        "" => format!("`{text}` is not a whole number"),
        _ => format!("`{text}` is out of range ({least} to {greatest})"),
    })?;
    if number < least || number > greatest {
        return Err(format!("{number} is out of range ({least} to {greatest})"));
    }
    Ok(number)
}

pub(crate) fn parse_real(text: &str) -> Result<f64, String> {
    let end = real_end(text);
    match text[..end].parse::<f64>() {
        Ok(number) if number.is_infinite() && text[..end].ends_with(|last: char| last.is_ascii_digit()) => {
            Err(format!("`{text}` is too large for a number"))
        }
        Ok(number) => Ok(number),
        Err(_) => Err(format!("`{text}` is not a number")),
    }
}

/// The number of a text that is entirely a number.
pub(crate) fn whole_number(text: &str) -> Option<Value> {
    if !text.is_empty()
        && integer_end(text) == text.len()
        && let Ok(number) = text.parse()
    {
        return Some(Value::Int(number));
    }
    let real = parse_real(text).ok().filter(|_| real_end(text) == text.len());
    real.map(Value::Real)
}

pub(crate) fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("`{text}` is not a boolean (true, false, 1 or 0)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_a_number_is_found() {
        let rest = |text| ignored(text, <f64 as PortValue>::TYPE);
        assert_eq!(rest("1.5m"), Some("m"));
        assert_eq!((rest("1.5"), rest("m"), rest("-.5e3")), (None, None, None));
        let in_list = |text, info| ignored(text, info);
        let (whole, real) = (List::<i64>::TYPE, List::<f64>::TYPE);
        assert_eq!(in_list("1,2,3", whole), Some(",2,3"));
        assert_eq!(in_list("1;2.5;3", whole), Some(".5"));
        assert_eq!(in_list("1.5x;2", real), Some("x"));
        for (text, info) in [
            ("1;2;3;", whole),
            ("", whole),
            ("json:[1,2]", whole),
            ("1.5;2", real),
        ] {
            assert_eq!(in_list(text, info), None, "{text}");
        }
    }

    #[test]
    fn a_whole_number_has_no_text_around_it() {
        for (text, number) in [
            ("7", Some(Value::Int(7))),
            ("-7", Some(Value::Int(-7))),
            (
                "9223372036854775808",
                Some(Value::Real(9_223_372_036_854_775_808.0)),
            ),
            ("1e3", Some(Value::Real(1000.0))),
            ("-inf", Some(Value::Real(f64::NEG_INFINITY))),
            ("", None),
            ("+7", None),
            (" 7", None),
            ("7x", None),
            ("1;2", None),
            ("1e400", None),
        ] {
            assert_eq!(whole_number(text), number, "{text}");
        }
    }
}
