//! The limits of an interface beyond the types of its fields: the lengths of texts and lists.
//!
//! r2r's structs do not contain them. r2r panics if an array of fixed or bounded length has another length. It accepts
//! texts and lists of messages of any length; the middleware then drops them, or sends them although no reader may
//! accept them. The description that every type has since Iron (REP 2016) contains all limits.

use std::collections::BTreeMap;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use r2r_rcl as rcl;
use serde_json::Value as JsonValue;

use crate::ros::rosidl::{describing, slice, text_of};

/// The fields of a message that have limits or contain fields with limits. Most messages have none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds(Vec<Field>);

#[derive(Debug, PartialEq, Eq)]
struct Field {
    name: String,
    length: Option<Length>,
    text: Option<Room>,
    below: Bounds,
}

/// The limit of a list, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Exactly(u64),
    AtMost(u64),
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(count) => write!(f, "its type has exactly {count}"),
            Self::AtMost(count) => write!(f, "its type has room for {count}"),
        }
    }
}

/// The limit of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// `string<=8`: in bytes of UTF-8, as counted by the middleware.
    Bytes(u64),
    /// `wstring<=8`: in units of UTF-16.
    Units(u64),
}

impl Bounds {
    /// The limits of a message type. They are read once.
    pub(super) fn of(support: &'static rcl::rosidl_message_type_support_t) -> Arc<Self> {
        static KNOWN: Mutex<BTreeMap<usize, Arc<Bounds>>> = Mutex::new(BTreeMap::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = ptr::from_ref(support).addr();
        let found = known().get(&key).map(Arc::clone);
        found.unwrap_or_else(|| {
            // Not under the lock: a tick may need another type meanwhile, and this waits for rcl.
            let bounds = Arc::new(read(support));
            Arc::clone(known().entry(key).or_insert(bounds))
        })
    }

    /// Checks that a message keeps the limits. Values with another type than their field are not checked.
    ///
    /// # Errors
    /// A sentence about the first field that does not.
    pub(super) fn check(&self, message: &JsonValue) -> Result<(), String> {
        self.check_below(message, &mut Vec::new())
    }

    fn check_below<'b>(&'b self, message: &JsonValue, path: &mut Vec<&'b str>) -> Result<(), String> {
        for field in &self.0 {
            let Some(value) = message.get(&field.name) else {
                continue;
            };
            path.push(&field.name);
            field
                .check(value)
                .map_err(|fault| format!("{}: {fault}", path.join(".")))?;
            let items = value.as_array().map_or(&[] as &[JsonValue], Vec::as_slice);
            for place in std::iter::once(value).chain(items) {
                field.below.check_below(place, path)?;
            }
            path.pop();
        }
        Ok(())
    }
}

impl Field {
    /// Checks the field itself, not its nested fields.
    fn check(&self, value: &JsonValue) -> Result<(), String> {
        let items = value.as_array();
        if let (Some(items), Some(length)) = (items, self.length) {
            let count = items.len() as u64;
            let good = match length {
                Length::Exactly(wanted) => count == wanted,
                Length::AtMost(most) => count <= most,
            };
            if !good {
                return Err(format!("there are {count} elements, and {length}"));
            }
        }
        let Some(room) = self.text else {
            return Ok(());
        };
        let items = items.map_or(std::slice::from_ref(value), Vec::as_slice);
        for text in items.iter().filter_map(JsonValue::as_str) {
            let (has, may, unit) = match room {
                Room::Bytes(may) => (text.len(), may, "bytes"),
                Room::Units(may) => (text.encode_utf16().count(), may, "units of UTF-16"),
            };
            if has as u64 > may {
                return Err(format!(
                    "`{text}` has {has} {unit}, and its type has room for {may}"
                ));
            }
        }
        Ok(())
    }
}

type Individual = rcl::rosidl_runtime_c__type_description__IndividualTypeDescription;

fn read(support: &'static rcl::rosidl_message_type_support_t) -> Bounds {
    let Some(describe) = support.get_type_description_func else {
        return Bounds::default();
    };
    let _one_at_a_time = describing();
    // SAFETY: the function belongs to the type, and only one thread is here at a time. The result is static, and its
    // sequences have the lengths that they state.
    unsafe {
        let Some(description) = describe(ptr::from_ref(support)).as_ref() else {
            return Bounds::default();
        };
        let others = &description.referenced_type_descriptions;
        bounds_of(&description.type_description, slice(others.data, others.size))
    }
}

