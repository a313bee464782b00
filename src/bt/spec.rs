//! Parsed trees: the output of the XML reader and of the builder, and the input of the compiler.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::definition::{Places, Span};
use super::dialect::Dialect;

/// An attribute.
#[derive(Clone, Debug)]
pub struct AttributeSpec<'s> {
    /// Its name.
    pub name: Cow<'s, str>,
    /// Its value, unescaped.
    pub value: Cow<'s, str>,
    /// The place of the name.
    pub name_span: Span,
    /// The place of the value, without quotes.
    pub value_span: Span,
    /// Differences in length between the value and its source text, caused by entities and line ends: pairs of a byte
    /// offset in the value and the matching byte offset in the source. Sorted; usually empty.
    pub escapes: Box<[(u32, u32)]>,
}

impl<'s> AttributeSpec<'s> {
    /// An attribute that is not from a file.
    pub fn new(name: impl Into<Cow<'s, str>>, value: impl Into<Cow<'s, str>>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            name_span: Span::default(),
            value_span: Span::default(),
            escapes: Box::default(),
        }
    }

    /// The place of a byte range of the value. The whole value if the file does not contain it unchanged.
    pub(crate) fn part(&self, range: Range<usize>) -> Span {
        let whole = self.value_span;
        let place = |offset: usize| {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            let passed = self.escapes.partition_point(|(meant, _)| *meant <= offset);
            let (meant, written) = match passed.checked_sub(1) {
                Some(last) => self.escapes[last],
                None => (0, 0),
            };
            whole.start.saturating_add(written).saturating_add(offset - meant)
        };
        if range.end > self.value.len() || place(self.value.len()) != whole.end {
            return whole;
        }
        Span {
            start: place(range.start),
            end: place(range.end),
            ..whole
        }
    }
}

/// The form in which a node refers to a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubTreeForm {
    /// `<SubTree>`.
    Plain,
    /// Version 3's `<SubTreePlus>`.
    Plus,
}

/// A parsed node.
#[derive(Clone, Debug)]
pub struct NodeSpec<'s> {
    /// The registered ID, or the ID of the tree if `subtree` is set.
    pub id: Cow<'s, str>,
    /// Set if the node instantiates a tree.
    pub subtree: Option<SubTreeForm>,
    /// The `name` attribute.
    pub name: Option<Cow<'s, str>>,
    /// All attributes except `ID` and `name`, in order.
    pub attributes: Vec<AttributeSpec<'s>>,
    /// Its children, in order.
    pub children: Vec<NodeSpec<'s>>,
    /// The place of its tag name.
    pub span: Span,
}

impl NodeSpec<'_> {
    /// The node for messages: its ID, and its name if it has one.
    pub(crate) fn label(&self) -> String {
        label(&self.id, self.name.as_deref().unwrap_or_default())
    }
}

/// A node for messages: its ID, and its name if that is another text.
pub(crate) fn label(id: &str, name: &str) -> String {
    if name.is_empty() || name == id {
        format!("`{id}`")
    } else {
        format!("`{id}` \"{name}\"")
    }
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
    /// The place of its ID.
    pub span: Span,
}

/// A port of a subtree, declared in a `<TreeNodesModel>`.
#[derive(Clone, Debug)]
pub struct ModelPort {
    /// Its name.
    pub name: String,
    /// The value for an instance without the attribute.
    pub default: Option<String>,
    /// The place of the declaration.
    pub span: Span,
}

/// All trees and models of one load.
#[derive(Clone, Default)]
pub struct ForestSpec<'s> {
    /// Trees by ID.
    pub trees: BTreeMap<Cow<'s, str>, TreeSpec<'s>>,
    /// Declared ports of subtrees, by tree ID.
    pub models: BTreeMap<Cow<'s, str>, Vec<ModelPort>>,
    /// Turns spans into places, for errors at run time.
    pub places: Option<Arc<dyn Places>>,
}
