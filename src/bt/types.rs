//! The types of ports, and their conversion from text.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use super::numeral::{parse_bool, parse_integer, parse_real};
use super::value::{List, Value};
use super::{Enums, NodeStatus};

/// The declaration of a port type. Each type has one static.
pub struct TypeInfo {
    /// The name in messages, reference pages and palettes: `int`, `double`, `geometry_msgs/PoseStamped`.
    pub name: &'static str,
    /// The name that BehaviorTree.CPP writes to a palette: `std::string`.
    pub cpp_name: &'static str,
    /// The Rust type.
    pub id: TypeId,
    /// Converts text to a value: literals when the tree is loaded, blackboard texts at run time.
    pub parse: fn(&str, &Enums) -> Result<Value, String>,
    /// The group of types that it converts to.
    pub family: Family,
}

/// Groups of types that convert into each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Any type: no check and no conversion.
    Any,
    /// `0`, `1`, `true`, `false`.
    Bool,
    /// A signed or unsigned integer with its limits.
    Integer {
        /// The minimum.
        least: i128,
        /// The maximum.
        greatest: i128,
    },
    /// `float`, `double`.
    Real,
    /// Text.
    Text,
    /// An object: no conversion to other types.
    Object,
}

impl TypeInfo {
    /// Whether an entry of this type keeps its type. False only for [`Family::Any`].
    pub fn is_strong(&self) -> bool {
        self.family != Family::Any
    }

    /// Whether this is a number or a boolean.
    pub fn is_numeric(&self) -> bool {
        matches!(self.family, Family::Bool | Family::Integer { .. } | Family::Real)
    }
}

impl PartialEq for TypeInfo {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for TypeInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A Rust type that a port can hold.
pub trait PortValue: Clone + Send + Sync + 'static {
    /// Its declaration.
    const TYPE: &'static TypeInfo;

    /// Converts a stored value that is not text. Text goes through [`TypeInfo::parse`] first.
    ///
    /// # Errors
    /// The reason why the value does not fit.
    fn from_value(value: &Value) -> Result<Self, String>;

    /// Converts to a stored value.
    fn into_value(self) -> Value;
}

/// Text, shared.
pub type Text = Arc<str>;

fn mismatch(value: &Value, wanted: &TypeInfo) -> String {
    format!("holds {}, but {} is required", value.type_name(), wanted.name)
}

/// The integer, or the reason why the value is not one of this type.
#[inline(never)]
fn integer_of(value: &Value, info: &TypeInfo) -> Result<i128, String> {
    match value {
        Value::Int(number) => Ok(i128::from(*number)),
        Value::UInt(number) => Ok(i128::from(*number)),
        Value::Real(number) if number.fract() == 0.0 && number.abs() < 9.3e18 => Ok(*number as i128),
        Value::Real(number) => Err(format!("{number} is not a whole number")),
        _ => Err(mismatch(value, info)),
    }
}

macro_rules! integer {
    ($($type:ty, $name:literal, $cpp:literal;)*) => {$(
        impl PortValue for $type {
            const TYPE: &'static TypeInfo = &TypeInfo {
                name: $name,
                cpp_name: $cpp,
                id: TypeId::of::<$type>(),
                parse: |text, _| {
                    let number = parse_integer(text, <$type>::MIN as i128, <$type>::MAX as i128)?;
                    Ok((number as $type).into_value())
                },
                family: Family::Integer { least: <$type>::MIN as i128, greatest: <$type>::MAX as i128 },
            };

            #[inline]
            fn from_value(value: &Value) -> Result<Self, String> {
                // The fast path: most entries hold this type, and the conversion through 128 bits takes three times as
                // long.
                if let Value::Int(number) = value
                    && let Ok(number) = <$type>::try_from(*number)
                {
                    return Ok(number);
                }
                let number = integer_of(value, Self::TYPE)?;
                <$type>::try_from(number).map_err(|_| format!("{number} does not fit {}", $name))
            }

            #[inline]
            fn into_value(self) -> Value {
                // Only a `u64` above `i64::MAX` needs the unsigned form.
                i64::try_from(self).map_or_else(|_| Value::UInt(self as u64), Value::Int)
            }
        }
    )*};
}

