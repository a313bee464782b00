//! Converts the problems of the compiler to diagnostics.

use crate::bt::{Problem, ProblemKind};

use super::code::Code;
use super::diagnostic::Diagnostic;
use super::document::{Attribute, Element};
use super::fix::Fix;
use super::forest::Forest;
use super::includes::Documents;
use super::source::Span;

/// The code of a kind of problem.
pub(super) fn code(kind: ProblemKind) -> Code {
    match kind {
        ProblemKind::UnknownNode => Code::UnknownNode,
        ProblemKind::UnknownTree => Code::UnknownTree,
        ProblemKind::UnknownPort => Code::UnknownPort,
        ProblemKind::MissingPort => Code::MissingPort,
        ProblemKind::BadLiteral => Code::BadLiteral,
        ProblemKind::LiteralOutput => Code::LiteralOutput,
        ProblemKind::UnreadableArgument => Code::UnreadableArgument,
        ProblemKind::TypeClash => Code::TypeClash,
        ProblemKind::BadScript => Code::BadScript,
        ProblemKind::ChildCount => Code::ChildCount,
        ProblemKind::Refused => Code::Refused,
        ProblemKind::Recursion => Code::Recursion,
        ProblemKind::Limit => Code::TreeTooLarge,
        ProblemKind::DuplicatePath => Code::DuplicatePath,
        ProblemKind::MissingModelPort => Code::MissingModelPort,
        ProblemKind::BadKey => Code::BadKey,
        ProblemKind::NameClash => Code::NameClash,
        ProblemKind::NeverWritten => Code::NeverWritten,
        ProblemKind::MistypedKey => Code::MistypedKey,
        ProblemKind::Unreachable => Code::Unreachable,
        ProblemKind::NeverFires => Code::NeverFires,
        ProblemKind::TwoAsynchronous => Code::TwoAsynchronous,
        ProblemKind::Unsupported => Code::Unsupported,
        ProblemKind::TrailingText => Code::TrailingText,
        ProblemKind::UnfitNumber => Code::UnfitNumber,
        ProblemKind::EmptyScript => Code::EmptyScript,
        ProblemKind::LineContinuation => Code::LineContinuation,
        ProblemKind::DoubleQuotes => Code::DoubleQuotes,
        ProblemKind::EmptyInput => Code::EmptyInput,
        ProblemKind::BareOutput => Code::BareOutput,
        ProblemKind::MissingInput => Code::MissingInput,
        ProblemKind::OutOfRange => Code::OutOfRange,
        ProblemKind::FormerPort => Code::FormerPort,
        ProblemKind::NoChildren => Code::NoChildren,
    }
}

/// The diagnostic for a problem; `None` if the reader has already reported that position.
pub(super) fn diagnostic(
    problem: &Problem,
    documents: &Documents,
    forest: &Forest<'_>,
) -> Option<Diagnostic> {
    let node = Span::from(problem.span);
    let concerns_id = matches!(
        problem.kind,
        ProblemKind::UnknownNode | ProblemKind::UnknownTree | ProblemKind::Recursion
    );
    if concerns_id && forest.reported.contains(&node) {
        return None;
    }
    let element = documents
        .document(node.file)
        .and_then(|document| document.element_at(node.start));
    // The compiler knows the position of the node. The problem is its ID, which is an attribute value in the explicit
    // form.
    let id = element
        .filter(|_| concerns_id)
        .and_then(|element| element.attribute("ID"))
        .filter(|id| !id.value().is_empty());
    let span = id.map_or(node, Attribute::value_span);
    let mut diagnostic = Diagnostic::new(code(problem.kind), span, problem.message.clone());
    for (span, text) in &problem.related {
        diagnostic = diagnostic.also(Span::from(*span), text.clone());
    }
    if problem.kind == ProblemKind::UnknownNode
        && let Some(name) = id.map(Attribute::value).or(element.map(Element::name))
        && forest.declared.contains(name)
    {
        return Some(
            diagnostic.help(
                "a `<TreeNodesModel>` declares it, but that is for editors; no such node is registered",
            ),
        );
    }
    let fix = problem.change.as_ref().and_then(|(change, confidence)| {
        let document = documents.document(node.file)?;
        Fix::of_change(change, *confidence, document)
    });
    Some(diagnostic.maybe_help(problem.help.clone()).maybe_fix(fix))
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::*;

    #[test]
    fn compiler_and_diagnostic_table_agree_on_errors() {
        for kind in [
            ProblemKind::UnknownNode,
            ProblemKind::BadScript,
            ProblemKind::NeverWritten,
            ProblemKind::MistypedKey,
            ProblemKind::Unreachable,
            ProblemKind::NeverFires,
            ProblemKind::TwoAsynchronous,
            ProblemKind::Unsupported,
            ProblemKind::TrailingText,
            ProblemKind::UnreadableArgument,
            ProblemKind::UnfitNumber,
            ProblemKind::EmptyScript,
            ProblemKind::LineContinuation,
            ProblemKind::DoubleQuotes,
            ProblemKind::EmptyInput,
            ProblemKind::BareOutput,
            ProblemKind::OutOfRange,
            ProblemKind::FormerPort,
            ProblemKind::NoChildren,
        ] {
            let problem = Problem::new(kind, crate::bt::Span::default(), "");
            let warns = code(kind).severity() == Severity::Warning;
            assert_eq!(problem.is_warning(), warns, "{kind:?}");
        }
    }
}
