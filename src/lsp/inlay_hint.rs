//! `textDocument/inlayHint`: where a key that is read is written.

use std::collections::HashMap;

use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel, Range};

use super::hover::node_and_line;
use super::keys::{FileSet, KnownWriters};
use super::workspace::View;

pub(super) fn of(view: &View, wanted: Range) -> Vec<InlayHint> {
    in_set(view, &view.set(), wanted)
}

pub(super) fn in_set(view: &View, set: &FileSet<'_>, wanted: Range) -> Vec<InlayHint> {
    let file = view.file();
    let (start, end) = (file.offset(wanted.start), file.offset(wanted.end));
    let mut hints = Vec::new();
    let mut known = KnownWriters::new();
    for (number, tree) in file.trees.iter().enumerate() {
        let mut labels: HashMap<&str, Option<String>> = HashMap::new();
        let reads = tree.keys.iter().filter(|found| found.reads && !found.writes);
        for found in reads.filter(|found| start <= found.span.start && found.span.end <= end) {
            let label = labels.entry(&found.key).or_insert_with(|| {
                let writers = set.known_writers((view.number(), number), &found.key, &mut known);
                match writers.as_slice() {
                    [] => None,
                    [(file, writer)] => Some(format!("← {}", node_and_line(set.files[*file], writer))),
                    [(file, writer), rest @ ..] => {
                        let first = node_and_line(set.files[*file], writer);
                        Some(format!("← {first}, and {} more", rest.len()))
                    }
                }
            });
            let Some(label) = label else { continue };
            // Behind the closing brace.
            let rest = file.text.get(found.span.end..).unwrap_or_default();
            let place = found.span.end + usize::from(rest.starts_with('}'));
            hints.push(InlayHint {
                position: file.lines.position(&file.text, place),
                label: InlayHintLabel::String(label.clone()),
                kind: Some(InlayHintKind::PARAMETER),
                text_edits: None,
                tooltip: None,
                padding_left: Some(true),
                padding_right: None,
                data: None,
            });
        }
    }
    hints
}
