//! Values as MessagePack, in the form of BehaviorTree.CPP's JSON library.

use std::collections::BTreeMap;

use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::record::codec::StoredValue;

/// A value for MessagePack.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Packed {
    Nil,
    Int(i64),
    UInt(u64),
    Real(f64),
    Text(String),
    List(Vec<Packed>),
    /// An empty one is nil, as in BehaviorTree.CPP.
    Map(BTreeMap<String, Packed>),
}

impl Packed {
    /// The bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // MessagePack can hold all of it.
        rmp_serde::to_vec(self).unwrap_or_default()
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => serializer.serialize_unit(),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::UInt(number) => serializer.serialize_u64(*number),
            // The shortest form that loses nothing.
            Self::Real(number) if f64::from(*number as f32).to_bits() == number.to_bits() => {
                serializer.serialize_f32(*number as f32)
            }
            Self::Real(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => serializer.collect_seq(list),
            Self::Map(map) if map.is_empty() => serializer.serialize_unit(),
            Self::Map(map) => serializer.collect_map(map),
        }
    }
}

impl From<&StoredValue> for Packed {
    fn from(value: &StoredValue) -> Self {
        match value {
            StoredValue::Empty => Self::Nil,
            StoredValue::Int(number) => Self::Int(*number),
            StoredValue::UInt(number) => Self::UInt(*number),
            StoredValue::Real(number) => Self::Real(*number),
            StoredValue::Text(text) => Self::Text(text.to_string()),
            StoredValue::Object(_) | StoredValue::Other(..) => Self::from(&value.to_json()),
        }
    }
}

impl From<&Json> for Packed {
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(flag) => Self::Int(i64::from(*flag)),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Self::Int(number),
                (None, Some(number)) => Self::UInt(number),
                (None, None) => number.as_f64().map_or(Self::Nil, Self::Real),
            },
            Json::String(text) => Self::Text(text.clone()),
            Json::Array(list) => Self::List(list.iter().map(Self::from).collect()),
            Json::Object(map) => {
                let entries = map.iter().map(|(key, value)| (key.clone(), Self::from(value)));
                Self::Map(entries.collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes come from BehaviorTree.CPP's `Groot2Publisher` (behaviortreepy 0.1.4).
    #[test]
    fn values_have_the_bytes_of_behaviortree_cpp() {
        let values = [
            ("big", Packed::Int(70000)),
            ("d", Packed::Real(1.5)),
            ("f", Packed::Real(0.1)),
            ("neg", Packed::Real(-3.0)),
            ("s", Packed::Text("text".into())),
            ("x", Packed::Int(5)),
        ];
        let main = values.map(|(key, value)| (key.to_owned(), value));
        let boards = [
            ("Main".to_owned(), Packed::Map(main.into())),
            ("inner".to_owned(), Packed::Map(BTreeMap::new())),
        ];
        assert_eq!(
            Packed::Map(boards.into()).to_bytes(),
            b"\x82\xa4Main\x86\xa3big\xce\x00\x01\x11p\xa1d\xca?\xc0\x00\x00\xa1f\xcb?\xb9\x99\x99\x99\x99\x99\x9a\
              \xa3neg\xca\xc0@\x00\x00\xa1s\xa4text\xa1x\x05\xa5inner\xc0"
        );
        assert_eq!(Packed::Map(BTreeMap::new()).to_bytes(), b"\xc0");
    }
}
