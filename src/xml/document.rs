//! A file as a tree of elements, attributes and comments, each with its exact position.
//!
//! The loader, the checker, the converter and the palette reader share this form. Nodes are stored in one list in
//! document order: all descendants of a node are between it and its `end`. A walk is a loop over this list and needs no
//! recursion, at any depth.

use std::ops::Range;
use std::sync::Arc;

use super::diagnostic::Diagnostics;
use super::entity;
use super::read::NONE;
use super::source::{FileId, SourceFile, Span, offset_u32};

/// Identifies a node of one [`Document`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The index of this node in document order.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a node of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// An element.
    Element,
    /// A comment.
    Comment,
    /// Text that is not blank.
    Text,
}

/// Stored form of a node; offsets are bytes of the file.
#[derive(Debug)]
pub(super) struct NodeData {
    pub(super) kind: NodeKind,
    /// The parent's index, or `u32::MAX`.
    pub(super) parent: u32,
    /// The index after the last descendant.
    pub(super) end: u32,
    pub(super) span: Range<u32>,
    /// Elements only: the name in the start tag.
    pub(super) name: Range<u32>,
    /// Elements only: the end of the start tag (after `>`).
    pub(super) tag_end: u32,
    /// Elements only: a range of [`Document::attributes`].
    pub(super) attributes: Range<u32>,
}

/// Stored form of an attribute.
#[derive(Debug)]
pub(super) struct AttributeData {
    pub(super) name: Range<u32>,
    /// Between the quotes.
    pub(super) value: Range<u32>,
    /// An index of [`Document::unescaped`], or `u32::MAX` if the raw value needs no change.
    pub(super) unescaped: u32,
}

/// A parsed file, with the positions of all its parts.
#[derive(Debug)]
pub struct Document {
    pub(super) source: Arc<SourceFile>,
    pub(super) nodes: Vec<NodeData>,
    pub(super) attributes: Vec<AttributeData>,
    pub(super) unescaped: Vec<Box<str>>,
    pub(super) root: Option<NodeId>,
}

impl Document {
    /// Parses a file. Reports all problems to `diagnostics`, and always returns the parts that could be parsed. The
    /// document is complete only if no error was reported.
    pub fn parse(source: &Arc<SourceFile>, diagnostics: &mut Diagnostics) -> Self {
        super::read::read(source, diagnostics)
    }

    /// The source file.
    pub fn source(&self) -> &Arc<SourceFile> {
        &self.source
    }

    /// The id of the source file.
    pub fn file(&self) -> FileId {
        self.source.id()
    }

    /// The outermost element.
    pub fn root(&self) -> Option<Element<'_>> {
        self.root.map(|id| Element { document: self, id })
    }

    /// The node, if it is an element of this document.
    pub fn element(&self, id: NodeId) -> Option<Element<'_>> {
        let data = self.nodes.get(id.index())?;
        (data.kind == NodeKind::Element).then_some(Element { document: self, id })
    }

    /// The element whose name starts at this byte offset.
    pub fn element_at(&self, name: u32) -> Option<Element<'_>> {
        let start = name.checked_sub(1)?;
        let index = self
            .nodes
            .binary_search_by_key(&start, |node| node.span.start)
            .ok()?;
        self.element(NodeId(offset_u32(index)))
    }

    /// The attribute whose name starts at this byte offset.
    pub fn attribute_at(&self, name: u32) -> Option<Attribute<'_>> {
        let index = self
            .attributes
            .binary_search_by_key(&name, |attribute| attribute.name.start)
            .ok()?;
        let data = self.attributes.get(index)?;
        Some(Attribute { document: self, data })
    }

    /// All nodes in document order, including those outside the outermost element.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..offset_u32(self.nodes.len())).map(|index| self.node(NodeId(index)))
    }

    fn node(&self, id: NodeId) -> Node<'_> {
        match self.nodes[id.index()].kind {
            NodeKind::Element => Node::Element(Element { document: self, id }),
            NodeKind::Comment => Node::Comment(Text { document: self, id }),
            NodeKind::Text => Node::Text(Text { document: self, id }),
        }
    }

    fn span(&self, range: &Range<u32>) -> Span {
        Span {
            file: self.source.id(),
            start: range.start,
            end: range.end,
        }
    }

    fn text(&self, range: &Range<u32>) -> &str {
        self.source
            .text()
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }
}

