//! What is wrong with a tree before it ever runs.

use super::definition::Span;

/// The kinds of problem that compiling a tree finds. Each has a stable diagnostic code, given in room `xml`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProblemKind {
    /// A node ID that is not registered.
    UnknownNode,
    /// A subtree that no file defines.
    UnknownTree,
    /// An attribute that is no port of the node.
    UnknownPort,
    /// A required port without attribute.
    MissingPort,
    /// A literal that is not of the port's type.
    BadLiteral,
    /// An output that is given text where a key should be.
    LiteralOutput,
    /// A literal given to a subtree that the port which reads it there cannot read.
    UnreadableArgument,
    /// Two uses of one entry with types that do not convert.
    TypeClash,
    /// A script that does not compile.
    BadScript,
    /// Too few or too many children.
    ChildCount,
    /// A node refused its own configuration.
    Refused,
    /// A tree that contains itself.
    Recursion,
    /// Nesting or size beyond the limits.
    Limit,
    /// Two subtree instances of one path.
    DuplicatePath,
    /// A subtree model's port that the instance does not set.
    MissingModelPort,
    /// A key with a second `@`, or an empty one.
    BadKey,
    /// An ID of a tree that is also a node's.
    NameClash,
    /// A key is read and nothing ever writes it.
    NeverWritten,
    /// A child that is never reached.
    Unreachable,
    /// A latching condition beside a child that runs on, under a reactive parent.
    NeverFires,
    /// Two children that run on, under one reactive parent.
    TwoAsynchronous,
    /// A port that is set and that this build cannot serve, because the interface has no such field.
    Unsupported,
    /// A number that is followed by other text, which does not count.
    TrailingText,
    /// A script writes a number into an entry of another type.
    UnfitNumber,
    /// A script without any expression, which does nothing.
    EmptyScript,
}

/// One problem, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// What kind.
    pub kind: ProblemKind,
    /// Where.
    pub span: Span,
    /// What, in one sentence.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Other places that take part, each with a label.
    pub related: Vec<(Span, String)>,
}

impl Problem {
    /// A problem without help.
    pub fn new(kind: ProblemKind, span: Span, message: impl Into<String>) -> Self {
        Self {
            kind,
            span,
            message: message.into(),
            help: None,
            related: Vec::new(),
        }
    }

    /// With a way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With another place that takes part.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Whether the tree may run all the same.
    pub fn is_warning(&self) -> bool {
        matches!(
            self.kind,
            ProblemKind::NeverWritten
                | ProblemKind::Unreachable
                | ProblemKind::NeverFires
                | ProblemKind::TwoAsynchronous
                | ProblemKind::Unsupported
                | ProblemKind::TrailingText
                | ProblemKind::UnreadableArgument
                | ProblemKind::UnfitNumber
                | ProblemKind::EmptyScript
        )
    }
}
