//! The stored form of messages and of blackboard values: MessagePack with the field names of the interface, under the
//! name of the type. It keeps what JSON loses: numbers that are not finite, and 32-bit floats.

mod value;

use std::any::TypeId;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::msg;
use crate::msg::{action, service};
use crate::nav::Payload;

pub use value::{StoredValue, type_info};

/// Bytes, which MessagePack has a form for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
        }

        deserializer.deserialize_byte_buf(Visitor)
    }
}

/// A message or an object: its type, and its fields in MessagePack.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Encoded {
    /// The name of the type; empty for a type that recordings do not know.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The fields.
    pub data: Bytes,
}

/// The types of messages in transit.
struct MessageCodec {
    name: &'static str,
    id: TypeId,
    encode: fn(&Payload) -> Option<Vec<u8>>,
    decode: fn(&[u8]) -> Result<Payload, String>,
}

fn message<T: Serialize + DeserializeOwned + Send + Sync + 'static>(name: &'static str) -> MessageCodec {
    MessageCodec {
        name,
        id: TypeId::of::<T>(),
        encode: |payload| rmp_serde::to_vec_named(payload.get::<T>()?).ok(),
        decode: |bytes| {
            rmp_serde::from_slice::<T>(bytes)
                .map(Payload::new)
                .map_err(|error| error.to_string())
        },
    }
}

/// The codecs of all messages, by type and by name.
struct Messages {
    codecs: Vec<MessageCodec>,
    by_id: FxHashMap<TypeId, usize>,
    by_name: FxHashMap<&'static str, usize>,
}

fn messages() -> &'static Messages {
    static MESSAGES: OnceLock<Messages> = OnceLock::new();
    MESSAGES.get_or_init(|| {
        let mut codecs = vec![
            message::<serde_json::Value>("json"),
            message::<()>("empty"),
            message::<String>("std_msgs/msg/String"),
            message::<bool>("std_msgs/msg/Bool"),
            message::<msg::StampedGoals>("nav_msgs/msg/Goals"),
        ];
        macro_rules! of_actions {
            ($($file:ident: $action:ident,)*) => {$(
                codecs.push(message::<<action::$action as msg::Action>::Goal>(concat!(stringify!($action), "_Goal")));
                codecs.push(message::<<action::$action as msg::Action>::Result>(concat!(stringify!($action), "_Result")));
                codecs.push(message::<<action::$action as msg::Action>::Feedback>(concat!(stringify!($action), "_Feedback")));
            )*};
        }
        action::actions!(of_actions);
        macro_rules! of_services {
            ($($file:ident: $service:ident,)*) => {$(
                codecs.push(message::<<service::$service as msg::Service>::Request>(concat!(stringify!($service), "_Request")));
                codecs.push(message::<<service::$service as msg::Service>::Response>(concat!(stringify!($service), "_Response")));
            )*};
        }
        service::services!(of_services);
        codecs.push(message::<service::GetCostsRequest>("GetCosts_Request"));
        codecs.push(message::<service::GetCostsResponse>("GetCosts_Response"));
        macro_rules! of_topics {
            ($($message:ident)*) => {$(
                codecs.push(message::<msg::$message>(msg::$message::ROS_TYPE));
            )*};
        }
        msg::topics!(of_topics);
        let by_id = (0..).zip(&codecs).map(|(index, codec)| (codec.id, index)).collect();
        let by_name = (0..).zip(&codecs).map(|(index, codec)| (codec.name, index)).collect();
        Messages { codecs, by_id, by_name }
    })
}

/// The stored form of a message. Of a type that recordings do not know, only this fact is stored.
pub fn encode_payload(payload: &Payload) -> Encoded {
    let messages = messages();
    let codec = messages
        .by_id
        .get(&payload.type_of())
        .and_then(|index| messages.codecs.get(*index));
    let encoded = codec.and_then(|codec| Some((codec.name, (codec.encode)(payload)?)));
    let (name, data) = encoded.unwrap_or_default();
    Encoded {
        type_name: name.to_owned(),
        data: Bytes(data),
    }
}

/// The message of a stored form.
///
/// # Errors
/// The type is not known, or the data is not of this type.
pub fn decode_payload(encoded: &Encoded) -> Result<Payload, String> {
    let messages = messages();
    let codec = messages
        .by_name
        .get(&*encoded.type_name)
        .and_then(|index| messages.codecs.get(*index))
        .ok_or_else(|| unknown(&encoded.type_name))?;
    (codec.decode)(&encoded.data.0).map_err(|error| format!("{}: {error}", encoded.type_name))
}

fn unknown(name: &str) -> String {
    if name.is_empty() {
        "a message of a type of your own: recordings do not contain its data".to_owned()
    } else {
        format!("the type `{name}` is not known")
    }
}

/// The stored form of a message as JSON, for people. `Null` if it is not known.
pub fn payload_json(encoded: &Encoded) -> serde_json::Value {
    rmp_serde::from_slice(&encoded.data.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::msg::BatteryState;
    use crate::msg::action::{FollowPathGoal, SpinGoal};

    #[test]
    fn messages_keep_numbers_that_json_loses() {
        let battery = BatteryState {
            percentage: f32::NAN,
            voltage: 0.1,
            ..BatteryState::default()
        };
        let encoded = encode_payload(&Payload::new(battery));
        assert_eq!(encoded.type_name, "sensor_msgs/msg/BatteryState");
        let decoded = decode_payload(&encoded).unwrap();
        let read: &BatteryState = decoded.get().unwrap();
        assert!(read.percentage.is_nan() && read.voltage.to_bits() == 0.1_f32.to_bits());
    }

    #[test]
    fn goals_are_stored_under_their_name() {
        let goal = SpinGoal {
            target_yaw: 1.57,
            time_allowance: Duration::from_millis(10_500),
        };
        let encoded = encode_payload(&Payload::new(goal.clone()));
        assert_eq!(encoded.type_name, "Spin_Goal");
        assert_eq!(decode_payload(&encoded).unwrap().get::<SpinGoal>(), Some(&goal));
        let encoded = encode_payload(&Payload::new(FollowPathGoal::default()));
        assert_eq!(
            decode_payload(&encoded).unwrap().get::<FollowPathGoal>(),
            Some(&FollowPathGoal::default())
        );
    }

    #[test]
    fn each_message_type_has_one_name() {
        let messages = messages();
        assert_eq!(messages.codecs.len(), messages.by_id.len());
        assert_eq!(messages.codecs.len(), messages.by_name.len());
    }

    #[test]
    fn a_type_of_a_user_is_named_and_not_read() {
        let encoded = encode_payload(&Payload::new(7_u128));
        assert!(decode_payload(&encoded).is_err_and(|error| error.contains("of your own")));
        let garbage = Encoded {
            type_name: "Spin_Goal".to_owned(),
            data: Bytes(vec![0xc1, 0xff]),
        };
        assert!(decode_payload(&garbage).is_err());
    }
}
