//! Trees as written: what the XML reader and the fluent builder hand to the compiler.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
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
    /// Where the value and its source part ways, because an entity or a line end is shorter than what was written: after
    /// so many bytes of the value stand so many of its source. In order; empty for most.
    pub escapes: Box<[(u32, u32)]>,
}

impl<'s> AttributeSpec<'s> {
    /// An attribute that stands in no file.
    pub fn new(name: impl Into<Cow<'s, str>>, value: impl Into<Cow<'s, str>>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            name_span: Span::default(),
            value_span: Span::default(),
            escapes: Box::default(),
        }
    }

    /// Where bytes of the value stand in the file; the whole value where it is not in the file as it is.
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
