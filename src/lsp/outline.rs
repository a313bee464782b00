//! `textDocument/documentSymbol`: the trees and their nodes.

use lsp_types::{DocumentSymbol, SymbolKind};

use crate::xml::Element;

use super::file::{File, bytes, is_call};

pub(super) fn of(file: &File) -> Vec<DocumentSymbol> {
    let Some(root) = file.document.root() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for tree in root.children().filter(|child| child.name() == "BehaviorTree") {
        found.push(tree_symbol(file, tree));
    }
    found
}

/// A tree with all its nodes. The loop runs over the nodes in document order and keeps a list of open ones.
fn tree_symbol(file: &File, tree: Element<'_>) -> DocumentSymbol {
    let mut open: Vec<(DocumentSymbol, u32)> = Vec::new();
    for element in tree.subtree() {
        close(&mut open, element.span().start);
        open.push((symbol(file, element), element.span().end));
    }
    close(&mut open, u32::MAX);
    open.pop()
        .map_or_else(|| symbol(file, tree), |(symbol, _)| symbol)
}

/// Moves all symbols that end before an offset into their parents, except the outermost one.
fn close(open: &mut Vec<(DocumentSymbol, u32)>, offset: u32) {
    while open.len() > 1 && open.last().is_some_and(|(_, end)| *end <= offset) {
        let Some((symbol, _)) = open.pop() else { return };
        if let Some((parent, _)) = open.last_mut() {
            parent.children.get_or_insert_with(Vec::new).push(symbol);
        }
    }
}

fn symbol(file: &File, element: Element<'_>) -> DocumentSymbol {
    let tag = element.name();
    let (label, kind) = if tag == "BehaviorTree" {
        (element.value("ID").unwrap_or(tag), SymbolKind::MODULE)
    } else if is_call(tag) {
        (element.value("ID").unwrap_or(tag), SymbolKind::FUNCTION)
    } else {
        (element.node_type().0, SymbolKind::OBJECT)
    };
    let name = element
        .value("name")
        .filter(|name| !name.is_empty() && *name != label);
    // The protocol allows no empty name.
    let label = if label.trim().is_empty() { tag } else { label };
    #[allow(deprecated, reason = "the field has no default")]
    DocumentSymbol {
        name: label.to_owned(),
        detail: name.map(str::to_owned),
        kind,
        tags: None,
        deprecated: None,
        range: file.range(bytes(element.span())),
        selection_range: file.range(bytes(element.name_span())),
        children: None,
    }
}
