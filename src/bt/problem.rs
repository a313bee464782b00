//! Problems of a tree that are found before it runs.

use super::change::{Change, Confidence};
use super::definition::Span;

/// The kinds of problem that the compiler finds. Each has a stable diagnostic code, defined in room `xml`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProblemKind {
    /// A node ID that is not registered.
    UnknownNode,
    /// A subtree that no file defines.
    UnknownTree,
    /// An attribute that is not a port of the node.
    UnknownPort,
    /// A required port without attribute.
    MissingPort,
    /// A literal that does not convert to the port's type.
    BadLiteral,
    /// An output port with a text instead of a key.
    LiteralOutput,
    /// A literal argument of a subtree that does not convert to the type of the port that reads it.
    UnreadableArgument,
    /// Two uses of one entry with types that do not convert.
    TypeClash,
    /// A script that does not compile.
    BadScript,
    /// Too few or too many children.
    ChildCount,
    /// A configuration that the node refuses.
    Refused,
    /// A tree that contains itself.
    Recursion,
    /// Nesting or size beyond the limits.
    Limit,
    /// Two subtree instances with the same path.
    DuplicatePath,
    /// A port of a subtree model without value.
    MissingModelPort,
    /// A key with a second `@`, or an empty one.
    BadKey,
    /// An ID that names both a tree and a node type.
    NameClash,
    /// A key that is read but never written.
    NeverWritten,
    /// A key that is written but never read, beside a key of almost the same name that is read but not written.
    MistypedKey,
    /// A child that is never ticked.
    Unreachable,
    /// A latching condition beside a running child, under a reactive parent.
    NeverFires,
    /// Two asynchronous children under one reactive parent.
    TwoAsynchronous,
    /// A port that this build does not support because the interface has no such field.
    Unsupported,
    /// Text after a number, which is ignored.
    TrailingText,
    /// A script that writes a number to an entry of another type.
    UnfitNumber,
    /// An empty script, which has no effect.
    EmptyScript,
    /// A `\` before the end of a line of a script.
    LineContinuation,
    /// A text in double quotes in a script.
    DoubleQuotes,
    /// An empty attribute of an optional port in version 3, which counts as not given.
    EmptyInput,
    /// An output port in version 3 with a key without braces.
    BareOutput,
    /// A port that is not set and without which the node fails.
    MissingInput,
    /// A number that makes no sense.
    OutOfRange,
    /// A port that the node had in an earlier version.
    FormerPort,
    /// A control node without children that version 3 runs.
    NoChildren,
}

/// One problem, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The kind.
    pub kind: ProblemKind,
    /// The place.
    pub span: Span,
    /// The message, one sentence.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The change of the file that does what the help says, if there is one answer.
    pub change: Option<(Change, Confidence)>,
    /// Related places, each with a label.
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
            change: None,
            related: Vec::new(),
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the change that does what the help says.
    #[must_use]
    pub fn change(mut self, change: Change, confidence: Confidence) -> Self {
        self.change = Some((change, confidence));
        self
    }

    /// Adds a related place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Whether the tree may still run.
    pub fn is_warning(&self) -> bool {
        matches!(
            self.kind,
            ProblemKind::NeverWritten
                | ProblemKind::MistypedKey
                | ProblemKind::Unreachable
                | ProblemKind::NeverFires
                | ProblemKind::TwoAsynchronous
                | ProblemKind::Unsupported
                | ProblemKind::TrailingText
                | ProblemKind::UnreadableArgument
                | ProblemKind::UnfitNumber
                | ProblemKind::EmptyScript
                | ProblemKind::LineContinuation
                | ProblemKind::DoubleQuotes
                | ProblemKind::EmptyInput
                | ProblemKind::BareOutput
                | ProblemKind::MissingInput
                | ProblemKind::OutOfRange
                | ProblemKind::FormerPort
                | ProblemKind::NoChildren
        )
    }
}
