//! The values and types of parameters.

use std::fmt;

/// `rcl_interfaces/ParameterType`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ParameterType {
    /// No value.
    NotSet = 0,
    /// A Boolean.
    Bool = 1,
    /// An integer.
    Integer = 2,
    /// A floating point number.
    Double = 3,
    /// Text.
    String = 4,
    /// Bytes.
    ByteArray = 5,
    /// A list of Booleans.
    BoolArray = 6,
    /// A list of integers.
    IntegerArray = 7,
    /// A list of floating point numbers.
    DoubleArray = 8,
    /// A list of texts.
    StringArray = 9,
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotSet => "not set",
            Self::Bool => "bool",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::String => "string",
            Self::ByteArray => "byte array",
            Self::BoolArray => "bool array",
            Self::IntegerArray => "integer array",
            Self::DoubleArray => "double array",
            Self::StringArray => "string array",
        })
    }
}

/// A parameter's value.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum ParameterValue {
    /// No value.
    #[default]
    NotSet,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating point number.
    Double(f64),
    /// Text.
    String(String),
    /// Bytes.
    ByteArray(Vec<u8>),
    /// A list of Booleans.
    BoolArray(Vec<bool>),
    /// A list of integers.
    IntegerArray(Vec<i64>),
    /// A list of floating point numbers.
    DoubleArray(Vec<f64>),
    /// A list of texts.
    StringArray(Vec<String>),
}

impl ParameterValue {
    /// The type of the value.
    pub fn parameter_type(&self) -> ParameterType {
        match self {
            Self::NotSet => ParameterType::NotSet,
            Self::Bool(_) => ParameterType::Bool,
            Self::Integer(_) => ParameterType::Integer,
            Self::Double(_) => ParameterType::Double,
            Self::String(_) => ParameterType::String,
            Self::ByteArray(_) => ParameterType::ByteArray,
            Self::BoolArray(_) => ParameterType::BoolArray,
            Self::IntegerArray(_) => ParameterType::IntegerArray,
            Self::DoubleArray(_) => ParameterType::DoubleArray,
            Self::StringArray(_) => ParameterType::StringArray,
        }
    }

    /// Converts to a type. An integer can become a floating point number (`controller_frequency: 20` in a file is one
    /// of Nav2's classic crashes), and an empty list, which has no type in a file, any list.
    #[must_use]
    pub fn coerced(self, to: ParameterType) -> Self {
        match (self, to) {
            (Self::Integer(number), ParameterType::Double) => Self::Double(number as f64),
            (Self::IntegerArray(numbers), ParameterType::DoubleArray) => {
                Self::DoubleArray(numbers.into_iter().map(|number| number as f64).collect())
            }
            (list, ParameterType::StringArray) if list.is_empty_list() => Self::StringArray(Vec::new()),
            (list, ParameterType::DoubleArray) if list.is_empty_list() => Self::DoubleArray(Vec::new()),
            (list, ParameterType::IntegerArray) if list.is_empty_list() => Self::IntegerArray(Vec::new()),
            (list, ParameterType::BoolArray) if list.is_empty_list() => Self::BoolArray(Vec::new()),
            (other, _) => other,
        }
    }

    fn is_empty_list(&self) -> bool {
        match self {
            Self::ByteArray(list) => list.is_empty(),
            Self::BoolArray(list) => list.is_empty(),
            Self::IntegerArray(list) => list.is_empty(),
            Self::DoubleArray(list) => list.is_empty(),
            Self::StringArray(list) => list.is_empty(),
            _ => false,
        }
    }

    /// The Boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_double(&self) -> Option<f64> {
        match self {
            Self::Double(value) => Some(*value),
            Self::Integer(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(value) => Some(value),
            _ => None,
        }
    }

    /// The texts, if it is a list of them.
    pub fn as_strings(&self) -> Option<&[String]> {
        match self {
            Self::StringArray(value) => Some(value),
            _ => None,
        }
    }
}

impl fmt::Display for ParameterValue {
    /// Writes the form of a port value: lists with semicolons.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    f.write_str(";")?;
                }
                write!(f, "{item}")?;
            }
            Ok(())
        }
        match self {
            Self::NotSet => Ok(()),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value}"),
            Self::String(value) => f.write_str(value),
            Self::ByteArray(items) => list(f, items),
            Self::BoolArray(items) => list(f, items),
            Self::IntegerArray(items) => list(f, items),
            Self::DoubleArray(items) => list(f, items),
            Self::StringArray(items) => list(f, items),
        }
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident,)*) => {
        $(impl From<$type> for ParameterValue {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Bool,
    i64 => Integer,
    f64 => Double,
    &str => String,
    String => String,
    Vec<String> => StringArray,
    Vec<f64> => DoubleArray,
    Vec<i64> => IntegerArray,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_accepted_for_a_double_parameter() {
        let coerced = ParameterValue::from(20_i64).coerced(ParameterType::Double);
        assert_eq!(coerced, ParameterValue::Double(20.0));
        let kept = ParameterValue::from(0.5).coerced(ParameterType::Integer);
        assert_eq!(kept, ParameterValue::Double(0.5));
        let list = ParameterValue::ByteArray(Vec::new()).coerced(ParameterType::StringArray);
        assert_eq!(list, ParameterValue::StringArray(Vec::new()));
    }

    #[test]
    fn text_is_that_of_a_port() {
        assert_eq!(
            ParameterValue::from(vec!["a".to_owned(), "b".to_owned()]).to_string(),
            "a;b"
        );
        assert_eq!(ParameterValue::from(0.5).to_string(), "0.5");
    }
}
