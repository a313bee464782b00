//! Converts JSON to r2r's messages, and back.
//!
//! r2r uses defaults for missing fields, drops unknown ones, and panics if an array of fixed or bounded length has
//! another length or if a text contains a zero byte. Here each of these is an error with the field's name.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use serde_json::Value as JsonValue;

use super::bounds::Bounds;
use crate::bt::panic_text;
use crate::nav::{MAX_JSON_TEXT, Payload, refuse_zero_bytes};
use crate::ros::RosError;

/// Converts the JSON of a payload to one of r2r's structs.
pub(super) fn from_json<T>(payload: &Payload, what: &'static str) -> Result<T, RosError>
where
    T: r2r::WrappedTypesupport + 'static,
{
    let value = payload
        .get::<JsonValue>()
        .ok_or(RosError::WrongPayload("JSON value"))?;
    checked(value).map_err(|fault| RosError::Send(format!("{what}: {fault}")))
}

/// Converts JSON to one of r2r's structs, which is then safe to send.
///
/// # Errors
/// A sentence with the field that does not fit.
pub(super) fn checked<T>(value: &JsonValue) -> Result<T, String>
where
    T: r2r::WrappedTypesupport + 'static,
{
    refuse_zero_bytes(value)?;
    Bounds::of(T::get_ts()).check(value)?;
    let message: T = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let filled = serde_json::to_value(&message).map_err(|error| error.to_string())?;
    same_fields(value, &filled, &mut Vec::new())?;
    // Any other panic of r2r happens here, where no lock is held.
    quietly(|| drop(r2r::NativeMsg::<T>::from(&message)))?;
    Ok(message)
}

/// A message with default values in all fields.
pub(super) fn default_of<T: Default + serde::Serialize>() -> Option<JsonValue> {
    serde_json::to_value(T::default()).ok()
}

/// Converts one of r2r's structs to a JSON payload. NaN and infinite numbers become null. A message longer than
/// [`MAX_JSON_TEXT`] becomes null, which fails the leaf that wants it.
pub(super) fn to_json<T: r2r::WrappedTypesupport>(message: &T) -> Payload {
    let fits = serde_json::to_writer(Room(MAX_JSON_TEXT), message).is_ok();
    let value = fits.then(|| serde_json::to_value(message).ok()).flatten();
    Payload::new(value.unwrap_or_default())
}

/// A writer that fails after this number of bytes, and keeps none of them.
struct Room(usize);

impl std::io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Refuses values that were lost in the conversion to a message: unknown field names, and numbers beyond the range of
/// float32.
pub(super) fn same_fields<'j>(
    given: &'j JsonValue,
    message: &JsonValue,
    path: &mut Vec<&'j str>,
) -> Result<(), String> {
    match (given, message) {
        (JsonValue::Object(given), JsonValue::Object(message)) => {
            for (name, value) in given {
                let Some(field) = message.get(name) else {
                    let names: Vec<&str> = message.keys().map(String::as_str).collect();
                    let names = names.join(", ");
                    return Err(format!(
                        "{}there is no field `{name}`: the fields are {names}",
                        place(path)
                    ));
                };
                path.push(name);
                same_fields(value, field, path)?;
                path.pop();
            }
            Ok(())
        }
        (JsonValue::Array(given), JsonValue::Array(message)) => {
            let mut pairs = given.iter().zip(message);
            pairs.try_for_each(|(value, item)| same_fields(value, item, path))
        }
        (JsonValue::Number(number), JsonValue::Null) => {
            Err(format!("{}{number} is too large for its type", place(path)))
        }
        _ => Ok(()),
    }
}

fn place(path: &[&str]) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{}: ", path.join("."))
    }
}

