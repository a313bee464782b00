//! Bound ports: the access of a node to the values that it reads and writes.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Context;
use super::behavior::Thrown;
use super::blackboard::SlotId;
use super::port_range::PortRange;
use super::types::{ObjectType, PortValue, Text};
use super::value::Value;

/// The binding of an attribute.
#[derive(Clone, Debug, Default)]
pub enum Binding {
    /// No attribute and no default.
    #[default]
    Absent,
    /// A fixed value of the port's type.
    Literal(Value),
    /// A blackboard entry.
    Slot(SlotId),
}

/// The reason why a port has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// The attribute is absent and the port has no default.
    #[error("the port is not set")]
    Absent,
    /// The entry has not been written.
    #[error("its blackboard entry has not been written yet")]
    Unwritten,
    /// The entry holds a value of another type.
    #[error("{0}")]
    Mismatch(String),
}

#[derive(Debug, Clone)]
enum Source<T> {
    Absent,
    Literal(T),
    Slot(SlotId),
}

/// A bound input port.
#[derive(Debug, Clone)]
pub struct Input<T> {
    source: Source<T>,
    name: Cow<'static, str>,
    /// The numbers that make sense.
    range: Option<PortRange>,
}

impl<T: PortValue> Input<T> {
    pub(super) fn new(binding: Binding, name: Cow<'static, str>, range: Option<PortRange>) -> Self {
        let source = match binding {
            Binding::Absent => Source::Absent,
            Binding::Slot(slot) => Source::Slot(slot),
            Binding::Literal(value) => T::from_value(&value).map_or(Source::Absent, Source::Literal),
        };
        Self { source, name, range }
    }

    /// Reads the port. A literal was parsed when the tree was compiled. An entry is converted if necessary. Texts and
    /// objects are shared, not copied.
    ///
    /// # Errors
    /// [`PortError`]: absent, not written yet, or of another type.
    #[inline]
    pub fn get(&self, cx: &Context<'_>) -> Result<T, PortError> {
        match &self.source {
            Source::Slot(slot) => match cx.blackboard().get(*slot) {
                Some(Value::Text(text)) if T::TYPE.is_strong() && T::TYPE.id != Text::TYPE.id => {
                    convert_text(text, cx)
                }
                Some(value) => T::from_value(value).map_err(PortError::Mismatch),
                None => Err(PortError::Unwritten),
            },
            Source::Literal(value) => Ok(value.clone()),
            Source::Absent => Err(PortError::Absent),
        }
    }

    /// Reads the port. Returns `otherwise` if the port has no value of its type.
    #[inline]
    pub fn get_or(&self, cx: &Context<'_>, otherwise: T) -> T {
        self.get(cx).unwrap_or(otherwise)
    }

    /// Reads the port. If this fails, fails the tree with a message that names the port.
    ///
    /// # Errors
    /// [`Thrown`].
    #[inline]
    pub fn require(&self, cx: &mut Context<'_>) -> Result<T, Thrown> {
        match self.get(cx) {
            Ok(value) => {
                self.check_range(cx, &value);
                Ok(value)
            }
            Err(error) => Err(self.refuse(cx, &error)),
        }
    }

    /// Reads an optional port. `None` if the attribute is absent or the entry has not been written.
    ///
    /// # Errors
    /// [`Thrown`] if the entry holds a value of another type. This is an error of the tree.
    #[inline]
    pub fn optional(&self, cx: &mut Context<'_>) -> Result<Option<T>, Thrown> {
        match self.get(cx) {
            Ok(value) => {
                self.check_range(cx, &value);
                Ok(Some(value))
            }
            Err(PortError::Absent | PortError::Unwritten) => Ok(None),
            Err(error) => Err(self.refuse(cx, &error)),
        }
    }

