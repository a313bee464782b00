//! Writes JSON in the form in which a message travels (CDR), for types that are only known by name: r2r gives no access to
//! the message that it makes of JSON.

use std::ptr;

use r2r_rcl as rcl;
use serde_json::Value as JsonValue;

use crate::ros::rosidl::{describing, slice, text_of};

/// The bytes before a message: plain CDR, little endian.
const HEADER: [u8; 4] = [0, 1, 0, 0];

/// The fields of a message type, in their order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout(Vec<Field>);

#[derive(Debug, PartialEq, Eq)]
struct Field {
    name: String,
    element: Element,
    list: List,
}

#[derive(Debug, PartialEq, Eq)]
enum Element {
    /// An integer of this many bytes.
    Integer(usize),
    Float,
    Double,
    Boolean,
    Text,
    /// In UTF-16, each unit as four bytes, as rosidl writes it.
    WideText,
    Message(Layout),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    /// An array: its length is not written.
    Array(usize),
    Sequence,
}

type Individual = rcl::rosidl_runtime_c__type_description__IndividualTypeDescription;

impl Layout {
    /// The layout of a message type.
    ///
    /// # Errors
    /// A sentence, if the type has no description or has a field of a kind that is not supported.
    pub(super) fn of(support: &'static rcl::rosidl_message_type_support_t) -> Result<Self, String> {
        let describe = support
            .get_type_description_func
            .ok_or("the type has no description")?;
        let _one_at_a_time = describing();
        // SAFETY: the function belongs to the type, and only one thread is here at a time. The result is static, and its
        // sequences have the lengths that they state.
        unsafe {
            let description = describe(ptr::from_ref(support))
                .as_ref()
                .ok_or("the type has no description")?;
            let others = &description.referenced_type_descriptions;
            Self::read(&description.type_description, slice(others.data, others.size))
        }
    }

    /// # Safety
    /// Both are parts of one description made by rosidl.
    unsafe fn read(description: &Individual, others: &[Individual]) -> Result<Self, String> {
        // SAFETY: see above.
        let fields = unsafe { slice(description.fields.data, description.fields.size) };
        let fields = fields.iter().map(|field| {
            let kind = &field.type_;
            // SAFETY: see above; a type cannot contain itself, so the recursion ends.
            let (name, element) = unsafe {
                let name = text_of(&field.name);
                let element = match kind.type_id % 48 {
                    1 => {
                        let nested = text_of(&kind.nested_type_name);
                        let other = others.iter().find(|other| text_of(&other.type_name) == nested);
                        let other = other.ok_or_else(|| format!("`{nested}` is not described"))?;
                        Element::Message(Self::read(other, others)?)
                    }
                    id => Element::of(id)
                        .ok_or_else(|| format!("the field `{name}` has a type without JSON form"))?,
                };
                (name, element)
            };
            let list = match kind.type_id / 48 {
                0 => List::None,
                1 => List::Array(usize::try_from(kind.capacity).unwrap_or(usize::MAX)),
                _ => List::Sequence,
            };
            Ok(Field { name, element, list })
        });
        fields.collect::<Result<_, String>>().map(Self)
    }

    /// The bytes of a message. A value that is missing or does not fit is written as zero; `null`, which is JSON for a
    /// number that is none, as such a number.
    pub(super) fn encode(&self, message: &JsonValue) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        self.write(message, &mut bytes);
        bytes
    }

    fn write(&self, message: &JsonValue, bytes: &mut Vec<u8>) {
        for field in &self.0 {
            let value = message.get(&field.name).unwrap_or(&JsonValue::Null);
            let items = value.as_array().map_or(&[] as &[JsonValue], Vec::as_slice);
            match field.list {
                List::None => field.element.write(value, bytes),
                List::Array(length) => {
                    let missing = std::iter::repeat(&JsonValue::Null);
                    items
                        .iter()
                        .chain(missing)
                        .take(length)
                        .for_each(|item| field.element.write(item, bytes));
                }
                List::Sequence => {
                    put(bytes, &(items.len() as u32).to_le_bytes());
                    items.iter().for_each(|item| field.element.write(item, bytes));
                }
            }
        }
    }
}

impl Element {
    /// By the numbers of `type_description_interfaces/msg/FieldType`.
    fn of(id: u8) -> Option<Self> {
        Some(match id {
            2 | 3 | 13 | 16 => Self::Integer(1),
            4 | 5 => Self::Integer(2),
            6 | 7 => Self::Integer(4),
            8 | 9 => Self::Integer(8),
            10 => Self::Float,
            11 => Self::Double,
            15 => Self::Boolean,
            17 | 21 => Self::Text,
            18 | 22 => Self::WideText,
            _ => return None,
        })
    }