integer! {
    i8, "int8", "signed char";
    i16, "int16", "short";
    i32, "int", "int";
    i64, "int64", "long";
    u8, "uint8", "unsigned char";
    u16, "uint16", "unsigned short";
    u32, "unsigned", "unsigned int";
    u64, "uint64", "unsigned long";
}

macro_rules! real {
    ($($type:ty, $name:literal;)*) => {$(
        impl PortValue for $type {
            const TYPE: &'static TypeInfo = &TypeInfo {
                name: $name,
                cpp_name: $name,
                id: TypeId::of::<$type>(),
                parse: |text, _| parse_real(text).map(Value::Real),
                family: Family::Real,
            };

            #[inline]
            fn from_value(value: &Value) -> Result<Self, String> {
                const EXACT: u64 = 1 << 53;
                match value {
                    Value::Real(number) => Ok(*number as $type),
                    Value::Int(number) if number.unsigned_abs() < EXACT => Ok(*number as $type),
                    Value::UInt(number) if *number < EXACT => Ok(*number as $type),
                    Value::Int(_) | Value::UInt(_) => Err("the integer is too large to be exact as a double".to_owned()),
                    _ => Err(mismatch(value, Self::TYPE)),
                }
            }

            #[inline]
            fn into_value(self) -> Value {
                Value::Real(f64::from(self))
            }
        }
    )*};
}

real! {
    f64, "double";
    f32, "float";
}

impl PortValue for bool {
    const TYPE: &'static TypeInfo = &TypeInfo {
        name: "bool",
        cpp_name: "bool",
        id: TypeId::of::<bool>(),
        parse: |text, _| parse_bool(text).map(PortValue::into_value),
        family: Family::Bool,
    };

    #[inline]
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Int(0) | Value::UInt(0) => Ok(false),
            Value::Int(1) | Value::UInt(1) => Ok(true),
            Value::Real(number) if *number >= 0.0 => Ok(*number != 0.0),
            Value::Int(_) | Value::UInt(_) | Value::Real(_) => Err("only 0 and 1 are booleans".to_owned()),
            _ => Err(mismatch(value, Self::TYPE)),
        }
    }

    fn into_value(self) -> Value {
        Value::Int(i64::from(self))
    }
}

impl PortValue for Text {
    const TYPE: &'static TypeInfo = &TypeInfo {
        name: "string",
        cpp_name: "std::string",
        id: TypeId::of::<Text>(),
        parse: |text, _| Ok(Value::text(text)),
        family: Family::Text,
    };

    #[inline]
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(text) => Ok(Arc::clone(text)),
            Value::Int(number) => Ok(number.to_string().into()),
            Value::UInt(number) => Ok(number.to_string().into()),
            Value::Real(number) => Ok(format!("{number:.6}").into()),
            Value::Empty | Value::Object(_) => Err(mismatch(value, Self::TYPE)),
        }
    }

    fn into_value(self) -> Value {
        Value::Text(self)
    }
}

/// A port without a type: it reads and writes any value.
impl PortValue for Value {
    const TYPE: &'static TypeInfo = &TypeInfo {
        name: "any",
        cpp_name: "BT::AnyTypeAllowed",
        id: TypeId::of::<Value>(),
        parse: |text, _| Ok(Value::text(text)),
        family: Family::Any,
    };

    fn from_value(value: &Value) -> Result<Self, String> {
        Ok(value.clone())
    }

    fn into_value(self) -> Value {
        self
    }
}

impl PortValue for NodeStatus {
    const TYPE: &'static TypeInfo = &TypeInfo {
        name: "NodeStatus",
        cpp_name: "BT::NodeStatus",
        id: TypeId::of::<NodeStatus>(),
        parse: |text, _| {
            Self::from_name(text)
                .map(PortValue::into_value)
                .ok_or_else(|| format!("`{text}` is not a status (SUCCESS, FAILURE, RUNNING, SKIPPED, IDLE)"))
        },
        family: Family::Integer {
            least: 0,
            greatest: 4,
        },
    };

    fn from_value(value: &Value) -> Result<Self, String> {
        const ALL: [NodeStatus; 5] = [
            NodeStatus::Idle,
            NodeStatus::Running,
            NodeStatus::Success,
            NodeStatus::Failure,
            NodeStatus::Skipped,
        ];
        let number = integer_of(value, Self::TYPE)?;
        usize::try_from(number)
            .ok()
            .and_then(|index| ALL.get(index).copied())
            .ok_or_else(|| format!("{number} is not a status"))
    }

    fn into_value(self) -> Value {
        Value::Int(self as i64)
    }
}

