//! JSON values on the blackboard, and their conversions.

use std::sync::Arc;

use serde_json::Value as JsonValue;

use crate::bt::{Enums, PortValue, TypeInfo, Value};
use crate::msg::{Goals, Path, Point, PoseStamped, Quaternion};
use crate::nav::refuse_zero_bytes;
use crate::object;

/// A message, or a part of one, without its own blackboard type.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(pub JsonValue);

object!(
    Json,
    "json",
    "nlohmann::json",
    |text| {
        let text = text.strip_prefix("json:").unwrap_or(text);
        read(text).map(Json)
    },
    |value| value.0.clone()
);

fn read(text: &str) -> Result<JsonValue, String> {
    let json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    refuse_zero_bytes(&json)?;
    Ok(json)
}

/// Converts a blackboard value to JSON of the same kind as `like`; `Null` accepts any kind.
///
/// # Errors
/// The reason why it does not fit.
pub(super) fn from_value(value: &Value, like: &JsonValue) -> Result<JsonValue, String> {
    let json = match value {
        Value::Real(number) if !number.is_finite() => {
            return Err(format!("{number} is not a finite number"));
        }
        Value::Empty => return Err("it has not been written".to_owned()),
        Value::Text(text) => return from_text(text, like),
        other => without_types(other.to_json()),
    };
    let number = json.as_f64();
    match like {
        JsonValue::Bool(_) => match number {
            Some(0.0) => Ok(false.into()),
            Some(1.0) => Ok(true.into()),
            _ if json.is_boolean() => Ok(json),
            _ => Err(format!("{json} is not a boolean")),
        },
        JsonValue::Number(wanted) => match number {
            Some(_) if json.is_f64() && !wanted.is_f64() => {
                whole(&json).ok_or_else(|| format!("{json} is not a whole number"))
            }
            Some(_) => Ok(json),
            None => Err(format!("{json} is not a number")),
        },
        JsonValue::String(_) => match json {
            JsonValue::String(_) => Ok(json),
            JsonValue::Number(number) => Ok(number.to_string().into()),
            other => Err(format!("{other} is not a text")),
        },
        JsonValue::Array(_) if !json.is_array() => Err(format!("{json} is not a list")),
        JsonValue::Object(_) if !json.is_object() => Err(format!("{json} is not a message")),
        JsonValue::Array(_) | JsonValue::Object(_) | JsonValue::Null => Ok(json),
    }
}

fn whole(json: &JsonValue) -> Option<JsonValue> {
    let number = json
        .as_f64()
        .filter(|number| number.fract() == 0.0 && number.abs() < 9.0e15)?;
    Some((number as i64).into())
}

/// Converts a text to JSON of the same kind as `like`.
fn from_text(text: &str, like: &JsonValue) -> Result<JsonValue, String> {
    if let Some(json) = text.strip_prefix("json:") {
        let json = read(json)?;
        return from_value(&Value::object(Json(json)), like);
    }
    if let Some(message) = from_nav2_text(text, like) {
        return message;
    }
    match like {
        JsonValue::String(_) => Ok(text.into()),
        JsonValue::Bool(_) => match text {
            "true" | "True" | "TRUE" | "1" => Ok(true.into()),
            "false" | "False" | "FALSE" | "0" => Ok(false.into()),
            _ => Err(format!("`{text}` is not a boolean")),
        },
        JsonValue::Number(wanted) if wanted.is_f64() => text
            .parse::<f64>()
            .ok()
            // JSON has only finite numbers.
            .filter(|number| number.is_finite())
            .map(Into::into)
            .ok_or_else(|| format!("`{text}` is not a finite number")),
        JsonValue::Number(_) => {
            let signed = text.parse::<i64>().map(JsonValue::from);
            signed
                .or_else(|_| text.parse::<u64>().map(Into::into))
                .map_err(|_| format!("`{text}` is not a whole number"))
        }
        JsonValue::Array(items) => {
            let like = items.first().unwrap_or(&JsonValue::Null);
            let text = text.strip_suffix(';').unwrap_or(text);
            let parts = text.split(';').filter(|_| !text.is_empty());
            parts.map(|part| from_text(part, like)).collect()
        }
        JsonValue::Object(_) => Err(format!("`{text}` is not a message: write json:{{…}}")),
        // The kind is unknown. A text that reads as a number or a boolean becomes one.
        JsonValue::Null => Ok(match serde_json::from_str(text) {
            Ok(json @ (JsonValue::Bool(_) | JsonValue::Number(_))) => json,
            _ => text.into(),
        }),
    }
}

