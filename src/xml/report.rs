//! Formats problems for programs: JSON, and SARIF 2.1.0 for code hosts and editors.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::bt::Confidence;

use super::code::{Code, Severity};
use super::diagnostic::{Diagnostic, Diagnostics, Label};
use super::fix::Fix;
use super::source::{FileId, Position, Sources, Span};

/// File name, start and end (the position after the last character) of a span.
fn place(sources: &Sources, span: Span) -> (&str, Position, Position) {
    let nowhere = Position { line: 1, column: 1 };
    sources.get(span.file).map_or(("", nowhere, nowhere), |file| {
        (file.name(), file.position(span.start), file.position(span.end))
    })
}

fn span_json(sources: &Sources, label: &Label) -> Value {
    let (file, start, end) = place(sources, label.span);
    json!({
        "file": file,
        "start": {"line": start.line, "column": start.column, "byte": label.span.start},
        "end": {"line": end.line, "column": end.column, "byte": label.span.end},
        "label": label.text,
    })
}

fn fix_json(fix: &Fix, sources: &Sources) -> Value {
    let edits = fix.edits.iter().map(|edit| {
        let (file, start, end) = place(sources, edit.span);
        json!({
            "file": file,
            "start": {"line": start.line, "column": start.column, "byte": edit.span.start},
            "end": {"line": end.line, "column": end.column, "byte": edit.span.end},
            "text": edit.text,
        })
    });
    json!({
        "title": fix.title,
        "sure": fix.confidence == Confidence::Sure,
        "edits": edits.collect::<Vec<_>>(),
    })
}

impl Diagnostic {
    /// One problem as an object. Lines and columns start at 1, and a column is one character; the end is exclusive.
    pub fn to_json(&self, sources: &Sources) -> Value {
        let secondary: Vec<_> = self
            .secondary
            .iter()
            .map(|label| span_json(sources, label))
            .collect();
        let mut problem = json!({
            "code": self.code.to_string(),
            "severity": self.severity.name(),
            "message": self.message,
            "primary": span_json(sources, &self.primary),
            "secondary": secondary,
            "help": self.help,
        });
        if let Some(fix) = &self.fix {
            problem["fix"] = fix_json(fix, sources);
        }
        problem
    }
}

impl Diagnostics {
    /// All problems as an array of [`Diagnostic::to_json`].
    pub fn to_json(&self, sources: &Sources) -> Value {
        self.iter()
            .map(|diagnostic| diagnostic.to_json(sources))
            .collect()
    }

    /// All problems as one SARIF log.
    pub fn to_sarif(&self, sources: &Sources) -> Value {
        let used: BTreeSet<Code> = self.iter().map(|diagnostic| diagnostic.code).collect();
        let rules: Vec<_> = used
            .iter()
            .map(|code| {
                json!({
                    "id": code.to_string(),
                    "name": format!("{code:?}"),
                    "shortDescription": {"text": code.explanation()},
                    "defaultConfiguration": {"level": level(code.severity())},
                })
            })
            .collect();
        let results: Vec<_> = self.iter().map(|item| result(item, sources)).collect();
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": env!("CARGO_PKG_NAME"),
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                }},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }],
        })
    }
}

fn level(severity: Severity) -> &'static str {
    severity.name()
}

fn result(diagnostic: &Diagnostic, sources: &Sources) -> Value {
    let text = match &diagnostic.help {
        Some(help) => format!("{}\n{help}", diagnostic.message),
        None => diagnostic.message.clone(),
    };
    let related: Vec<_> = diagnostic
        .secondary
        .iter()
        .map(|label| {
            let mut location = location(sources, label.span);
            location["message"] = json!({"text": label.text});
            location
        })
        .collect();
    let mut result = json!({
        "ruleId": diagnostic.code.to_string(),
        "level": level(diagnostic.severity),
        "message": {"text": text},
        "locations": [location(sources, diagnostic.primary.span)],
        "relatedLocations": related,
    });
    if let Some(fix) = &diagnostic.fix {
        result["fixes"] = json!([sarif_fix(fix, sources)]);
    }
    result
}

