//! The compiled form of a script: flat and without names.
//!
//! One level of the parser makes one [`Expression`]: a first operand, and links that are applied to it from left to
//! right. `a + b + c + …` is one expression, however long it is; only brackets, prefixes and tighter operators nest.
//! The parser limits the nesting, and evaluation recurses no deeper.

use std::ops::Range;

use super::operators;
use crate::bt::blackboard::{Blackboard, SlotId};
use crate::bt::value::Value;

/// Operators between two operands with a new value as result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Concatenate,
    BitAnd,
    BitOr,
    BitXor,
    And,
    Or,
}

impl Binary {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Concatenate => "..",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::And => "&&",
            Self::Or => "||",
        }
    }
}

/// Comparisons. Several in a row form a chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// Prefixes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prefix {
    Negate,
    Complement,
    Not,
}

impl Prefix {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Negate => "-",
            Self::Complement => "~",
            Self::Not => "!",
        }
    }
}

/// Assignments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AssignOperator {
    Create,
    Existing,
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl AssignOperator {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Create => ":=",
            Self::Existing => "=",
            Self::Add => "+=",
            Self::Subtract => "-=",
            Self::Multiply => "*=",
            Self::Divide => "/=",
        }
    }
}

/// A byte range of the script's text. The length of scripts is limited, so four bytes are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Place {
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn to(self, last: Self) -> Self {
        Self {
            start: self.start,
            end: last.end,
        }
    }
}

/// An index into [`Program::expressions`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpressionId(pub(super) u32);

#[derive(Clone, Debug)]
pub(super) enum Operand {
    Literal(Value),
    Read(SlotId, Place),
    Prefix(Prefix, ExpressionId, Place),
    Group(ExpressionId),
    Assign(AssignOperator, SlotId, ExpressionId, Place),
}

/// One step on the current value.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Binary(Binary, Operand),
    /// A comparison in a chain: if it is true and another follows, its right operand is the left operand of the next.
    Compare(Comparison, Operand),
    /// `? then : otherwise`
    Choose(ExpressionId, ExpressionId),
}

#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) step: Step,
    /// The place of both operands, for messages.
    pub(super) place: Place,
}

#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) first: Operand,
    pub(super) links: Box<[Link]>,
}

impl Expression {
    /// The constant, if this is one.
    pub(super) fn literal(&self) -> Option<&Value> {
        match &self.first {
            Operand::Literal(value) if self.links.is_empty() => Some(value),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) expressions: Vec<Expression>,
    /// The statements in order of evaluation; never empty.
    pub(super) statements: Vec<ExpressionId>,
}

impl Program {
    /// The comparison of an entry with a number, if the program is nothing else, as most conditions are.
    pub(super) fn number_comparison(&self) -> Option<NumberComparison> {
        let [statement] = *self.statements else {
            return None;
        };
        let expression = self.expressions.get(statement.0 as usize)?;
        let (Operand::Read(slot, _), [link]) = (&expression.first, &*expression.links) else {
            return None;
        };
        let Step::Compare(operator, Operand::Literal(literal)) = &link.step else {
            return None;
        };
        Some(NumberComparison {
            slot: *slot,
            operator: *operator,
            number: operators::number(literal).ok()?,
        })
    }
}

/// The comparison of an entry with a number.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberComparison {
    slot: SlotId,
    operator: Comparison,
    number: f64,
}

impl NumberComparison {
    /// The result, if the entry holds a number.
    #[inline]
    pub(super) fn evaluate(&self, board: &Blackboard) -> Option<bool> {
        let number = match board.get(self.slot)? {
            Value::Real(number) => *number,
            value @ (Value::Int(_) | Value::UInt(_)) => operators::number(value).ok()?,
            _ => return None,
        };
        Some(operators::compare_numbers(self.operator, number, self.number))
    }
}
