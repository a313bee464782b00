//! Strict reading of `json:` texts: every written field must be a field of the message.
//!
//! A misspelt field that is read as its default would send a robot to (0, 0). A missing field gets its default, as in
//! the interfaces. The check compares the text with the message when written back, so it does not need to know any
//! type. serde's `deny_unknown_fields` was rejected: the interfaces have fields that the plain structs omit, and its
//! error message has no path.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as JsonValue;

/// The name of the type field that the export adds to outermost objects.
const TYPE: &str = "__type";

/// Reads a message from the text after `json:`. `type_name` is its exported name (`nav_msgs::msg::Path`), or that of
/// the items of a list. `left_out` lists the fields of the interface that the message omits.
///
/// # Errors
/// A sentence with the path of the faulty field.
pub(crate) fn read<T: DeserializeOwned + Serialize>(
    text: &str,
    type_name: &str,
    left_out: &[&str],
) -> Result<T, String> {
    let given: JsonValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    refuse_zero_bytes(&given)?;
    match &given {
        JsonValue::Array(items) => items.iter().try_for_each(|item| is_of_type(item, type_name))?,
        other => is_of_type(other, type_name)?,
    }
    let message = T::deserialize(&given).map_err(|error| error.to_string())?;
    let written = serde_json::to_value(&message).map_err(|error| error.to_string())?;
    compare(&given, &written, left_out, &mut String::new())?;
    Ok(message)
}

/// Refuses texts with a zero byte. ROS strings end at their first zero byte, and r2r panics on them.
///
/// # Errors
/// A sentence with the path of the text.
pub(crate) fn refuse_zero_bytes(value: &JsonValue) -> Result<(), String> {
    let Some(path) = zero_byte(value) else {
        return Ok(());
    };
    let path: String = path.into_iter().rev().collect();
    let path = path.trim_start_matches('.');
    let place = if path.is_empty() {
        String::new()
    } else {
        format!("`{path}`: ")
    };
    Err(format!("{place}{ZERO_BYTE}"))
}

/// The error message for a text with a zero byte.
pub(crate) const ZERO_BYTE: &str = "the text contains a zero byte, which a ROS string cannot hold; remove it";

/// The path of a text with a zero byte, innermost part first.
fn zero_byte(value: &JsonValue) -> Option<Vec<String>> {
    let below = |value: &JsonValue, part: String| {
        let mut path = zero_byte(value)?;
        path.push(part);
        Some(path)
    };
    match value {
        JsonValue::String(text) => text.contains('\0').then(Vec::new),
        JsonValue::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| below(item, format!("[{index}]"))),
        JsonValue::Object(fields) => fields
            .iter()
            .find_map(|(name, field)| below(field, format!(".{name}"))),
        _ => None,
    }
}

fn is_of_type(given: &JsonValue, type_name: &str) -> Result<(), String> {
    match given.get(TYPE) {
        None => Ok(()),
        Some(JsonValue::String(name)) if plain(name) == plain(type_name) => Ok(()),
        Some(other) => Err(format!("`{TYPE}` is {other}, but {type_name} is required")),
    }
}

/// `nav_msgs::msg::Path`, `nav_msgs/msg/Path` and `nav_msgs/Path` are equal.
fn plain(name: &str) -> String {
    name.replace("::", "/").replace("/msg/", "/")
}

fn compare(
    given: &JsonValue,
    message: &JsonValue,
    left_out: &[&str],
    path: &mut String,
) -> Result<(), String> {
    let length = path.len();
    match (given, message) {
        (JsonValue::Object(fields), JsonValue::Object(known)) => {
            for (name, value) in fields {
                let Some(field) = known.get(name) else {
                    if name == TYPE || left_out.contains(&name.as_str()) {
                        continue;
                    }
                    return Err(no_field(path, message, name));
                };
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
                compare(value, field, left_out, path)?;
                path.truncate(length);
            }
            Ok(())
        }
        (JsonValue::Array(given), JsonValue::Array(items)) => {
            for (index, (given, item)) in given.iter().zip(items).enumerate() {
                path.push_str(&format!("[{index}]"));
                compare(given, item, left_out, path)?;
                path.truncate(length);
            }
            Ok(())
        }
        // serde reads a list as the fields of a message in order; interfaces do not use this form.
        (JsonValue::Array(_), JsonValue::Object(_)) if path.is_empty() => {
            Err("a list is not a message".to_owned())
        }
        (JsonValue::Array(_), JsonValue::Object(_)) => Err(format!("`{path}` is a message, not a list")),
        _ => Ok(()),
    }
}

