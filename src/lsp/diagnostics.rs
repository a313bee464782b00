//! `textDocument/publishDiagnostics`: the problems that `navtree check` reports.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, PublishDiagnosticsParams, Uri,
};

use crate::xml::{Checked, Diagnostic, Files, Severity, SourceFile, Sources, Span};

use super::position::Lines;
use super::workspace::Workspace;

/// The checks that show the problems of an open file: its own, or those of the files that include it.
pub(super) fn checks_of(workspace: &Workspace<'_>, path: &Path) -> Vec<Checked> {
    let project = workspace.project(path);
    let set = workspace.set_of(path);
    let loader = workspace.loader(&project, &set);
    if !loader.is_part(path) {
        return vec![loader.check_files(&[path])];
    }
    let others = set.iter().filter(|other| !loader.is_part(other));
    let checked = others.map(|other| loader.check_files(&[other]));
    let is_same = |file: &SourceFile| workspace.overlay.identity(Path::new(file.name())) == path;
    let is_here = |checked: &Checked| checked.sources.iter().any(|file| is_same(file));
    checked.filter(is_here).collect()
}

/// The problems of an open file, by the path of its URI. `None` if another text of the file counts.
pub(super) fn of(workspace: &Workspace<'_>, path: &Path) -> Option<PublishDiagnosticsParams> {
    let open = workspace.open.get(path)?;
    let path = &*open.identity;
    if workspace.overlay.text(path) != Some(&open.text) {
        return None;
    }
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for Checked { diagnostics, sources } in checks_of(workspace, path) {
        let mut places = Places::new(&sources, workspace);
        for problem in &diagnostics {
            let span = problem.primary.span;
            if places.is_in(span, path)
                && seen.insert((problem.code, span.start, span.end, problem.message.clone()))
            {
                found.push(diagnostic(problem, &mut places));
            }
        }
    }
    Some(PublishDiagnosticsParams {
        uri: open.uri.clone(),
        diagnostics: found,
        version: Some(open.version),
    })
}

/// Turns spans of one check into the protocol's places.
pub(super) struct Places<'s> {
    sources: &'s Sources,
    workspace: &'s Workspace<'s>,
    files: Vec<Option<(Lines, Option<Uri>, PathBuf)>>,
}

impl<'s> Places<'s> {
    pub(super) fn new(sources: &'s Sources, workspace: &'s Workspace<'s>) -> Self {
        Self {
            sources,
            workspace,
            files: Vec::new(),
        }
    }

    fn file(&mut self, span: Span) -> Option<(&Lines, &'s SourceFile, Option<&Uri>, &Path)> {
        let source = self.sources.get(span.file)?;
        let workspace = self.workspace;
        let index = span.file.index();
        if self.files.len() <= index {
            self.files.resize_with(index + 1, || None);
        }
        let (lines, uri, path) = self.files.get_mut(index)?.get_or_insert_with(|| {
            let path = workspace.overlay.identity(Path::new(source.name()));
            (Lines::new(source.text()), workspace.uri_of(&path), path)
        });
        Some((lines, source, uri.as_ref(), path))
    }

    pub(super) fn range(&mut self, span: Span) -> lsp_types::Range {
        self.file(span)
            .map_or_else(lsp_types::Range::default, |(lines, source, ..)| {
                lines.range(source.text(), super::file::bytes(span))
            })
    }

    /// Whether a span is in a file.
    pub(super) fn is_in(&mut self, span: Span, path: &Path) -> bool {
        self.file(span).is_some_and(|(.., file)| file == path)
    }

    pub(super) fn location(&mut self, span: Span) -> Option<Location> {
        let (lines, source, uri, _) = self.file(span)?;
        let range = lines.range(source.text(), super::file::bytes(span));
        Some(Location::new(uri?.clone(), range))
    }
}

/// A problem as the protocol has it.
pub(super) fn diagnostic(problem: &Diagnostic, places: &mut Places<'_>) -> lsp_types::Diagnostic {
    let related = problem.secondary.iter().filter_map(|label| {
        let location = places.location(label.span)?;
        let message = if label.text.is_empty() {
            "here".to_owned()
        } else {
            label.text.clone()
        };
        Some(DiagnosticRelatedInformation { location, message })
    });
    let related: Vec<_> = related.collect();
    let message = match &problem.help {
        Some(help) => format!("{}\n{help}", problem.message),
        None => problem.message.clone(),
    };
    lsp_types::Diagnostic {
        range: places.range(problem.primary.span),
        severity: Some(match problem.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(problem.code.to_string())),
        code_description: None,
        source: Some("navtree".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        tags: None,
        data: None,
    }
}
