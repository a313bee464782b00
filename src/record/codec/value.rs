//! The stored form of blackboard values.

use std::any::TypeId;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Bytes, Encoded, payload_json, unknown};
use crate::bt::{List, NodeStatus, Object, ObjectType, PortValue, Queue, Text, TypeInfo, Value};
use crate::msg;
use crate::msg::duration::RosDuration;
use crate::nav::any::Json;
use crate::nav::values::Milliseconds;

/// The types of objects on the blackboard.
struct ObjectCodec {
    info: &'static TypeInfo,
    encode: fn(&dyn Object) -> Option<Vec<u8>>,
    decode: fn(&[u8]) -> Result<Value, String>,
}

fn object<T: ObjectType + Serialize + DeserializeOwned>() -> ObjectCodec {
    ObjectCodec {
        info: T::TYPE,
        encode: |object| rmp_serde::to_vec_named(object.as_any().downcast_ref::<T>()?).ok(),
        decode: |bytes| {
            rmp_serde::from_slice::<T>(bytes)
                .map(Value::object)
                .map_err(|error| error.to_string())
        },
    }
}

fn list<T>() -> ObjectCodec
where
    List<T>: ObjectType,
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    ObjectCodec {
        info: <List<T> as ObjectType>::TYPE,
        encode: |object| rmp_serde::to_vec_named(&object.as_any().downcast_ref::<List<T>>()?.0).ok(),
        decode: |bytes| {
            rmp_serde::from_slice::<Vec<T>>(bytes)
                .map(|items| Value::object(List(items)))
                .map_err(|error| error.to_string())
        },
    }
}

fn json() -> ObjectCodec {
    ObjectCodec {
        info: <Json as ObjectType>::TYPE,
        encode: |object| rmp_serde::to_vec_named(&object.as_any().downcast_ref::<Json>()?.0).ok(),
        decode: |bytes| {
            rmp_serde::from_slice(bytes)
                .map(|json| Value::object(Json(json)))
                .map_err(|error| error.to_string())
        },
    }
}

fn queue() -> ObjectCodec {
    ObjectCodec {
        info: <Queue as ObjectType>::TYPE,
        encode: |object| {
            let queue = object.as_any().downcast_ref::<Queue>()?;
            let items: Vec<StoredValue> = queue.snapshot().iter().map(StoredValue::of).collect();
            rmp_serde::to_vec_named(&items).ok()
        },
        decode: |bytes| {
            let items: Vec<StoredValue> = rmp_serde::from_slice(bytes).map_err(|error| error.to_string())?;
            let values: Result<Vec<Value>, String> = items.iter().map(StoredValue::value).collect();
            Ok(Value::object(Queue::from_iter(values?)))
        },
    }
}

struct Objects {
    codecs: Vec<ObjectCodec>,
    by_id: FxHashMap<TypeId, usize>,
    /// All types of entries by name, scalar ones included.
    infos: FxHashMap<&'static str, &'static TypeInfo>,
}

fn objects() -> &'static Objects {
    static OBJECTS: OnceLock<Objects> = OnceLock::new();
    OBJECTS.get_or_init(|| {
        let codecs = vec![
            object::<msg::Point>(),
            object::<msg::Quaternion>(),
            object::<msg::PoseStamped>(),
            object::<msg::Goals>(),
            object::<msg::Path>(),
            object::<msg::Pose>(),
            object::<msg::Twist>(),
            object::<msg::Header>(),
            object::<msg::Stamp>(),
            object::<RosDuration>(),
            object::<msg::Odometry>(),
            object::<msg::TransformStamped>(),
            object::<msg::BatteryState>(),
            object::<msg::Route>(),
            object::<msg::TrackingFeedback>(),
            object::<msg::WaypointStatuses>(),
            list::<i64>(),
            list::<f64>(),
            list::<bool>(),
            list::<String>(),
            json(),
            queue(),
        ];
        let scalars = [
            i8::TYPE,
            i16::TYPE,
            i32::TYPE,
            i64::TYPE,
            u8::TYPE,
            u16::TYPE,
            u32::TYPE,
            u64::TYPE,
            f32::TYPE,
            f64::TYPE,
            bool::TYPE,
            Text::TYPE,
            Value::TYPE,
            NodeStatus::TYPE,
            Milliseconds::TYPE,
        ];
        let by_id = (0..)
            .zip(&codecs)
            .map(|(index, codec)| (codec.info.id, index))
            .collect();
        let infos = codecs.iter().map(|codec| codec.info).chain(scalars);
        let infos = infos.map(|info| (info.name, info)).collect();
        Objects { codecs, by_id, infos }
    })
}

