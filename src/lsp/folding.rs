//! `textDocument/foldingRange`: elements and comments of several lines.

use lsp_types::{FoldingRange, FoldingRangeKind};

use crate::xml::Node;

use super::file::{File, bytes};

pub(super) fn of(file: &File) -> Vec<FoldingRange> {
    let mut found = Vec::new();
    for node in file.document.nodes() {
        let kind = match node {
            Node::Element(_) => None,
            Node::Comment(_) => Some(FoldingRangeKind::Comment),
            Node::Text(_) => continue,
        };
        let range = file.range(bytes(node.span()));
        // The line of the end tag stays visible.
        let is_element = kind.is_none();
        let end = range.end.line.saturating_sub(u32::from(is_element));
        if end > range.start.line {
            found.push(FoldingRange {
                start_line: range.start.line,
                end_line: end,
                kind,
                ..FoldingRange::default()
            });
        }
    }
    found
}