/// An element, a comment or text.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// An element.
    Element(Element<'a>),
    /// A comment.
    Comment(Text<'a>),
    /// Text that is not blank.
    Text(Text<'a>),
}

impl<'a> Node<'a> {
    /// The element, if it is one.
    pub fn as_element(self) -> Option<Element<'a>> {
        match self {
            Self::Element(element) => Some(element),
            Self::Comment(_) | Self::Text(_) => None,
        }
    }

    /// The span of the whole node.
    pub fn span(self) -> Span {
        match self {
            Self::Element(element) => element.span(),
            Self::Comment(text) | Self::Text(text) => text.span(),
        }
    }

    /// The parent element.
    pub fn parent(self) -> Option<Element<'a>> {
        match self {
            Self::Element(element) => element.parent(),
            Self::Comment(text) | Self::Text(text) => parent(text.document, text.id),
        }
    }
}

fn parent(document: &Document, id: NodeId) -> Option<Element<'_>> {
    document.element(NodeId(document.nodes[id.index()].parent))
}

/// A comment or a text.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    document: &'a Document,
    id: NodeId,
}

impl<'a> Text<'a> {
    /// The text in the file; a comment with its `<!--` and `-->`.
    pub fn raw(self) -> &'a str {
        self.document.text(&self.document.nodes[self.id.index()].span)
    }

    /// The content; a comment without its `<!--` and `-->`.
    pub fn content(self) -> &'a str {
        let raw = self.raw();
        raw.strip_prefix("<!--")
            .and_then(|raw| raw.strip_suffix("-->"))
            .unwrap_or(raw)
    }

    /// The span of the whole comment or text.
    pub fn span(self) -> Span {
        self.document.span(&self.document.nodes[self.id.index()].span)
    }

    /// The id, which is also the index in document order.
    pub fn id(self) -> NodeId {
        self.id
    }
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

/// Whether a tag names the kind of its node, whose type is then in the attribute `ID`: `<Action ID="Wait"/>`.
pub(crate) fn names_kind(tag: &str) -> bool {
    matches!(tag, "Action" | "Condition" | "Control" | "Decorator")
}

/// An element. Cheap to copy: a reference and a number.
#[derive(Clone, Copy)]
pub struct Element<'a> {
    document: &'a Document,
    id: NodeId,
}

impl<'a> Element<'a> {
    fn data(self) -> &'a NodeData {
        &self.document.nodes[self.id.index()]
    }

    /// The id, which is also the index in document order.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The document it belongs to.
    pub fn document(self) -> &'a Document {
        self.document
    }

    /// The tag name, including a namespace prefix.
    pub fn name(self) -> &'a str {
        self.document.text(&self.data().name)
    }

    /// The span of the name in the start tag.
    pub fn name_span(self) -> Span {
        self.document.span(&self.data().name)
    }

    /// The span from `<` of the start tag to `>` of the end tag.
    pub fn span(self) -> Span {
        self.document.span(&self.data().span)
    }

    /// The span of the start tag from `<` to `>`; for `<A/>` the whole element.
    pub fn start_tag_span(self) -> Span {
        let data = self.data();
        self.document.span(&(data.span.start..data.tag_end))
    }

    /// True for `<A/>`.
    pub fn is_self_closing(self) -> bool {
        self.document.source.slice(self.start_tag_span()).ends_with("/>")
    }

    /// The attributes, in the order of the file.
    pub fn attributes(self) -> impl ExactSizeIterator<Item = Attribute<'a>> {
        let document = self.document;
        let Range { start, end } = self.data().attributes;
        document.attributes[start as usize..end as usize]
            .iter()
            .map(move |data| Attribute { document, data })
    }

    /// The attribute of this name.
    pub fn attribute(self, name: &str) -> Option<Attribute<'a>> {
        self.attributes().find(|attribute| attribute.name() == name)
    }

    /// The value of the attribute of this name.
    pub fn value(self, name: &str) -> Option<&'a str> {
        self.attribute(name).map(Attribute::value)
    }

    /// The ID of a node: its tag, or the `ID` of the form that names its kind. Also the attribute, if that holds it.
    pub(crate) fn node_type(self) -> (&'a str, Option<Attribute<'a>>) {
        match self.attribute("ID").filter(|_| names_kind(self.name())) {
            Some(id) => (id.value(), Some(id)),
            None => (self.name(), None),
        }
    }

    /// The elements, comments and texts directly in this element.
    pub fn nodes(self) -> impl Iterator<Item = Node<'a>> {
        let document = self.document;
        let end = self.data().end;
        let mut next = self.id.0.saturating_add(1);
        std::iter::from_fn(move || {
            let id = NodeId(next);
            (next < end).then(|| {
                next = document.nodes[id.index()].end;
                document.node(id)
            })
        })
    }

    /// The elements directly in this element.
    pub fn children(self) -> impl Iterator<Item = Self> {
        self.nodes().filter_map(Node::as_element)
    }

    /// This element and all elements below it, in document order.
    pub fn subtree(self) -> impl Iterator<Item = Self> {
        let document = self.document;
        (self.id.0..self.data().end).filter_map(move |index| document.element(NodeId(index)))
    }

    /// The index in document order after the last descendant.
    pub(super) fn end(self) -> usize {
        self.data().end as usize
    }

    /// The parent element.
    pub fn parent(self) -> Option<Self> {
        parent(self.document, self.id)
    }
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.document, other.document) && self.id == other.id
    }
}

