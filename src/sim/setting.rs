//! A setting of `nav_sim`: its type, its row in the table, and its errors.

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
}

impl Value {
    /// `bool`, `int`, `double`, `string` or `string array`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Texts(_) => "string array",
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "\"{value}\""),
            Self::Texts(values) => write!(f, "{values:?}"),
        }
    }
}

/// The reason why a parameter was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// The parameter does not exist.
    #[error("nav_sim has no parameter `{0}`")]
    Unknown(String),
    /// The value has another type.
    #[error("`{name}` is a {expected}, not a {got}")]
    Type {
        /// The parameter.
        name: String,
        /// The type of the parameter.
        expected: &'static str,
        /// The type of the value.
        got: &'static str,
    },
    /// The number is out of range.
    #[error("`{name}` is {value}, but must be {expected}")]
    Range {
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
        /// The allowed range.
        expected: &'static str,
    },
    /// The text cannot be read.
    #[error("`{name}`: {reason}")]
    Text {
        /// The parameter.
        name: String,
        /// The reason.
        reason: String,
    },
}

/// The type of a setting, with conversions from and to [`Value`].
pub trait Setting: Sized + Clone {
    /// Converts from a parameter; `None` for a value of another type.
    fn read(value: &Value) -> Option<Self>;
    /// Converts to a parameter.
    fn write(&self) -> Value;
}

impl Setting for bool {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
    fn write(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Setting for i64 {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }
    fn write(&self) -> Value {
        Value::Int(*self)
    }
}

impl Setting for f64 {
    /// An integer is accepted as a number, for example `speed_factor: 2` in a parameter file.
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Double(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            _ => None,
        }
    }
    fn write(&self) -> Value {
        Value::Double(*self)
    }
}

impl Setting for String {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(value) => Some(value.clone()),
            _ => None,
        }
    }
    fn write(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Setting for Vec<String> {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Texts(values) => Some(values.clone()),
            _ => None,
        }
    }
    fn write(&self) -> Value {
        Value::Texts(self.clone())
    }
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name of the ROS parameter.
    pub name: String,
    /// The default, which determines the type.
    pub default: Value,
    /// The description, with the unit.
    pub description: &'static str,
}

/// Reads `value` into `target`.
///
/// # Errors
/// [`SettingError::Type`] if the types differ.
pub(super) fn assign<T: Setting>(target: &mut T, name: &str, value: &Value) -> Result<(), SettingError> {
    *target = T::read(value).ok_or_else(|| SettingError::Type {
        name: name.to_owned(),
        expected: target.write().type_name(),
        got: value.type_name(),
    })?;
    Ok(())
}

/// A struct of settings with its table: one place for fields, defaults and documentation.
macro_rules! settings {
    ($(#[$struct_doc:meta])* $struct:ident { $(#[doc = $doc:literal] $field:ident: $type:ty = $default:expr;)* }) => {
        $(#[$struct_doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $struct {
            $(#[doc = $doc] pub $field: $type,)*
        }

        impl Default for $struct {
            fn default() -> Self {
                Self { $($field: $default.into(),)* }
            }
        }

        impl $struct {
            /// The parameters with their defaults, in the order of the documentation.
            pub fn table() -> Vec<$crate::sim::setting::Parameter> {
                let defaults = Self::default();
                vec![$($crate::sim::setting::Parameter {
                    name: stringify!($field).to_owned(),
                    default: $crate::sim::setting::Setting::write(&defaults.$field),
                    description: $doc.trim(),
                },)*]
            }

            /// Sets the field with the name `key`; `name` is the full parameter name, for the error.
            pub(in crate::sim) fn assign(
                &mut self,
                key: &str,
                name: &str,
                value: &$crate::sim::setting::Value,
            ) -> Result<(), $crate::sim::setting::SettingError> {
                match key {
                    $(stringify!($field) => $crate::sim::setting::assign(&mut self.$field, name, value),)*
                    _ => Err($crate::sim::setting::SettingError::Unknown(name.to_owned())),
                }
            }
        }
    };
}
pub(super) use settings;
