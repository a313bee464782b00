//! `textDocument/rename`: gives a tree or a key another name in all files that belong together.

use std::collections::HashMap;
use std::ops::Range;

use lsp_types::{Position, TextEdit, Uri, WorkspaceEdit};

use crate::bt::{is_key, is_model_name, is_port_name};
use crate::xml::escaped;

use super::references::places;
use super::workspace::View;

/// The place of the name at a position, if it can be renamed.
pub(super) fn prepare(view: &View, position: Position) -> Option<Range<usize>> {
    let set = view.set();
    let offset = view.file().offset(position);
    let of_tree = set.tree_named_at(view.number(), offset);
    let tree = of_tree.filter(|((file, tree), span)| {
        // A tree without ID has no name in the file.
        let content = &set.files[*file].trees[*tree];
        set.files[*file].text.get(content.id_span.clone()) != Some("BehaviorTree") && !span.is_empty()
    });
    let key = || set.key_at(view.number(), offset).map(|(.., span)| span);
    tree.map(|(_, span)| span).or_else(key)
}

/// The edits that rename what stands at a position.
///
/// # Errors
/// Why the new name cannot be used.
pub(super) fn of(view: &View, position: Position, name: &str) -> Result<Option<WorkspaceEdit>, String> {
    if prepare(view, position).is_none() {
        return Ok(None);
    }
    let set = view.set();
    let offset = view.file().offset(position);
    let found = places(view, position);
    let name = if set.tree_named_at(view.number(), offset).is_some() {
        if !is_model_name(name) {
            return Err(format!("`{name}` cannot be the name of a tree"));
        }
        if view.registry().contains(name) && !view.registry().is_extra(name) {
            return Err(format!("`{name}` is a node type; a tree needs another name"));
        }
        if set.resolve(view.number(), name).is_some() {
            return Err(format!("there is a tree `{name}` already"));
        }
        name
    } else {
        let Some((tree, key, _)) = set.key_at(view.number(), offset) else {
            return Ok(None);
        };
        let plain = name.strip_prefix('@').unwrap_or(name);
        // A place can be an attribute or a name in a script.
        if !is_key(plain) || !is_port_name(plain) {
            return Err(format!(
                "`{plain}` cannot be the name of a key: it needs a letter, then letters, digits and `_`"
            ));
        }
        if plain != key && !set.places_of_key(tree, plain).is_empty() {
            return Err(format!("there is a key `{plain}` already"));
        }
        plain
    };
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for (number, span) in found {
        let file = set.files[number];
        let Some(uri) = super::uri::of(&file.path) else {
            continue;
        };
        let written = file.text.get(span.clone()).unwrap_or_default();
        let mark = if written.starts_with('@') { "@" } else { "" };
        let text = format!("{mark}{}", escaped(name));
        changes
            .entry(uri)
            .or_default()
            .push(TextEdit::new(file.range(span), text));
    }
    Ok(Some(WorkspaceEdit::new(changes)))
}