/// An error message for an unknown field, with the existing fields. `path` is the path of the message.
pub(crate) fn no_field(path: &str, message: &JsonValue, name: &str) -> String {
    let place = if path.is_empty() {
        String::new()
    } else {
        format!(" in `{path}`")
    };
    let Some(fields) = message.as_object() else {
        return format!("there is no field `{name}`: the value is not a message");
    };
    let names = || fields.keys().map(String::as_str);
    match crate::bt::nearest(name, names()) {
        Some(near) => format!("there is no field `{name}`{place}: did you mean `{near}`?"),
        None => format!(
            "there is no field `{name}`{place}: the fields are {}",
            names().collect::<Vec<_>>().join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::{Goals, PoseStamped};

    const POSE: &str = "geometry_msgs::msg::PoseStamped";

    fn refusal(text: &str) -> String {
        read::<PoseStamped>(text, POSE, &[]).unwrap_err()
    }

    #[test]
    fn missing_fields_get_their_defaults() {
        assert_eq!(read::<PoseStamped>("{}", POSE, &[]), Ok(PoseStamped::default()));
        let pose: PoseStamped = read("{\"header\":{\"frame_id\":\"map\"}}", POSE, &[]).unwrap();
        assert_eq!(&*pose.header.frame_id, "map");
    }

    #[test]
    fn an_unknown_field_is_named_with_its_path() {
        assert_eq!(
            refusal("{\"headr\":{\"frame_id\":\"map\"}}"),
            "there is no field `headr`: did you mean `header`?"
        );
        assert_eq!(
            refusal("{\"pose\":{\"position\":{\"width\":1}}}"),
            "there is no field `width` in `pose.position`: the fields are x, y, z"
        );
        let goals = read::<Goals>("[{},{\"pos\":{}}]", POSE, &[]).unwrap_err();
        assert_eq!(goals, "there is no field `pos` in `[1]`: did you mean `pose`?");
        assert!(read::<PoseStamped>("{\"covariance\":[]}", POSE, &["covariance"]).is_ok());
    }

    #[test]
    fn g8_a_text_with_a_zero_byte_is_refused_with_its_path() {
        for (text, place) in [
            (r#"{"header":{"frame_id":"ma\u0000p"}}"#, "`header.frame_id`: "),
            (
                r#"[{},{"header":{"frame_id":"\u0000"}}]"#,
                "`[1].header.frame_id`: ",
            ),
        ] {
            assert_eq!(refusal(text), format!("{place}{ZERO_BYTE}"));
        }
        assert!(refuse_zero_bytes(&JsonValue::from("a\0")).is_err());
        assert_eq!(refuse_zero_bytes(&JsonValue::from("a\\0")), Ok(()));
    }

    #[test]
    fn a_list_is_not_a_message() {
        assert_eq!(refusal("[]"), "a list is not a message");
        assert_eq!(
            refusal("{\"pose\":{\"position\":[1,2,3]}}"),
            "`pose.position` is a message, not a list"
        );
    }

    #[test]
    fn a_written_type_must_match() {
        for name in [POSE, "geometry_msgs/PoseStamped", "geometry_msgs/msg/PoseStamped"] {
            let text = format!("{{\"__type\":\"{name}\"}}");
            assert!(read::<PoseStamped>(&text, POSE, &[]).is_ok(), "{name}");
        }
        assert_eq!(
            refusal("{\"__type\":\"nav_msgs::msg::Path\"}"),
            "`__type` is \"nav_msgs::msg::Path\", but geometry_msgs::msg::PoseStamped is required"
        );
        assert!(read::<Goals>("[{\"__type\":3}]", POSE, &[]).is_err());
    }
}
