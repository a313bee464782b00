//! Binds the keys of a script to entries of the blackboard.

use std::ops::Range;

use super::Enums;
use super::blackboard::{ScopeId, SlotId};
use super::change::{Change, Confidence};
use super::definition::Span;
use super::literal_checks::{ScriptOperand, WrittenLiteral};
use super::problem::{Problem, ProblemKind};
use super::scope::Scopes;
use super::script::{Access, Names, Outdated, Script, ScriptResult};
use super::spec::AttributeSpec;
use super::value::Value;

/// Compiles the script of an attribute.
pub(crate) fn compile_script(
    attribute: &AttributeSpec<'_>,
    result: ScriptResult,
    scope: ScopeId,
    scopes: &mut Scopes,
    enums: &Enums,
    problems: &mut Vec<Problem>,
) -> Option<Script> {
    let mut names = ScriptNames {
        scope,
        scopes,
        attribute,
        outdated: Vec::new(),
    };
    let compiled = Script::compile(&attribute.value, enums, &mut names);
    for (form, range) in names.outdated {
        problems.push(outdated(attribute, form, range));
    }
    let (span, message) = match compiled {
        Ok(script) => match script.mismatch(result) {
            None => return Some(script),
            Some(message) => (attribute.value_span, message),
        },
        Err(error) => (attribute.part(error.range), error.message),
    };
    // What the script would write is not known, so no key is reported as never written.
    scopes.writes_any = true;
    let message = format!("script in `{}`: {message}", attribute.name);
    problems.push(Problem::new(ProblemKind::BadScript, span, message));
    None
}

/// The problem of a form that only earlier versions of BehaviorTree.CPP take, and its fix if there is one.
fn outdated(attribute: &AttributeSpec<'_>, form: Outdated, range: Range<usize>) -> Problem {
    let (kind, what, instead, help) = match form {
        Outdated::LineContinuation => (
            ProblemKind::LineContinuation,
            "a `\\` before the end of a line in 4.5 to 4.8 only",
            Some(String::new()),
            "remove the `\\`: a script may have several lines",
        ),
        Outdated::DoubleQuotes => {
            let text = attribute.value.get(range.start + 1..range.end - 1);
            let text = text.filter(|text| !text.contains('\''));
            (
                ProblemKind::DoubleQuotes,
                "a text in double quotes up to 4.8 only",
                text.map(|text| format!("'{text}'")),
                "write the text in single quotes",
            )
        }
    };
    let span = attribute.part(range);
    let message = format!("script in `{}`: BehaviorTree.CPP takes {what}", attribute.name);
    let problem = Problem::new(kind, span, message).help(help);
    match instead {
        Some(text) if span != attribute.value_span => {
            problem.change(Change::Write(span, text), Confidence::Sure)
        }
        _ => problem,
    }
}

struct ScriptNames<'n> {
    scope: ScopeId,
    scopes: &'n mut Scopes,
    attribute: &'n AttributeSpec<'n>,
    /// The first place of each form that only earlier versions of BehaviorTree.CPP take.
    outdated: Vec<(Outdated, Range<usize>)>,
}

/// The entry of a key that is named at a place.
pub(super) fn name_slot(
    scopes: &mut Scopes,
    scope: ScopeId,
    key: &str,
    access: Access,
    span: Span,
) -> SlotId {
    let slot = scopes.resolve(scope, key);
    scopes.access(slot, access == Access::Read, access != Access::Read);
    let place = &mut scopes.slots[slot.0 as usize];
    match access {
        Access::Read => place.read_at = place.read_at.or(Some(span)),
        Access::Create => {
            place.written = true;
            place.rewritten = true;
            place.written_at = place.written_at.or(Some(span));
        }
        Access::Assign => {
            place.assigned_at = place.assigned_at.or(Some(span));
            place.rewritten = true;
        }
    }
    slot
}

impl Names for ScriptNames<'_> {
    fn slot(&mut self, key: &str, access: Access, range: Range<usize>) -> SlotId {
        let span = self.attribute.part(range);
        name_slot(self.scopes, self.scope, key, access, span)
    }

    fn assigns(&mut self, slot: SlotId, literal: &Value, range: Range<usize>) {
        let span = self.attribute.part(range);
        self.scopes.literal_checks.write(WrittenLiteral {
            slot,
            value: literal.clone(),
            span,
            kind: ProblemKind::BadScript,
        });
    }

    fn calculates(&mut self, slot: SlotId, operator: &'static str, range: Range<usize>) {
        let span = self.attribute.part(range);
        self.scopes
            .literal_checks
            .calculate(ScriptOperand { slot, operator, span });
    }

    fn outdated(&mut self, form: Outdated, range: Range<usize>) {
        self.outdated.push((form, range));
    }
}