/// A fix, with the replacements of each file.
fn sarif_fix(fix: &Fix, sources: &Sources) -> Value {
    let mut files: BTreeMap<FileId, Vec<Value>> = BTreeMap::new();
    for edit in &fix.edits {
        let (_, start, end) = place(sources, edit.span);
        files.entry(edit.span.file).or_default().push(json!({
            "deletedRegion": region(start, end),
            "insertedContent": {"text": edit.text},
        }));
    }
    let changes = files.into_iter().map(|(file, replacements)| {
        let name = sources.get(file).map_or("", |file| file.name());
        json!({"artifactLocation": {"uri": uri(name)}, "replacements": replacements})
    });
    json!({
        "description": {"text": fix.title},
        "artifactChanges": changes.collect::<Vec<_>>(),
    })
}

fn region(start: Position, end: Position) -> Value {
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

fn location(sources: &Sources, span: Span) -> Value {
    let (file, start, end) = place(sources, span);
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(file)},
        "region": region(start, end),
    }})
}

/// A path as a URI reference: all other characters are percent-encoded.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            plain if plain.is_ascii_alphanumeric() => out.push(char::from(plain)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn both_forms_hold_everything() {
        let mut sources = Sources::new();
        let file = sources.add_file(Path::new("my trees/a.xml"), "<a>\n<b></a>".into());
        let mut diagnostics = Diagnostics::new();
        super::super::Document::parse(&file, &mut diagnostics);
        assert_eq!(
            diagnostics.to_json(&sources),
            json!([{
                "code": "NT0102",
                "severity": "error",
                "message": "`<b>` is never closed",
                "primary": {
                    "file": "my trees/a.xml",
                    "start": {"line": 2, "column": 2, "byte": 5},
                    "end": {"line": 2, "column": 3, "byte": 6},
                    "label": "opened here",
                },
                "secondary": [{
                    "file": "my trees/a.xml",
                    "start": {"line": 2, "column": 4, "byte": 7},
                    "end": {"line": 2, "column": 8, "byte": 11},
                    "label": "this end tag comes first",
                }],
                "help": "add `</b>`, or end the tag with `/>` if it has no children",
            }])
        );
        let sarif = diagnostics.to_sarif(&sources);
        assert_eq!(sarif["runs"][0]["results"][0]["fixes"], Value::Null);
        let run = &sarif["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "NT0102");
        let result = &run["results"][0];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20trees/a.xml");
        assert_eq!(
            place["region"],
            json!({"startLine": 2, "startColumn": 2, "endLine": 2, "endColumn": 3})
        );
        assert_eq!(
            result["relatedLocations"][0]["message"]["text"],
            "this end tag comes first"
        );
    }

    #[test]
    fn a_fix_is_in_both_forms() {
        let mut sources = Sources::new();
        let file = sources.add_file(Path::new("a.xml"), "<a>é & b</a>".into());
        let mut diagnostics = Diagnostics::new();
        super::super::Document::parse(&file, &mut diagnostics);
        assert_eq!(
            diagnostics.to_json(&sources)[0]["fix"],
            json!({
                "title": "write `&amp;`",
                "sure": true,
                "edits": [{
                    "file": "a.xml",
                    "start": {"line": 1, "column": 6, "byte": 6},
                    "end": {"line": 1, "column": 7, "byte": 7},
                    "text": "&amp;",
                }],
            })
        );
        assert_eq!(
            diagnostics.to_sarif(&sources)["runs"][0]["results"][0]["fixes"],
            json!([{
                "description": {"text": "write `&amp;`"},
                "artifactChanges": [{
                    "artifactLocation": {"uri": "a.xml"},
                    "replacements": [{
                        "deletedRegion": {"startLine": 1, "startColumn": 6, "endLine": 1, "endColumn": 7},
                        "insertedContent": {"text": "&amp;"},
                    }],
                }],
            }])
        );
    }
}