    /// Reads a port without a default. `None` if the attribute is absent.
    ///
    /// # Errors
    /// [`Thrown`] if the entry has not been written or holds a value of another type.
    #[inline]
    pub fn if_set(&self, cx: &mut Context<'_>) -> Result<Option<T>, Thrown> {
        if self.is_set() {
            self.require(cx).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Warns of a number from the blackboard that makes no sense. A literal was checked when the tree was compiled.
    #[inline]
    fn check_range(&self, cx: &mut Context<'_>, value: &T) {
        if let (Some(range), Source::Slot(_)) = (&self.range, &self.source)
            && let Ok(number) = f64::from_value(&value.clone().into_value())
            && !range.contains(number)
        {
            cx.warn(format!("port `{}` is {number}; it must be {range}", self.name));
        }
    }

    #[cold]
    fn refuse(&self, cx: &mut Context<'_>, error: &PortError) -> Thrown {
        cx.throw(format!("port `{}`: {error}", self.name))
    }

    /// The entry of the port, if it is bound to one.
    pub fn slot(&self) -> Option<SlotId> {
        match self.source {
            Source::Slot(slot) => Some(slot),
            Source::Absent | Source::Literal(_) => None,
        }
    }

    /// The literal of the port, if it has one.
    pub fn literal(&self) -> Option<&T> {
        match &self.source {
            Source::Literal(value) => Some(value),
            Source::Absent | Source::Slot(_) => None,
        }
    }

    /// Whether the port has an attribute or a default.
    pub fn is_set(&self) -> bool {
        !matches!(self.source, Source::Absent)
    }

    /// The number of writes to the entry so far; 0 for a literal.
    pub fn sequence(&self, cx: &Context<'_>) -> u64 {
        self.slot()
            .map_or(0, |slot| cx.blackboard().entry(slot).sequence())
    }

    /// The attribute name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cold]
fn convert_text<T: PortValue>(text: &str, cx: &Context<'_>) -> Result<T, PortError> {
    (T::TYPE.parse)(text, cx.enums())
        .and_then(|value| T::from_value(&value))
        .map_err(PortError::Mismatch)
}

impl Input<Text> {
    /// Borrows a text without reference counting and without a copy.
    #[inline]
    pub fn as_str<'c>(&'c self, cx: &'c Context<'_>) -> Option<&'c str> {
        match &self.source {
            Source::Literal(text) => Some(text),
            Source::Slot(slot) => match cx.blackboard().get(*slot) {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            },
            Source::Absent => None,
        }
    }
}

impl<T: ObjectType> Input<Arc<T>> {
    /// Borrows an object without reference counting and without a copy. `None` if the entry holds no object of this
    /// type.
    #[inline]
    pub fn as_object<'c>(&'c self, cx: &'c Context<'_>) -> Option<&'c T> {
        match &self.source {
            Source::Literal(object) => Some(object),
            Source::Slot(slot) => cx.blackboard().get(*slot)?.downcast_ref(),
            Source::Absent => None,
        }
    }
}

/// A bound output port.
#[derive(Debug, Clone)]
pub struct Output<T> {
    slot: Option<SlotId>,
    name: Cow<'static, str>,
    kind: PhantomData<fn(T)>,
}

impl<T: PortValue> Output<T> {
    pub(super) fn new(binding: &Binding, name: Cow<'static, str>) -> Self {
        let slot = match binding {
            Binding::Slot(slot) => Some(*slot),
            Binding::Absent | Binding::Literal(_) => None,
        };
        Self {
            slot,
            name,
            kind: PhantomData,
        }
    }

    /// Writes the entry. A write to an absent port has no effect.
    ///
    /// # Errors
    /// [`Thrown`] if the entry is of another type.
    #[inline]
    pub fn set(&self, cx: &mut Context<'_>, value: T) -> Result<(), Thrown> {
        let Some(slot) = self.slot else { return Ok(()) };
        match cx.write(slot, value.into_value(), T::TYPE) {
            Ok(()) => Ok(()),
            Err(clash) => Err(cx.throw(format!("port `{}`: {clash}", self.name))),
        }
    }

    /// The entry of the port.
    pub fn slot(&self) -> Option<SlotId> {
        self.slot
    }

    /// The attribute name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Output<Text> {
    /// Writes a text again if the entry already holds the text at this address; otherwise does nothing. Returns whether
    /// it did. Avoids reference counting, which is most of the cost of a write.
    #[inline]
    pub fn set_same(&self, cx: &mut Context<'_>, text: *const str) -> bool {
        self.slot.is_none_or(|slot| cx.write_same_text(slot, text))
    }
}

/// A bound port that is read and written.
#[derive(Debug, Clone)]
pub struct InOut<T> {
    /// The input side.
    pub input: Input<T>,
    /// The output side.
    pub output: Output<T>,
}

impl<T: PortValue> InOut<T> {
    pub(super) fn new(binding: Binding, name: Cow<'static, str>) -> Self {
        Self {
            output: Output::new(&binding, name.clone()),
            input: Input::new(binding, name, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::{forest, leaf, tree};
    use crate::bt::{Behavior, List, NodeKind, NodeStatus, Registry, Tick, Time, Tree, compile};

    struct Looks(Input<Arc<List<i64>>>);

    impl Behavior for Looks {
        fn tick(&self, cx: &mut Context<'_>) -> Tick {
            let looked = self.0.as_object(cx).map(|list| list.0.clone());
            assert_eq!(looked, self.0.get(cx).ok().map(|list| list.0.clone()));
            Ok(if looked == Some(vec![1, 2]) {
                NodeStatus::Success
            } else {
                NodeStatus::Failure
            })
        }
    }

    #[test]
    fn an_object_is_borrowed_in_place() {
        let mut registry = Registry::builtin();
        registry.provide_key("list");
        registry
            .register_with("Looks", NodeKind::Action, (0, 0), "", |ports| {
                Box::new(Looks(ports.input("from").bind()))
            })
            .unwrap();
        for (from, expected) in [
            (Some("{list}"), NodeStatus::Success),
            (Some("1;2"), NodeStatus::Success),
            (Some("1"), NodeStatus::Failure),
            (None, NodeStatus::Failure),
        ] {
            let root = from.map_or_else(|| leaf("Looks"), |from| leaf("Looks").port("from", from));
            let mut tree = Tree::new(
                compile(&forest([tree("Main", root)]), "Main", &registry)
                    .unwrap()
                    .def,
            );
            tree.set("list", Arc::new(List(vec![1_i64, 2]))).unwrap();
            tree.preload();
            assert_eq!(tree.tick(Time::ZERO).unwrap(), expected, "{from:?}");
        }
    }
}