impl std::fmt::Debug for Element<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.document.source.slice(self.start_tag_span()))
    }
}

/// An attribute of an element.
#[derive(Clone, Copy)]
pub struct Attribute<'a> {
    document: &'a Document,
    data: &'a AttributeData,
}

impl<'a> Attribute<'a> {
    /// The name, including a namespace prefix.
    pub fn name(self) -> &'a str {
        self.document.text(&self.data.name)
    }

    /// The value with resolved entities.
    pub fn value(self) -> &'a str {
        self.document
            .unescaped
            .get(self.data.unescaped as usize)
            .map_or_else(|| self.raw_value(), AsRef::as_ref)
    }

    /// The raw value between the quotes.
    pub fn raw_value(self) -> &'a str {
        self.document.text(&self.data.value)
    }

    /// The span of the name.
    pub fn name_span(self) -> Span {
        self.document.span(&self.data.name)
    }

    /// The span of the value without its quotes.
    pub fn value_span(self) -> Span {
        self.document.span(&self.data.value)
    }

    /// The span from the name to the closing quote.
    pub fn span(self) -> Span {
        self.document
            .span(&(self.data.name.start..self.data.value.end.saturating_add(1)))
    }

    /// The positions where [`Attribute::value`] and [`Attribute::raw_value`] differ, in the format of
    /// [`AttributeSpec::escapes`](crate::bt::AttributeSpec::escapes).
    pub fn escapes(self) -> Box<[(u32, u32)]> {
        if self.data.unescaped == NONE {
            return Box::default();
        }
        entity::escapes(self.raw_value())
    }
}

impl std::fmt::Debug for Attribute<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.document.source.slice(self.span()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::source::Sources;
    use super::*;

    const FILE: &str = r#"<?xml version="1.0"?>
<!-- head -->
<root BTCPP_format="4">
  <BehaviorTree ID='Main'>
    <Sequence name="a &lt; b">
      <!-- inner -->
      <Wait duration = "1"/>
      <Spin></Spin>
    </Sequence>
  </BehaviorTree>
</root>
"#;

    #[test]
    fn everything_has_its_exact_place() {
        let mut sources = Sources::new();
        let file = sources.add_text("<text>", Path::new(""), FILE.into());
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(&file, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");

        let root = document.root().unwrap();
        assert_eq!((root.name(), root.value("BTCPP_format")), ("root", Some("4")));
        let names: Vec<_> = root.subtree().map(Element::name).collect();
        assert_eq!(names, ["root", "BehaviorTree", "Sequence", "Wait", "Spin"]);

        let sequence = root.children().next().unwrap().children().next().unwrap();
        let name = sequence.attribute("name").unwrap();
        assert_eq!((name.value(), name.raw_value()), ("a < b", "a &lt; b"));
        assert_eq!(file.slice(name.span()), r#"name="a &lt; b""#);
        assert_eq!(
            file.slice(sequence.start_tag_span()),
            r#"<Sequence name="a &lt; b">"#
        );
        assert!(file.slice(sequence.span()).ends_with("</Sequence>"));

        let nodes: Vec<_> = sequence.nodes().map(|node| file.slice(node.span())).collect();
        assert_eq!(
            nodes,
            ["<!-- inner -->", r#"<Wait duration = "1"/>"#, "<Spin></Spin>"]
        );
        let wait = sequence.children().next().unwrap();
        assert_eq!(
            file.slice(wait.attribute("duration").unwrap().span()),
            r#"duration = "1""#
        );
        assert!(wait.is_self_closing());
        assert_eq!(document.element_at(wait.name_span().start), Some(wait));
        assert_eq!(wait.parent(), Some(sequence));
        assert_eq!(root.parent(), None);

        let comments: Vec<_> = document
            .nodes()
            .filter_map(|node| match node {
                Node::Comment(comment) => Some(comment.content()),
                Node::Element(_) | Node::Text(_) => None,
            })
            .collect();
        assert_eq!(comments, [" head ", " inner "]);
    }
}