/// Converts a text in the form that Nav2's ports use for a message like `like`. `None` if there is no such form.
///
/// The fields identify the message: no other common message has the fields of a pose with its frame, and other messages
/// with `x`, `y` and `z` use the same order. The items of an empty list are unknown; a text that reads as a list of
/// poses becomes one. A `geometry_msgs/PoseArray` has the fields of a path but other poses, and is refused when the
/// message is compared with its interface.
fn from_nav2_text(text: &str, like: &JsonValue) -> Option<Result<JsonValue, String>> {
    let info = match like {
        JsonValue::Object(fields) if has(fields, &["x", "y", "z"]) => <Arc<Point>>::TYPE,
        JsonValue::Object(fields) if has(fields, &["x", "y", "z", "w"]) => <Arc<Quaternion>>::TYPE,
        JsonValue::Object(fields) if has(fields, &["header", "pose"]) => match &fields["pose"] {
            JsonValue::Object(pose) if has(pose, &["position", "orientation"]) => <Arc<PoseStamped>>::TYPE,
            _ => return None,
        },
        JsonValue::Object(fields) if has(fields, &["header", "poses"]) && fields["poses"].is_array() => {
            <Arc<Path>>::TYPE
        }
        JsonValue::Array(items) if items.is_empty() && has_frame(text) => {
            let goals = (<Arc<Goals>>::TYPE.parse)(text, &Enums::default()).ok()?;
            return Some(Ok(without_types(goals.to_json())));
        }
        _ => return None,
    };
    let message = (info.parse)(text, &Enums::default());
    Some(message.map(|message| without_types(message.to_json())))
}

/// Whether the second part of a text may be a frame. In a list of numbers it is a number; nine numbers are not a pose.
fn has_frame(text: &str) -> bool {
    text.split(';')
        .nth(1)
        .is_some_and(|part| part.parse::<f64>().is_err())
}

/// Whether a message has exactly these fields.
fn has(fields: &serde_json::Map<String, JsonValue>, names: &[&str]) -> bool {
    fields.len() == names.len() && names.iter().all(|name| fields.contains_key(*name))
}

/// Removes the `__type` field of the blackboard export, which no interface has.
fn without_types(json: JsonValue) -> JsonValue {
    match json {
        JsonValue::Object(mut fields) => {
            fields.shift_remove("__type");
            fields
                .into_iter()
                .map(|(name, value)| (name, without_types(value)))
                .collect()
        }
        JsonValue::Array(items) => items.into_iter().map(without_types).collect(),
        other => other,
    }
}

