//! Trees as written: what the XML reader and the fluent builder hand to the compiler.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::behavior::Dialect;
use super::definition::{Places, Span};

/// An attribute.
#[derive(Clone, Debug)]
pub struct AttributeSpec<'s> {
    /// Its name.
    pub name: Cow<'s, str>,
    /// Its value, unescaped.
    pub value: Cow<'s, str>,
    /// Where the name stands.
    pub name_span: Span,
    /// Where the value stands, without quotes.
    pub value_span: Span,
}

/// How a node refers to a tree instead of a node type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubTreeForm {
    /// `<SubTree>`.
    Plain,
    /// Version 3's `<SubTreePlus>`.
    Plus,
}

/// A node as written.
#[derive(Clone, Debug)]
pub struct NodeSpec<'s> {
    /// The registered ID, or the ID of the tree where `subtree` is set.
    pub id: Cow<'s, str>,
    /// Whether this instantiates a tree.
    pub subtree: Option<SubTreeForm>,
    /// The `name` attribute.
    pub name: Option<Cow<'s, str>>,
    /// All attributes but `ID` and `name`, in order.
    pub attributes: Vec<AttributeSpec<'s>>,
    /// Its children, in order.
    pub children: Vec<NodeSpec<'s>>,
    /// Where its tag name stands.
    pub span: Span,
}

/// A `<BehaviorTree>`.
#[derive(Clone, Debug)]
pub struct TreeSpec<'s> {
    /// Its ID.
    pub id: Cow<'s, str>,
    /// Its only child.
    pub root: NodeSpec<'s>,
    /// The language of its file.
    pub dialect: Dialect,
    /// Where its ID stands.
    pub span: Span,
}

/// A port of a subtree, as a `<TreeNodesModel>` declares it.
#[derive(Clone, Debug)]
pub struct ModelPort {
    /// Its name.
    pub name: String,
    /// What an instance without the attribute gets.
    pub default: Option<String>,
    /// Where it is declared.
    pub span: Span,
}

/// Everything that one load found.
#[derive(Clone, Default)]
pub struct ForestSpec<'s> {
    /// Trees by ID.
    pub trees: BTreeMap<Cow<'s, str>, TreeSpec<'s>>,
    /// Declared ports of subtrees, by tree ID.
    pub models: BTreeMap<Cow<'s, str>, Vec<ModelPort>>,
    /// Turns spans into places, for errors at run time.
    pub places: Option<Arc<dyn Places>>,
}