/// Ids of field types, with the numbers of `type_description_interfaces/msg/FieldType`.
mod id {
    pub(super) const NESTED: u8 = 1;
    pub(super) const BOUNDED_STRING: u8 = 21;
    pub(super) const BOUNDED_WSTRING: u8 = 22;
    /// Added to the id of an element for a list: of fixed, bounded or unlimited length.
    pub(super) const LIST: u8 = 48;
}

/// # Safety
/// Both are parts of one description made by rosidl.
unsafe fn bounds_of(description: &Individual, others: &[Individual]) -> Bounds {
    // SAFETY: see above.
    let fields = unsafe { slice(description.fields.data, description.fields.size) };
    let fields = fields.iter().filter_map(|field| {
        let kind = &field.type_;
        let length = match kind.type_id / id::LIST {
            1 => Some(Length::Exactly(kind.capacity)),
            2 => Some(Length::AtMost(kind.capacity)),
            _ => None,
        };
        let element = kind.type_id % id::LIST;
        let text = match element {
            id::BOUNDED_STRING => Some(Room::Bytes(kind.string_capacity)),
            id::BOUNDED_WSTRING => Some(Room::Units(kind.string_capacity)),
            _ => None,
        };
        // SAFETY: see above; a type cannot contain itself, so the recursion ends.
        let (name, below) = unsafe {
            let nested = text_of(&kind.nested_type_name);
            let below = others
                .iter()
                .find(|other| element == id::NESTED && text_of(&other.type_name) == nested);
            (
                text_of(&field.name),
                below.map_or_else(Bounds::default, |below| bounds_of(below, others)),
            )
        };
        (length.is_some() || text.is_some() || !below.0.is_empty()).then_some(Field {
            name,
            length,
            text,
            below,
        })
    });
    Bounds(fields.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use r2r::WrappedTypesupport;
    use serde_json::json;

    fn check<T: WrappedTypesupport>(message: &JsonValue) -> Result<(), String> {
        Bounds::of(T::get_ts()).check(message)
    }

    #[test]
    fn arrays_have_exactly_their_length() {
        type Id = r2r::unique_identifier_msgs::msg::UUID;
        type Camera = r2r::sensor_msgs::srv::SetCameraInfo::Request;
        assert_eq!(check::<Id>(&json!({"uuid": vec![0; 16]})), Ok(()));
        assert_eq!(
            check::<Id>(&json!({"uuid": [1, 2]})).unwrap_err(),
            "uuid: there are 2 elements, and its type has exactly 16"
        );
        let fault = check::<Camera>(&json!({"camera_info": {"k": [1.0]}})).unwrap_err();
        assert!(
            fault.starts_with("camera_info.k: there are 1 elements"),
            "{fault}"
        );
    }

    #[test]
    fn lists_of_messages_have_room_for_some() {
        type Descriptor = r2r::rcl_interfaces::msg::ParameterDescriptor;
        assert_eq!(check::<Descriptor>(&json!({"integer_range": [{}]})), Ok(()));
        assert_eq!(
            check::<Descriptor>(&json!({"integer_range": [{}, {}]})).unwrap_err(),
            "integer_range: there are 2 elements, and its type has room for 1"
        );
    }

    #[test]
    fn texts_are_counted_in_bytes_at_any_depth() {
        type Description = r2r::type_description_interfaces::msg::TypeDescription;
        let with = |text: &str| {
            json!({"referenced_type_descriptions": [
                {"fields": [{"type": {"nested_type_name": text}}]}
            ]})
        };
        assert_eq!(check::<Description>(&with(&"a".repeat(255))), Ok(()));
        for text in ["a".repeat(256), "ä".repeat(128)] {
            let fault = check::<Description>(&with(&text)).unwrap_err();
            assert!(
                fault.starts_with("referenced_type_descriptions.fields.type.nested_type_name: `"),
                "{fault}"
            );
            assert!(
                fault.ends_with("has 256 bytes, and its type has room for 255"),
                "{fault}"
            );
        }
    }

    #[test]
    fn messages_without_strings_need_no_check() {
        assert_eq!(*Bounds::of(r2r::nav_msgs::msg::Path::get_ts()), Bounds::default());
        assert_eq!(
            check::<r2r::unique_identifier_msgs::msg::UUID>(&json!({"uuid": "x"})),
            Ok(())
        );
        assert_eq!(check::<r2r::nav_msgs::msg::Odometry>(&json!(3)), Ok(()));
    }
}
