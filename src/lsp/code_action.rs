//! `textDocument/codeAction`: the fixes of the problems in a range.

use std::collections::HashMap;
use std::path::Path;

use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit, Uri, WorkspaceEdit};

use crate::bt::Confidence;
use crate::xml::{Checked, Diagnostic};

use super::diagnostics::{Places, checks_of, diagnostic};
use super::workspace::Workspace;

pub(super) fn of(workspace: &Workspace<'_>, path: &Path, wanted: Range) -> Vec<CodeAction> {
    let mut actions: Vec<CodeAction> = Vec::new();
    if workspace.is_ambiguous(path) {
        return actions;
    }
    for Checked { diagnostics, sources } in checks_of(workspace, path) {
        let mut places = Places::new(&sources, workspace);
        for problem in &diagnostics {
            let Some(location) = places.location(problem.primary.span) else {
                continue;
            };
            let meets = location.range.start <= wanted.end && wanted.start <= location.range.end;
            if !meets || !places.is_in(problem.primary.span, path) {
                continue;
            }
            if let Some(action) = action(problem, &mut places)
                && !actions.contains(&action)
            {
                actions.push(action);
            }
        }
    }
    actions
}

fn action(problem: &Diagnostic, places: &mut Places<'_>) -> Option<CodeAction> {
    let fix = problem.fix.as_ref()?;
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for edit in &fix.edits {
        let place = places.location(edit.span)?;
        let edits = changes.entry(place.uri).or_default();
        edits.push(TextEdit::new(place.range, edit.text.clone()));
    }
    Some(CodeAction {
        title: fix.title.clone(),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![diagnostic(problem, places)]),
        edit: Some(WorkspaceEdit::new(changes)),
        is_preferred: Some(fix.confidence == Confidence::Sure),
        ..CodeAction::default()
    })
}