/// r2r's message about JSON that it cannot read, without r2r's name for the error.
pub(super) fn words(error: &r2r::Error) -> String {
    match error {
        r2r::Error::SerdeError { err } => err.clone(),
        other => other.to_string(),
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Converts a panic of r2r to an error, without the process's panic message: a message that does not fit is an error in
/// the tree, and its leaf reports it.
pub(super) fn quietly<R>(act: impl FnOnce() -> R) -> Result<R, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = take_hook();
        set_hook(Box::new(move |info| {
            if !QUIET.get() {
                earlier(info);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(act));
    QUIET.set(false);
    result.map_err(|panic| {
        let text = panic_text(&*panic);
        // The text is `assertion … failed: Field uuid is fixed size of 16!` and the two lengths.
        let text = text.find("Field ").map_or(&*text, |at| &text[at..]);
        text.lines()
            .next()
            .unwrap_or_default()
            .trim_end_matches('!')
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::action::SpinGoal;
    use serde_json::json;

    type Id = r2r::unique_identifier_msgs::msg::UUID;
    type Image = r2r::sensor_msgs::msg::Image;
    type Path = r2r::nav_msgs::msg::Path;
    type Range = r2r::sensor_msgs::msg::Range;

    #[test]
    fn g1_a_message_that_is_too_long_for_a_tree_is_null() {
        let of_length = |length: usize| {
            let image = Image {
                data: vec![7; length],
                ..Image::default()
            };
            to_json(&image).get::<JsonValue>().unwrap().is_null()
        };
        assert_eq!([1000, MAX_JSON_TEXT].map(of_length), [false, true]);
    }

    #[test]
    fn json_that_does_not_fit_is_an_error_with_its_field_and_no_panic() {
        let ids: &[(JsonValue, &str)] = &[
            (
                json!({"uuid": [1, 2]}),
                "uuid: there are 2 elements, and its type has exactly 16",
            ),
            (json!({"uuid": "x"}), "invalid type"),
            (json!({"uuid": vec![vec![1]; 16]}), "invalid type"),
            (json!({"uuid": vec![256; 16]}), "256"),
            (json!({"uuid": vec![-1; 16]}), "-1"),
            (json!({"uid": []}), "there is no field `uid`: the fields are uuid"),
            (json!([1]), "invalid"),
            (json!(3), "invalid type"),
            (json!(null), "invalid type"),
        ];
        for (value, words) in ids {
            let fault = checked::<Id>(value).unwrap_err();
            assert!(fault.contains(words), "{value}: {fault}");
        }
        let fault = checked::<Image>(&json!({"encoding": "a\0b"})).unwrap_err();
        assert!(fault.contains("zero byte"), "{fault}");
        let fault = checked::<Path>(&json!({"poses": [{"header": {"frame": "map"}}]})).unwrap_err();
        assert!(
            fault.contains("poses.header: there is no field `frame`"),
            "{fault}"
        );
        let fault = checked::<Range>(&json!({"range": 1e300})).unwrap_err();
        assert!(fault.contains("range: 1e+300 is too large"), "{fault}");
        assert!(checked::<Range>(&json!({"range": null})).is_err());
    }

    #[test]
    fn what_fits_is_what_was_said() {
        let id = checked::<Id>(&json!({"uuid": (0..16).collect::<Vec<u8>>()})).unwrap();
        assert_eq!(id.uuid[15], 15);
        let image = checked::<Image>(&json!({"data": [0, 255], "encoding": "Größe ✓", "width": u32::MAX}));
        let image = image.unwrap();
        assert_eq!((image.data, image.width), (vec![0, 255], u32::MAX));
        assert_eq!(image.encoding, "Größe ✓");
    }

    #[test]
    fn a_payload_of_another_kind_is_an_error() {
        let plain = Payload::new(SpinGoal::default());
        assert!(matches!(
            from_json::<Id>(&plain, "id"),
            Err(RosError::WrongPayload(_))
        ));
        let wrong = Payload::new(json!({"uuid": []}));
        assert!(matches!(from_json::<Id>(&wrong, "id"), Err(RosError::Send(_))));
    }
}