/// The type of an entry by its name.
pub fn type_info(name: &str) -> Option<&'static TypeInfo> {
    objects().infos.get(name).copied()
}

/// The stored form of a blackboard value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum StoredValue {
    /// Declared but not written.
    Empty,
    /// An integer.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// A number.
    Real(f64),
    /// A text.
    Text(Arc<str>),
    /// An object.
    Object(Encoded),
    /// An object of a type that recordings do not know: its type and its JSON form.
    Other(String, String),
}

impl StoredValue {
    /// The stored form of a value.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Empty => Self::Empty,
            Value::Int(number) => Self::Int(*number),
            Value::UInt(number) => Self::UInt(*number),
            Value::Real(number) => Self::Real(*number),
            Value::Text(text) => Self::Text(Arc::clone(text)),
            Value::Object(object) => {
                let objects = objects();
                let codec = objects
                    .by_id
                    .get(&object.as_any().type_id())
                    .and_then(|index| objects.codecs.get(*index));
                match codec.and_then(|codec| (codec.encode)(object.as_ref())) {
                    Some(data) => Self::Object(Encoded {
                        type_name: object.info().name.to_owned(),
                        data: Bytes(data),
                    }),
                    None => Self::Other(object.info().name.to_owned(), object.to_json().to_string()),
                }
            }
        }
    }

    /// The value.
    ///
    /// # Errors
    /// The type is not known, or the data is not of this type.
    pub fn value(&self) -> Result<Value, String> {
        Ok(match self {
            Self::Empty => Value::Empty,
            Self::Int(number) => Value::Int(*number),
            Self::UInt(number) => Value::UInt(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Text(text) => Value::Text(Arc::clone(text)),
            Self::Object(encoded) => {
                let info = type_info(&encoded.type_name).ok_or_else(|| unknown(&encoded.type_name))?;
                let objects = objects();
                let codec = objects
                    .by_id
                    .get(&info.id)
                    .and_then(|index| objects.codecs.get(*index))
                    .ok_or_else(|| unknown(&encoded.type_name))?;
                (codec.decode)(&encoded.data.0).map_err(|error| format!("{}: {error}", encoded.type_name))?
            }
            Self::Other(name, _) => {
                return Err(format!(
                    "the type `{name}` of your own cannot be read back from a recording"
                ));
            }
        })
    }

    /// The value as JSON, for people.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Empty => serde_json::Value::Null,
            Self::Int(number) => (*number).into(),
            Self::UInt(number) => (*number).into(),
            Self::Real(number) => (*number).into(),
            Self::Text(text) => text.to_string().into(),
            Self::Object(encoded) => payload_json(encoded),
            Self::Other(_, json) => serde_json::from_str(json).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::{Header, Path, Pose, PoseStamped};

    fn round_trip(value: &Value) {
        let stored = StoredValue::of(value);
        assert!(!matches!(stored, StoredValue::Other(..)), "{value:?}");
        let bytes = rmp_serde::to_vec_named(&stored).unwrap();
        let read: StoredValue = rmp_serde::from_slice(&bytes).unwrap();
        assert_eq!(&read.value().unwrap(), value);
    }

    #[test]
    fn values_keep_their_type_and_every_bit() {
        let path = Path::through(Header::in_frame("map"), [Pose::planar(0.1, 1.0 / 3.0, 2.0)]);
        for value in [
            Value::Empty,
            Value::Int(-7),
            Value::UInt(u64::MAX),
            Value::Real(0.1 + 0.2),
            Value::Real(f64::INFINITY),
            Value::text("a\u{0}b"),
            Value::object(path),
            Value::object(PoseStamped::default()),
            Value::object(List(vec![1_i64, -2])),
            Value::object(List(vec!["a".to_owned()])),
            Value::object(Json(serde_json::json!({"a": [1, 2.5, null]}))),
        ] {
            round_trip(&value);
        }
        let not_a_number = StoredValue::of(&Value::Real(f64::NAN)).value();
        assert!(matches!(not_a_number, Ok(Value::Real(number)) if number.is_nan()));
    }

    #[test]
    fn a_queue_is_stored_with_its_values() {
        let queue = Value::object(Queue::from_iter([Value::Int(1), Value::text("b")]));
        let read = StoredValue::of(&queue).value().unwrap();
        let read: Arc<Queue> = read.downcast().unwrap();
        assert_eq!(
            (read.pop(), read.pop(), read.pop()),
            (Some(Value::Int(1)), Some(Value::text("b")), None)
        );
    }
}