/// Converts JSON to a value for an entry of a declared type.
///
/// # Errors
/// The reason why it does not fit.
pub(super) fn into_value(
    json: &JsonValue,
    declared: Option<&'static TypeInfo>,
    enums: &crate::bt::Enums,
) -> Result<(Value, &'static TypeInfo), String> {
    Ok(match json {
        // No field is without a value. The number was NaN or infinite, which JSON cannot express.
        JsonValue::Null => (f64::NAN.into_value(), f64::TYPE),
        JsonValue::Bool(value) => (value.into_value(), bool::TYPE),
        JsonValue::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => (number.into_value(), i64::TYPE),
            (_, Some(number), _) => (number.into_value(), u64::TYPE),
            (_, _, number) => (number.unwrap_or(f64::NAN).into_value(), f64::TYPE),
        },
        JsonValue::String(text) => (Value::text(&**text), <crate::bt::Text as PortValue>::TYPE),
        JsonValue::Array(_) | JsonValue::Object(_) => match declared {
            // The reader of the entry has its own type, for example a path for FollowPath.
            Some(info) if info.family == crate::bt::Family::Object => {
                ((info.parse)(&format!("json:{json}"), enums)?, info)
            }
            // The type of the entry is unknown. Store a text, which every reader converts to its own type.
            _ => (Value::text(format!("json:{json}")), <Value as PortValue>::TYPE),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_convert_to_the_type_of_the_field() {
        let read = |text: &str, like| from_value(&Value::text(text), &like);
        assert_eq!(read("12", json!(0)), Ok(json!(12)));
        assert_eq!(read("12", json!(0.0)), Ok(json!(12.0)));
        assert_eq!(read("12", json!("")), Ok(json!("12")));
        assert_eq!(read("1", json!(false)), Ok(json!(true)));
        assert_eq!(read("1;2;", json!([0])), Ok(json!([1, 2])));
        assert_eq!(read("a;b", json!([])), Ok(json!(["a", "b"])));
        // As many parts as a pose.
        assert_eq!(
            read("0;1;2;3;4;5;6;7;8", json!([])),
            Ok(json!([0, 1, 2, 3, 4, 5, 6, 7, 8]))
        );
        assert_eq!(read("json:{\"x\":1}", json!({"x": 0})), Ok(json!({"x": 1})));
        assert_eq!(read("12", json!(null)), Ok(json!(12)));
        assert_eq!(read("twelve", json!(null)), Ok(json!("twelve")));
        assert!(read("twelve", json!(0)).is_err());
        assert!(read("1.5", json!(0)).is_err());
        assert!(read("x", json!({})).is_err());
        assert!(read("json:{", json!({})).is_err());
    }

    #[test]
    fn messages_accept_the_text_forms_of_nav2() {
        let read = |text: &str, like: &JsonValue| from_value(&Value::text(text), like);
        let point = json!({"x": 0.0, "y": 0.0, "z": 0.0});
        let pose = json!({
            "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""},
            "pose": {"position": point, "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
        });
        assert_eq!(read("1;2;3", &point), Ok(json!({"x": 1.0, "y": 2.0, "z": 3.0})));
        assert_eq!(
            read("0;0;0;1", &pose["pose"]["orientation"]),
            Ok(json!({"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}))
        );
        let mut there = pose.clone();
        there["header"]["frame_id"] = "map".into();
        there["pose"]["position"]["x"] = 1.0.into();
        assert_eq!(read("0;map;1;0;0;0;0;0;1", &pose), Ok(there.clone()));
        assert_eq!(
            read("0;map;1;0;0;0;0;0;1", &json!([])),
            Ok(json!([there.clone()]))
        );
        let path = json!({"header": pose["header"], "poses": []});
        assert_eq!(
            read("0;map;0;map;1;0;0;0;0;0;1", &path),
            Ok(json!({"header": there["header"], "poses": [there]}))
        );
        assert_eq!(
            read("1;2", &point),
            Err("a point is written as x;y;z, but this text has 2 fields".to_owned())
        );
        let covariance = json!({"header": pose["header"], "pose": {"pose": pose["pose"], "covariance": []}});
        assert!(read("0;map;1;0;0;0;0;0;1", &covariance).is_err());
    }

    #[test]
    fn values_convert_to_the_type_of_the_field() {
        assert_eq!(from_value(&Value::Int(1), &json!(false)), Ok(json!(true)));
        assert_eq!(from_value(&Value::Real(2.0), &json!(0)), Ok(json!(2)));
        assert!(from_value(&Value::Real(2.5), &json!(0)).is_err());
        assert!(from_value(&Value::Int(2), &json!(false)).is_err());
        let point = Value::object(crate::msg::Point::planar(1.0, 2.0));
        assert_eq!(
            from_value(&point, &json!({"x": 0.0, "y": 0.0, "z": 0.0})),
            Ok(json!({"x": 1.0, "y": 2.0, "z": 0.0}))
        );
    }
}
