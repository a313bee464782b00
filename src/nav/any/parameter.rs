//! `rcl_interfaces/ParameterValue` as JSON.

use serde_json::{Value as JsonValue, json};

/// The kinds of parameter, with their numbers and fields.
const KINDS: &[(&str, u8, &str)] = &[
    ("bool", 1, "bool_value"),
    ("integer", 2, "integer_value"),
    ("double", 3, "double_value"),
    ("string", 4, "string_value"),
    ("byte_array", 5, "byte_array_value"),
    ("bool_array", 6, "bool_array_value"),
    ("integer_array", 7, "integer_array_value"),
    ("double_array", 8, "double_array_value"),
    ("string_array", 9, "string_array_value"),
];

/// The names of the kinds, for messages.
pub(super) fn kinds() -> String {
    let names: Vec<&str> = KINDS.iter().map(|(name, ..)| *name).collect();
    names.join(", ")
}

/// Whether this kind exists.
pub(super) fn is_kind(name: &str) -> bool {
    KINDS.iter().any(|(kind, ..)| *kind == name)
}

/// An example JSON value of a parameter kind; `Null` for an unknown kind.
pub(super) fn like(kind: &str) -> JsonValue {
    match kind {
        "bool" => json!(false),
        "integer" => json!(0),
        "double" => json!(0.0),
        "string" => json!(""),
        "byte_array" | "integer_array" => json!([0]),
        "bool_array" => json!([false]),
        "double_array" => json!([0.0]),
        "string_array" => json!([""]),
        _ => JsonValue::Null,
    }
}

/// The kind of a JSON value.
fn kind_of(value: &JsonValue) -> Option<&'static str> {
    Some(match value {
        JsonValue::Bool(_) => "bool",
        JsonValue::Number(number) if number.is_f64() => "double",
        JsonValue::Number(_) => "integer",
        JsonValue::String(_) => "string",
        JsonValue::Array(items) => match items.first()? {
            JsonValue::Bool(_) => "bool_array",
            JsonValue::Number(_) if items.iter().any(JsonValue::is_f64) => "double_array",
            JsonValue::Number(_) => "integer_array",
            JsonValue::String(_) => "string_array",
            _ => return None,
        },
        JsonValue::Null | JsonValue::Object(_) => return None,
    })
}

/// The message for a value, with the given kind if there is one.
pub(super) fn to_message(value: &JsonValue, kind: Option<&str>) -> Result<JsonValue, String> {
    let kind = match kind.filter(|kind| !kind.is_empty()) {
        Some(kind) => kind,
        None => kind_of(value).ok_or_else(|| format!("{value} is not a valid parameter value"))?,
    };
    let mut message = json!({
        "type": 0, "bool_value": false, "integer_value": 0, "double_value": 0.0, "string_value": "",
        "byte_array_value": [], "bool_array_value": [], "integer_array_value": [], "double_array_value": [],
        "string_array_value": []
    });
    let (_, number, field) = KINDS
        .iter()
        .find(|(name, ..)| *name == kind)
        .ok_or_else(|| format!("`{kind}` is not one of {}", kinds()))?;
    message["type"] = (*number).into();
    message[*field] = value.clone();
    Ok(message)
}

/// The value of a message; `None` if the parameter is not set.
pub(super) fn from_message(message: &JsonValue) -> Option<&JsonValue> {
    let number = message.get("type")?.as_u64()?;
    let (_, _, field) = KINDS.iter().find(|(_, kind, _)| u64::from(*kind) == number)?;
    message.get(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip_with_their_kinds() {
        for (value, number) in [
            (json!(true), 1),
            (json!(3), 2),
            (json!(0.5), 3),
            (json!("x"), 4),
            (json!([true]), 6),
            (json!([1, 2]), 7),
            (json!([1, 2.5]), 8),
            (json!(["a"]), 9),
        ] {
            let message = to_message(&value, None).unwrap();
            assert_eq!(message["type"], number);
            assert_eq!(from_message(&message), Some(&value));
        }
        assert_eq!(to_message(&json!(3), Some("double")).unwrap()["type"], 3);
        assert!(to_message(&json!({}), None).is_err());
        assert!(
            to_message(&json!(3), Some("float"))
                .unwrap_err()
                .contains("double")
        );
        assert_eq!(from_message(&json!({"type": 0})), None);
    }
}
