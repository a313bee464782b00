//! An expression under construction: its first operand, the operators that follow, and what is known about its type.

use super::program::{Link, Operand, Place, Step};
use crate::bt::value::Value;

/// What the parser knows about the type of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    Unknown,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Int(_) | Value::UInt(_) | Value::Real(_) => Self::Number,
            Value::Text(_) => Self::Text,
            Value::Empty | Value::Object(_) => Self::Unknown,
        }
    }
}

/// An expression under construction.
pub(super) struct Term {
    pub(super) first: First,
    pub(super) links: Vec<Link>,
    pub(super) kind: Kind,
    pub(super) place: Place,
}

pub(super) enum First {
    /// An unresolved name: it may become the left side of an assignment.
    Name,
    Operand(Operand),
}

impl Term {
    /// A name, before it is known whether it is read or assigned.
    pub(super) fn name(place: Place) -> Self {
        Self {
            first: First::Name,
            links: Vec::new(),
            kind: Kind::Unknown,
            place,
        }
    }

    pub(super) fn operand(operand: Operand, kind: Kind, place: Place) -> Self {
        Self {
            first: First::Operand(operand),
            links: Vec::new(),
            kind,
            place,
        }
    }

    pub(super) fn constant(value: Value, place: Place) -> Self {
        let kind = Kind::of(&value);
        Self::operand(Operand::Literal(value), kind, place)
    }

    /// The operand, if no operator follows it.
    pub(super) fn only(&self) -> Option<&Operand> {
        match &self.first {
            First::Operand(operand) if self.links.is_empty() => Some(operand),
            First::Operand(_) | First::Name => None,
        }
    }

    /// The constant, if this is one.
    pub(super) fn literal(&self) -> Option<&Value> {
        match self.only() {
            Some(Operand::Literal(value)) => Some(value),
            _ => None,
        }
    }

    pub(super) fn push(&mut self, step: Step, place: Place, kind: Kind) {
        self.links.push(Link { step, place });
        self.kind = kind;
        self.place = place;
    }
}
