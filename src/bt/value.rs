//! The value of a blackboard entry: a small value with its type erased.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use super::types::TypeInfo;

/// A value on the blackboard or in a script.
///
/// Integers of every width, booleans and enumerations are stored as [`Value::Int`], as in BehaviorTree.CPP's `Any`. The
/// declared type of the entry keeps the original type. Texts and objects are shared: passing a path of ten thousand
/// poses from a planner to a controller copies one pointer.
#[derive(Clone, Default)]
pub enum Value {
    /// Declared but not written.
    #[default]
    Empty,
    /// Booleans (0 and 1), enumerations and integers up to 64 bits.
    Int(i64),
    /// A `uint64` above `i64::MAX`.
    UInt(u64),
    /// `float` and `double`; also every result of script arithmetic.
    Real(f64),
    /// A shared text.
    Text(Arc<str>),
    /// Any other shared, immutable value: messages, lists, user types.
    Object(Arc<dyn Object>),
}

impl Value {
    /// A text value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// An object value.
    pub fn object<T: Object>(object: T) -> Self {
        Self::Object(Arc::new(object))
    }

    /// Whether the value has not been written.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// The object as its own type, shared.
    pub fn downcast<T: Object>(&self) -> Option<Arc<T>> {
        let Self::Object(object) = self else { return None };
        if object.as_any().type_id() != TypeId::of::<T>() {
            return None;
        }
        Arc::clone(object).into_any().downcast().ok()
    }

    /// The object as its own type, borrowed without reference counting.
    #[inline]
    pub fn downcast_ref<T: Object>(&self) -> Option<&T> {
        let Self::Object(object) = self else { return None };
        object.as_any().downcast_ref()
    }

    /// The type for messages: `int`, `string`, `nav_msgs/Path`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Int(_) => "int",
            Self::UInt(_) => "unsigned",
            Self::Real(_) => "double",
            Self::Text(_) => "string",
            Self::Object(object) => object.info().name,
        }
    }

    /// The JSON form of BehaviorTree.CPP's blackboard export. `null` if a type has none.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Empty => serde_json::Value::Null,
            Self::Int(value) => (*value).into(),
            Self::UInt(value) => (*value).into(),
            Self::Real(value) => (*value).into(),
            Self::Text(value) => value.to_string().into(),
            Self::Object(object) => object.to_json(),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Empty, Self::Empty) => true,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Real(a), Self::Real(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a.equals(b.as_ref()),
            _ => false,
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty"),
            Self::Int(value) => value.fmt(f),
            Self::UInt(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(value) => fmt::Debug::fmt(value, f),
            Self::Object(object) => object.fmt(f),
        }
    }
}

/// A shared, immutable value of any type: messages, lists, user types.
///
/// Implemented by [`object!`](crate::object) for types that are `Debug + PartialEq + Send + Sync`.
pub trait Object: Any + Send + Sync + fmt::Debug {
    /// The declaration of the type.
    fn info(&self) -> &'static TypeInfo;
    /// Equality with an object of any type.
    fn equals(&self, other: &dyn Object) -> bool;
    /// The JSON form for monitors and logs. `null` if the type has none.
    fn to_json(&self) -> serde_json::Value;
    /// For downcasts by reference.
    fn as_any(&self) -> &dyn Any;
    /// For downcasts to a shared pointer.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// A list of numbers or texts, written `a;b;c`.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(pub Vec<T>);

#[cfg(test)]
mod tests {
    use super::{List, Value};

    #[test]
    fn a_value_and_an_optional_value_take_three_words() {
        assert_eq!(size_of::<Value>(), 24);
        assert_eq!(size_of::<Option<Value>>(), 24);
    }

    #[test]
    fn objects_are_shared_and_downcast_to_their_type() {
        let value = Value::object(List(vec![1_i64, 2]));
        let copy = value.clone();
        assert_eq!(copy.downcast::<List<i64>>().unwrap().0, [1, 2]);
        assert!(copy.downcast::<List<f64>>().is_none());
        assert_eq!(copy.downcast_ref::<List<i64>>().unwrap().0, [1, 2]);
        assert_eq!(value, copy);
        assert_eq!(value.to_json(), serde_json::json!([1, 2]));
    }
}
