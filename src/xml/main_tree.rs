//! Selects the tree of a file to run.

use std::borrow::Cow;

use crate::bt::{Confidence, nearest};

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::Attribute;
use super::fix::Fix;
use super::forest::Forest;
use super::includes::Documents;
use super::source::Span;

fn main_attribute(documents: &Documents) -> Option<Attribute<'_>> {
    let root = documents.entry()?.root()?;
    // Another root is reported, and nothing of its file counts.
    (root.name() == "root").then(|| root.attribute("main_tree_to_execute"))?
}

/// The tree to run without a request for one: the tree that the root element names, else the only tree of the file,
/// else the only tree of all files.
pub(super) fn main_tree<'d>(
    documents: &'d Documents,
    forest: &Forest<'d>,
    diagnostics: &mut Diagnostics,
) -> Option<Cow<'d, str>> {
    let root = documents.entry()?.root()?;
    if root.name() != "root" {
        return None;
    }
    if let Some(problem) = misstated_main(documents, forest) {
        diagnostics.push(problem);
    }
    let stated = stated_main(documents, forest);
    if stated.is_some() || main_attribute(documents).is_some() {
        return stated;
    }
    if forest.spec.trees.is_empty() && diagnostics.has_errors() {
        return None;
    }
    let problem = match list(forest.spec.trees.keys()) {
        None => Diagnostic::new(Code::NoMainTree, root.name_span(), "the file defines no tree")
            .help("a tree is a `<BehaviorTree ID=\"…\">`"),
        Some(trees) => {
            let message = "the file defines several trees and does not say which to run";
            Diagnostic::new(Code::NoMainTree, root.name_span(), message).help(format!(
                "write `<root main_tree_to_execute=\"…\">`, or ask for one of: {trees}"
            ))
        }
    };
    diagnostics.push(problem);
    None
}

/// The problem of the attribute that names the tree to run, if any.
pub(super) fn misstated_main(documents: &Documents, forest: &Forest<'_>) -> Option<Diagnostic> {
    let attribute = main_attribute(documents)?;
    let Some(main) = stated_main(documents, forest) else {
        return Some(no_such_tree(attribute.value(), attribute.value_span(), forest));
    };
    let message = format!("`main_tree_to_execute` is empty; `{main}`, the only tree, is run");
    let problem = Diagnostic::new(Code::EmptyMainTree, attribute.value_span(), message);
    let empty = attribute.value().is_empty();
    empty.then(|| problem.help("name the tree, or leave the attribute out"))
}

/// The result of [`main_tree`], without diagnostics.
pub(super) fn stated_main<'d>(documents: &'d Documents, forest: &Forest<'d>) -> Option<Cow<'d, str>> {
    let root = documents.entry()?.root()?;
    let stated = main_attribute(documents).map(Attribute::value);
    if let Some(id) = stated.filter(|id| !id.is_empty()) {
        return forest.spec.trees.contains_key(id).then_some(Cow::Borrowed(id));
    }
    if stated.is_none()
        && let Some(Some(only)) = forest.only_tree.get(&root.document().file())
    {
        return Some(only.clone());
    }
    let mut all = forest.spec.trees.keys();
    match (all.next(), all.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

/// The only tree that no other tree calls, in a file without a named main tree. It includes the other trees.
pub(super) fn outermost_tree<'d>(documents: &Documents, forest: &Forest<'d>) -> Option<Cow<'d, str>> {
    if main_attribute(documents).is_some() {
        return None;
    }
    let called = forest.called();
    let mut outer =
        forest.spec.trees.iter().filter(|(id, tree)| {
            !called.contains(id.as_ref()) && documents.is_own(Span::from(tree.span).file)
        });
    let (Some((only, tree)), None) = (outer.next(), outer.next()) else {
        return None;
    };
    (Span::from(tree.span).file == documents.entry()?.file()).then(|| only.clone())
}

/// A note if the requested file has several trees, and no other tree uses them, and none is to run. `is_used` tells
/// whether another file uses a tree.
pub(super) fn several_trees(
    documents: &Documents,
    forest: &Forest<'_>,
    is_used: impl Fn(&str) -> bool,
) -> Option<Diagnostic> {
    let entry = documents.entry()?;
    if main_attribute(documents).is_some() {
        return None;
    }
    let called = forest.called();
    let mut outer = forest.spec.trees.iter().filter(|(id, tree)| {
        Span::from(tree.span).file == entry.file() && !called.contains(id.as_ref()) && !is_used(id)
    });
    let ((first, _), (_, second)) = (outer.next()?, outer.next()?);
    let message = "several trees can be the one to run, and the file names none";
    let problem = Diagnostic::new(Code::SeveralTrees, entry.root()?.name_span(), message)
        .also(second.span.into(), "the second one")
        .help(format!(
            "write `<root main_tree_to_execute=\"{first}\">`, or name the tree where you start it"
        ));
    Some(problem)
}

pub(super) fn no_such_tree(name: &str, span: Span, forest: &Forest<'_>) -> Diagnostic {
    let names = || forest.spec.trees.keys();
    let problem = Diagnostic::new(Code::NoMainTree, span, format!("there is no tree `{name}`"));
    match nearest(name, names().map(AsRef::as_ref)) {
        Some(near) => problem
            .help(format!("did you mean `{near}`?"))
            .fix(Fix::name(span, near).with_confidence(Confidence::Guess)),
        None => problem.maybe_help(list(names()).map(|trees| format!("the trees are: {trees}"))),
    }
}

/// The first few names; `None` if there are none.
fn list<'n>(names: impl Iterator<Item = &'n Cow<'n, str>>) -> Option<String> {
    let mut names: Vec<&str> = names.map(AsRef::as_ref).take(11).collect();
    if names.len() > 10 {
        names[10] = "…";
    }
    (!names.is_empty()).then(|| names.join(", "))
}
