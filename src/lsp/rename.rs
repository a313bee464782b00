//! `textDocument/rename`: gives a tree or a key another name in all files that belong together.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use lsp_types::{Position, TextEdit, Uri, WorkspaceEdit};

use crate::bt::{is_key, is_model_name, is_port_name};
use crate::xml::{escaped, unescape};

use super::file::Spelling;
use super::keys::{FileSet, TreeNumber};
use super::workspace::View;

/// The places to write, each with its file and its new text.
type Edits = Vec<(usize, Range<usize>, String)>;

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
    let edits = if let Some((tree, _)) = set.tree_named_at(view.number(), offset) {
        of_tree(view, &set, tree, name)?
    } else if let Some((tree, key, _)) = set.key_at(view.number(), offset) {
        of_key(view, &set, (tree, &key), name)?
    } else {
        return Ok(None);
    };
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for (number, span, text) in edits {
        let file = set.files[number];
        if view.is_ambiguous(number) {
            let path = file.path.display();
            return Err(format!(
                "{path} is open under two names with different texts: close one of them"
            ));
        }
        let Some(uri) = view.uri(number) else {
            return Err(format!("{} has no URI", file.path.display()));
        };
        let edits = changes.entry(uri.clone()).or_default();
        edits.push(TextEdit::new(file.range(span), text));
    }
    Ok(Some(WorkspaceEdit::new(changes)))
}

fn of_tree(view: &View, set: &FileSet<'_>, tree: TreeNumber, name: &str) -> Result<Edits, String> {
    if !is_model_name(name) {
        return Err(format!("`{name}` cannot be the name of a tree"));
    }
    if view.registry().contains(name) && !view.registry().is_extra(name) {
        return Err(format!("`{name}` is a node type; a tree needs another name"));
    }
    if set.resolve(view.number(), name).is_some() {
        return Err(format!("there is a tree `{name}` already"));
    }
    let places = set.places_of_tree(tree).into_iter();
    Ok(places.map(|(file, span)| (file, span, escaped(name))).collect())
}

fn of_key(
    view: &View,
    set: &FileSet<'_>,
    (tree, key): (TreeNumber, &str),
    name: &str,
) -> Result<Edits, String> {
    let name = name.strip_prefix('@').unwrap_or(name);
    let old = key.strip_prefix('@').unwrap_or(key);
    // A place can be an attribute or a name in a script.
    if !is_key(name) || !is_port_name(name) {
        return Err(format!(
            "`{name}` cannot be the name of a key: it needs a letter, then letters, digits and `_`"
        ));
    }
    if name == old {
        return Ok(Vec::new());
    }
    if let Some(provided) = [old, name]
        .into_iter()
        .find(|it| is_provided(view, set, (tree, key), it))
    {
        return Err(format!(
            "the calling program uses the key `{provided}` by this name, and a rename does not change the program"
        ));
    }
    let is_taken = |tree: &TreeNumber| !set.places_of_key(*tree, name).is_empty();
    if set.trees_with_key(tree, key).iter().any(is_taken) {
        return Err(format!("there is a key `{name}` already"));
    }
    let mut edits = Vec::new();
    let mut done = HashSet::new();
    for place in set.places_of_key(tree, key) {
        let mark = if place.is_global { "@" } else { "" };
        let file = set.files[place.file];
        let written = file.text.get(place.span.clone()).unwrap_or_default();
        let text = match place.spelling {
            Spelling::Name => format!("{mark}{name}"),
            Spelling::SameName => format!("{{{name}}}"),
        };
        if place.spelling == Spelling::Name && unescape(written).0 != format!("{mark}{old}") {
            let line = file.range(place.span).start.line + 1;
            let path = file.path.display();
            return Err(format!(
                "{path}:{line}: `{written}` does not name the key `{old}` alone"
            ));
        }
        done.insert((place.file, place.span.start));
        edits.push((place.file, place.span, text));
    }
    // `{=}` of an attribute with a new name still means the old key of the calling tree.
    for (file, span) in set.same_name_passes(tree, key) {
        if done.insert((file, span.start)) {
            edits.push((file, span, format!("{{{old}}}")));
        }
    }
    Ok(edits)
}

/// Whether the calling program uses a key: it knows the keys of the main trees.
fn is_provided(view: &View, set: &FileSet<'_>, (tree, key): (TreeNumber, &str), name: &str) -> bool {
    if !view.registry().provided().contains_key(name) {
        return false;
    }
    let is_main = |tree: &TreeNumber| {
        let id = &set.files[tree.0].trees[tree.1].id;
        let is_stated = set
            .files
            .iter()
            .any(|file| file.main.as_ref().is_some_and(|(main, _)| main == id));
        is_stated || set.calls_of(*tree).is_empty()
    };
    key.starts_with('@') || set.trees_with_key(tree, key).iter().any(is_main)
}
