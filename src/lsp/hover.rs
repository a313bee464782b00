//! `textDocument/hover`: the page of a node, a port, a key or a tree.

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Position};

use crate::xml::names_kind;

use super::cursor::{self, Part};
use super::file::{File, is_call};
use super::keys::FileSet;
use super::page;
use super::workspace::View;

pub(super) fn of(view: &View, position: Position) -> Option<Hover> {
    let file = view.file();
    let offset = file.offset(position);
    let set = view.set();
    let (value, range) = match set.key_at(view.number(), offset) {
        Some((tree, key, span)) => (of_key(&set, tree, &key), span),
        None => match set.tree_named_at(view.number(), offset) {
            Some((tree, span)) => (of_tree(&set, tree), span),
            None => of_tag(view, file, offset)?,
        },
    };
    let kind = MarkupKind::Markdown;
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind, value }),
        range: Some(file.range(range)),
    })
}

fn of_tag(view: &View, file: &File, offset: usize) -> Option<(String, std::ops::Range<usize>)> {
    let cursor = cursor::at(&file.tags, offset)?;
    let tag = cursor.tag;
    let name = file.text.get(tag.name.clone())?;
    let node = node_type(file, tag);
    let manifest = page::manifest(view.registry(), file.dialect, node);
    match cursor.part {
        Part::Name | Part::EndName => Some((page::of_node(manifest?), tag.name.clone())),
        Part::AttributeName(range) => {
            let port = file.text.get(range.clone())?;
            let text = manifest
                .and_then(|manifest| manifest.port(port))
                .map(page::of_port);
            let common = page::of_common_attribute(port).map(str::to_owned);
            Some((text.or(common)?, range))
        }
        Part::Value(number, range) => {
            let port = file.text.get(tag.attributes.get(number)?.name.clone())?;
            if port == "ID" && names_kind(name) {
                return Some((page::of_node(manifest?), range));
            }
            Some((page::of_port(manifest?.port(port)?), range))
        }
    }
}

/// The node that a tag means: [`Element::node_type`](crate::xml::Element::node_type) of a tag that may be half-written.
pub(super) fn node_type<'f>(file: &'f File, tag: &super::scan::Tag) -> &'f str {
    let name = file.text.get(tag.name.clone()).unwrap_or_default();
    let id = attribute(file, tag, "ID");
    id.filter(|_| names_kind(name)).unwrap_or(name)
}

/// The value of an attribute of a tag, as it stands in the file.
pub(super) fn attribute<'f>(file: &'f File, tag: &super::scan::Tag, name: &str) -> Option<&'f str> {
    let text = |range: &std::ops::Range<usize>| file.text.get(range.clone());
    let mut attributes = tag.attributes.iter();
    let found = attributes.find(|attribute| text(&attribute.name) == Some(name))?;
    text(found.value.as_ref()?)
}

fn of_tree(set: &FileSet<'_>, tree: super::keys::TreeNumber) -> String {
    let file = set.files[tree.0];
    let content = &file.trees[tree.1];
    let keys: std::collections::BTreeSet<&str> = content.keys.iter().map(|key| key.key.as_str()).collect();
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let mut text = format!("tree **{}** in {}", content.id, file.path.display());
    if !keys.is_empty() {
        text.push_str(&format!("\n\nkeys: {}", keys.join(", ")));
    }
    text
}

fn of_key(set: &FileSet<'_>, tree: super::keys::TreeNumber, key: &str) -> String {
    let mut lines = vec![format!("key **{key}**")];
    let writers = set.writers(tree, key);
    for (file, writer) in writers.iter().take(10) {
        lines.push(format!(
            "- written by {}",
            node_and_line(set.files[*file], writer)
        ));
    }
    let readers = set.files[tree.0].trees[tree.1].keys.iter();
    for reader in readers
        .filter(|found| found.key == key && found.reads && !found.writes)
        .take(10)
    {
        lines.push(format!("- read by {}", node_and_line(set.files[tree.0], reader)));
    }
    lines.join("\n")
}

/// The node that uses a key, with its line.
pub(super) fn node_and_line(file: &File, found: &super::file::KeyUse) -> String {
    let line = file
        .lines
        .position(&file.text, found.span.start)
        .line
        .saturating_add(1);
    let element = file.document.element(found.node);
    let name = element.map_or("", |element| {
        let name = element.value("name");
        let id = is_call(element.name()).then(|| element.value("ID")).flatten();
        name.or(id).unwrap_or_else(|| element.node_type().0)
    });
    format!("{name}, line {line}")
}