    fn write(&self, value: &JsonValue, bytes: &mut Vec<u8>) {
        match self {
            Self::Integer(size) => {
                let number = value.as_i64().map(i64::cast_unsigned).or_else(|| value.as_u64());
                // In two's complement, the low bytes of a small number are that number.
                put(bytes, &number.unwrap_or(0).to_le_bytes()[..*size]);
            }
            Self::Float => put(bytes, &(value.as_f64().unwrap_or(f64::NAN) as f32).to_le_bytes()),
            Self::Double => put(bytes, &value.as_f64().unwrap_or(f64::NAN).to_le_bytes()),
            Self::Boolean => bytes.push(u8::from(value.as_bool().unwrap_or(false))),
            Self::Text => {
                let text = value.as_str().unwrap_or_default();
                put(bytes, &(text.len() as u32 + 1).to_le_bytes());
                bytes.extend_from_slice(text.as_bytes());
                bytes.push(0);
            }
            Self::WideText => {
                let units: Vec<u16> = value.as_str().unwrap_or_default().encode_utf16().collect();
                put(bytes, &(units.len() as u32).to_le_bytes());
                for unit in units {
                    put(bytes, &u32::from(unit).to_le_bytes());
                }
            }
            Self::Message(layout) => layout.write(value, bytes),
        }
    }
}

/// Appends a number, at a multiple of its size after the header.
fn put(bytes: &mut Vec<u8>, number: &[u8]) {
    let start = (bytes.len() - HEADER.len()).next_multiple_of(number.len()) + HEADER.len();
    bytes.resize(start, 0);
    bytes.extend_from_slice(number);
}

#[cfg(test)]
mod tests {
    use r2r::WrappedTypesupport;
    use serde_json::json;

    use super::*;

    /// Encodes a message, and lets the middleware read it.
    fn there_and_back<T: WrappedTypesupport>(message: &JsonValue) {
        let layout = Layout::of(T::get_ts()).unwrap();
        let message: T = serde_json::from_value(message.clone()).unwrap();
        let bytes = layout.encode(&serde_json::to_value(&message).unwrap());
        let read = T::from_serialized_bytes(&bytes).unwrap();
        assert_eq!(format!("{message:?}"), format!("{read:?}"));
    }

    #[test]
    fn the_middleware_reads_what_was_written() {
        there_and_back::<r2r::std_msgs::msg::Empty>(&json!({}));
        there_and_back::<r2r::std_msgs::msg::String>(&json!({"data": "Größe ✓"}));
        there_and_back::<r2r::std_msgs::msg::Int8>(&json!({"data": -3}));
        there_and_back::<r2r::std_msgs::msg::UInt64>(&json!({"data": u64::MAX}));
        there_and_back::<r2r::std_msgs::msg::Int64>(&json!({"data": i64::MIN}));
        there_and_back::<r2r::std_msgs::msg::Bool>(&json!({"data": true}));
        there_and_back::<r2r::unique_identifier_msgs::msg::UUID>(
            &json!({"uuid": (0..16).collect::<Vec<u8>>()}),
        );
        there_and_back::<r2r::sensor_msgs::msg::Range>(
            &json!({"header": {"frame_id": "abcd"}, "range": 1.5}),
        );
        there_and_back::<r2r::diagnostic_msgs::msg::DiagnosticArray>(&json!({"status": [
            {"level": 1, "name": "a", "values": [{"key": "k", "value": "v"}, {"key": "", "value": "long"}]},
            {"name": "bc", "hardware_id": "d"},
        ]}));
        there_and_back::<r2r::nav_msgs::msg::Path>(
            &json!({"header": {"stamp": {"sec": -1, "nanosec": 7}}, "poses": [
                {"header": {"frame_id": "m"}, "pose": {"position": {"x": 1.0}, "orientation": {"w": -1.0}}},
                {"header": {"frame_id": "map"}, "pose": {"position": {"y": 2.5}}},
            ]}),
        );
        there_and_back::<r2r::rcl_interfaces::msg::ParameterValue>(
            &json!({"type": 9, "bool_array_value": [true, false, true], "double_array_value": [0.5], "string_array_value": ["x", ""]}),
        );
    }

    #[test]
    fn a_number_that_is_none_stays_one() {
        let layout = Layout::of(r2r::std_msgs::msg::Float64::get_ts()).unwrap();
        let bytes = layout.encode(&json!({"data": null}));
        assert!(
            r2r::std_msgs::msg::Float64::from_serialized_bytes(&bytes)
                .unwrap()
                .data
                .is_nan()
        );
    }
}
