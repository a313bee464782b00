//! `textDocument/definition`: the definition of a tree, the writers of a key, an included file.

use lsp_types::{Location, Position};

use super::workspace::View;

pub(super) fn of(view: &View, position: Position) -> Vec<Location> {
    let file = view.file();
    let offset = file.offset(position);
    let set = view.set();
    if let Some((path, _)) = file
        .includes
        .iter()
        .find(|(_, span)| span.start <= offset && offset <= span.end)
    {
        let start = lsp_types::Range::default();
        let uri = path.canonicalize().ok().and_then(|path| view.uri_of(&path));
        return uri.map(|uri| Location::new(uri, start)).into_iter().collect();
    }
    if let Some(((other, tree), _)) = set.tree_named_at(view.number(), offset) {
        let span = set.files[other].trees[tree].id_span.clone();
        return location(view, other, span).into_iter().collect();
    }
    let Some((tree, key, _)) = set.key_at(view.number(), offset) else {
        return Vec::new();
    };
    let writers = set.writers(tree, &key);
    writers
        .into_iter()
        .filter_map(|(file, writer)| location(view, file, writer.span.clone()))
        .collect()
}

/// A place in a file of a set.
pub(super) fn location(view: &View, file: usize, span: std::ops::Range<usize>) -> Option<Location> {
    Some(Location::new(
        view.uri(file)?.clone(),
        view.content(file)?.range(span),
    ))
}
