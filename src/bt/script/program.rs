//! The compiled form of a script: flat, without names.
//!
//! What one level of the parser reads is one [`Expression`]: a first operand, and links that are applied to it from
//! left to right. So `a + b + c + …` is one expression however long it is, and only brackets, prefixes and tighter
//! operators nest. The parser bounds that nesting, and evaluation recurses no deeper.

use std::ops::Range;

use crate::bt::blackboard::SlotId;
use crate::bt::value::Value;

/// Operators between two operands whose result is a new value.
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

/// Comparisons; several in a row are a chain.
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

/// Bytes of the script's text. Scripts are bounded, so four bytes each are enough.
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

/// What is done to the value so far.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Binary(Binary, Operand),
    /// Part of a chain: where it holds and another comparison follows, the right operand is the next one's left.
    Compare(Comparison, Operand),
    /// `? then : otherwise`
    Choose(ExpressionId, ExpressionId),
}

#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) step: Step,
    /// Both operands, for messages.
    pub(super) place: Place,
}

#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) first: Operand,
    pub(super) links: Box<[Link]>,
}

impl Expression {
    /// The constant that this is, if it is one.
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
    /// In the order of evaluation; never empty.
    pub(super) statements: Vec<ExpressionId>,
}