/// A type that is stored on the blackboard as a shared object. Its ports are of type `Arc<T>`. Implemented by
/// [`object!`](crate::object).
pub trait ObjectType: super::Object + Sized {
    /// Its declaration.
    const TYPE: &'static TypeInfo;
}

impl<T: ObjectType> PortValue for Arc<T> {
    const TYPE: &'static TypeInfo = T::TYPE;

    fn from_value(value: &Value) -> Result<Self, String> {
        value.downcast::<T>().ok_or_else(|| mismatch(value, T::TYPE))
    }

    fn into_value(self) -> Value {
        Value::Object(self)
    }
}

/// Implements [`Object`](crate::bt::Object) and [`ObjectType`] for a type that is `Debug + PartialEq + Send + Sync`.
///
/// `object!(Path, "nav_msgs/Path", "nav_msgs::msg::Path", parse_function, json_function)`: `parse_function` is
/// `fn(&str) -> Result<Path, String>`, `json_function` is `fn(&Path) -> serde_json::Value`.
#[macro_export]
macro_rules! object {
    ($type:ty, $name:literal, $cpp:literal, $parse:expr, $json:expr) => {
        impl $crate::bt::Object for $type {
            fn info(&self) -> &'static $crate::bt::TypeInfo {
                <$type as $crate::bt::ObjectType>::TYPE
            }

            fn equals(&self, other: &dyn $crate::bt::Object) -> bool {
                other
                    .as_any()
                    .downcast_ref::<$type>()
                    .is_some_and(|other| self == other)
            }

            fn to_json(&self) -> $crate::serde_json::Value {
                let convert: fn(&$type) -> $crate::serde_json::Value = $json;
                convert(self)
            }

            fn as_any(&self) -> &dyn std::any::Any {
                self
            }

            fn into_any(self: std::sync::Arc<Self>) -> std::sync::Arc<dyn std::any::Any + Send + Sync> {
                self
            }
        }

        impl $crate::bt::ObjectType for $type {
            const TYPE: &'static $crate::bt::TypeInfo = &$crate::bt::TypeInfo {
                name: $name,
                cpp_name: $cpp,
                id: std::any::TypeId::of::<$type>(),
                parse: |text, _| {
                    let parse: fn(&str) -> Result<$type, String> = $parse;
                    parse(text).map($crate::bt::Value::object)
                },
                family: $crate::bt::Family::Object,
            };
        }
    };
}

/// Parses a list `a;b;c` or `json:[…]`. Elements are not trimmed, a trailing separator is ignored, and an empty text is
/// an empty list.
fn parse_list<T: serde::de::DeserializeOwned>(
    text: &str,
    item: fn(&str) -> Result<T, String>,
) -> Result<List<T>, String> {
    if let Some(json) = text.strip_prefix("json:") {
        return serde_json::from_str(json)
            .map(List)
            .map_err(|error| error.to_string());
    }
    let text = text.strip_suffix(';').unwrap_or(text);
    if text.is_empty() {
        return Ok(List(Vec::new()));
    }
    text.split(';').map(item).collect::<Result<_, _>>().map(List)
}

fn parse_i64(text: &str) -> Result<i64, String> {
    let number = parse_integer(text, i128::from(i64::MIN), i128::from(i64::MAX))?;
    i64::try_from(number).map_err(|error| error.to_string())
}

