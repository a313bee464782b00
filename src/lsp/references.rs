//! `textDocument/references` and `textDocument/documentHighlight`: all places that name a tree, a key or a file.

use std::ops::Range;

use lsp_types::{DocumentHighlight, Location, Position};

use super::definition::location;
use super::workspace::View;

/// The places that name what stands at a position, each with the number of its file.
pub(super) fn places(view: &View, position: Position) -> Vec<(usize, Range<usize>)> {
    let set = view.set();
    let offset = view.file().offset(position);
    if let Some((tree, _)) = set.tree_named_at(view.number(), offset) {
        return set.places_of_tree(tree);
    }
    if let Some((tree, key, _)) = set.key_at(view.number(), offset) {
        let places = set.places_of_key(tree, &key).into_iter();
        return places.map(|place| (place.file, place.span)).collect();
    }
    let is_here = |span: &Range<usize>| span.start <= offset && offset <= span.end;
    let Some((path, _)) = view.file().includes.iter().find(|(_, span)| is_here(span)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (number, file) in set.files.iter().enumerate() {
        let same = |other: &std::path::Path| {
            other == path
                || other
                    .canonicalize()
                    .is_ok_and(|other| path.canonicalize().is_ok_and(|it| it == other))
        };
        let includes = file.includes.iter().filter(|(other, _)| same(other));
        found.extend(includes.map(|(_, span)| (number, span.clone())));
    }
    found
}

pub(super) fn of(view: &View, position: Position) -> Vec<Location> {
    places(view, position)
        .into_iter()
        .filter_map(|(file, span)| location(view, file, span))
        .collect()
}

/// The places in the file itself.
pub(super) fn highlights(view: &View, position: Position) -> Vec<DocumentHighlight> {
    let here = places(view, position)
        .into_iter()
        .filter(|(file, _)| *file == view.number());
    here.map(|(_, span)| DocumentHighlight {
        range: view.file().range(span),
        kind: None,
    })
    .collect()
}