object!(
    List<i64>,
    "list<int>",
    "std::vector<int>",
    |text| parse_list(text, parse_i64),
    |list| list.0.clone().into()
);
object!(
    List<f64>,
    "list<double>",
    "std::vector<double>",
    |text| parse_list(text, parse_real),
    |list| list.0.clone().into()
);
object!(
    List<bool>,
    "list<bool>",
    "std::vector<bool>",
    |text| parse_list(text, parse_bool),
    |list| list.0.clone().into()
);
object!(
    List<String>,
    "list<string>",
    "std::vector<std::string>",
    |text| parse_list(text, |item| Ok(item.to_owned())),
    |list| list.0.clone().into()
);

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<T: PortValue>(text: &str) -> Result<T, String> {
        (T::TYPE.parse)(text, &Enums::default()).and_then(|value| T::from_value(&value))
    }

    #[test]
    fn text_becomes_numbers_as_in_behaviortree_cpp() {
        assert_eq!(parsed::<i32>("12abc"), Ok(12));
        assert_eq!(parsed::<i32>("-7"), Ok(-7));
        assert!(parsed::<i32>(" 12").is_err());
        assert!(parsed::<i32>("+12").is_err());
        for (text, beyond) in [("300", "300"), (&"9".repeat(60), "999")] {
            let error = parsed::<u8>(text).unwrap_err();
            assert!(
                error.contains(beyond) && error.contains("out of range"),
                "{error}"
            );
        }
        assert_eq!(parsed::<f64>("1.5e3x"), Ok(1500.0));
        for (text, number) in [
            ("1.", 1.0),
            (".5", 0.5),
            ("-2e", -2.0),
            ("3e-", 3.0),
            ("4E+1e5", 40.0),
            ("1.2.3", 1.2),
            ("-infinite", f64::NEG_INFINITY),
        ] {
            assert_eq!(parsed::<f64>(text), Ok(number), "{text}");
        }
        assert!(parsed::<f64>("nano").unwrap().is_nan());
        for text in ["", "-", ".", "e5", "+1", " 1", "1e999", "-1e999m", "€"] {
            assert!(parsed::<f64>(text).is_err(), "{text}");
        }
        assert_eq!(parsed::<bool>("True"), Ok(true));
        assert!(parsed::<bool>("yes").is_err());
        assert_eq!(parsed::<NodeStatus>("SKIPPED"), Ok(NodeStatus::Skipped));
        assert_eq!(parsed::<Arc<List<i64>>>("1;2;3;").unwrap().0, [1, 2, 3]);
        assert_eq!(parsed::<Arc<List<String>>>("a;;b").unwrap().0, ["a", "", "b"]);
    }

    #[test]
    fn a_long_text_is_parsed_in_linear_time() {
        let text = "1".repeat(300) + &"e".repeat(1_000_000);
        assert_eq!(parsed::<f64>(&text).ok(), "1".repeat(300).parse().ok());
        assert!(parsed::<i64>(&"1".repeat(1_000_000)).is_err());
    }

    #[test]
    fn values_convert_only_without_loss() {
        assert_eq!(i32::from_value(&Value::Real(3.0)), Ok(3));
        assert!(i32::from_value(&Value::Real(3.5)).is_err());
        assert!(u8::from_value(&Value::Int(-1)).is_err());
        assert!(bool::from_value(&Value::Real(-1.0)).is_err());
        assert_eq!(bool::from_value(&Value::Real(2.0)), Ok(true));
        assert!(f64::from_value(&Value::Int(1 << 60)).is_err());
        assert_eq!(&*Text::from_value(&Value::Real(1.5)).unwrap(), "1.500000");
    }

    /// A port type of a user.
    #[derive(Clone, Debug, PartialEq)]
    struct Colour(i64);

    impl PortValue for Colour {
        const TYPE: &'static TypeInfo = &TypeInfo {
            name: "Colour",
            cpp_name: "Colour",
            id: TypeId::of::<Colour>(),
            parse: |text, enums| {
                enums
                    .get(text)
                    .map(Value::Int)
                    .ok_or_else(|| format!("no colour `{text}`"))
            },
            family: Family::Integer {
                least: 0,
                greatest: 9,
            },
        };

        fn from_value(value: &Value) -> Result<Self, String> {
            i64::from_value(value).map(Self)
        }

        fn into_value(self) -> Value {
            Value::Int(self.0)
        }
    }

    #[test]
    fn an_enumeration_name_is_not_a_number_for_other_ports() {
        let mut enums = Enums::default();
        enums.insert("RED", 7).unwrap();
        assert_eq!((Colour::TYPE.parse)("RED", &enums), Ok(Value::Int(7)));
        for plain in [i32::TYPE, u64::TYPE, f64::TYPE, f32::TYPE, bool::TYPE] {
            assert!((plain.parse)("RED", &enums).is_err(), "{plain:?}");
        }
    }
}
