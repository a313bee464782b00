//! What one file says: its trees, and the keys, trees and files that it names.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::bt::script::{Access, Names, Script};
use crate::bt::{AttributeSpec, Dialect, Direction, PortText, Registry, SlotId, is_port_name, port_text};
use crate::xml::{Attribute, Diagnostics, Document, Element, Format, NodeId, Sources, V4_ATTRIBUTES};

use super::position::Lines;
use super::scan::{self, Tag};

/// A place that names a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyUse {
    pub(super) key: String,
    /// The key alone, without braces; the whole value of a port that names its key by `{=}`.
    pub(super) span: Range<usize>,
    pub(super) spelling: Spelling,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// The node that names it.
    pub(super) node: NodeId,
}

/// How a place names a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Spelling {
    /// By its name.
    Name,
    /// By `{=}`: the key with the name of the attribute. Another key stands in braces.
    SameName,
}

/// An attribute of a `<SubTree>` that sets a key of the called tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pass {
    /// The key of the called tree.
    pub(super) name: String,
    /// The name of the attribute.
    pub(super) span: Range<usize>,
    /// The key of the calling tree, if it names one.
    pub(super) key: Option<String>,
    /// The value, if it is `{=}`.
    pub(super) same_name: Option<Range<usize>>,
}

/// A `<SubTree>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) id_span: Range<usize>,
    pub(super) passes: Vec<Pass>,
    /// Whether keys of the same name are shared.
    pub(super) shares: bool,
}

/// A `<BehaviorTree>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tree {
    pub(super) id: String,
    /// The ID in the file, or the tag name of a tree without one.
    pub(super) id_span: Range<usize>,
    pub(super) span: Range<usize>,
    pub(super) keys: Vec<KeyUse>,
    pub(super) calls: Vec<Call>,
}

/// A file, as far as it can be read.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) lines: Lines,
    pub(super) tags: Vec<Tag>,
    pub(super) document: Document,
    pub(super) dialect: Dialect,
    pub(super) trees: Vec<Tree>,
    /// The value of `main_tree_to_execute`.
    pub(super) main: Option<(String, Range<usize>)>,
    /// The included files and the places that name them.
    pub(super) includes: Vec<(PathBuf, Range<usize>)>,
    /// Entries of models of subtrees: the tree, the place of its ID, and the ports with the places of their names.
    pub(super) models: Vec<Model>,
}

/// The model of a subtree in a `<TreeNodesModel>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Model {
    pub(super) id: String,
    pub(super) id_span: Range<usize>,
    pub(super) ports: Vec<(String, Range<usize>)>,
}

/// The bytes of a span.
pub(super) fn bytes(span: crate::xml::Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

impl File {
    /// Reads a text, with all that can be told of a half-written one.
    pub(super) fn read(path: &Path, text: String) -> Self {
        let tags = scan::tags(&text);
        let readable = scan::without_unfinished(&text, &tags).into_owned();
        let mut sources = Sources::new();
        let source = sources.add_file(path, readable);
        // The check reports the problems.
        let mut unsaid = Diagnostics::new();
        let document = Document::parse(&source, &mut unsaid);
        let dialect = Format::of(&document, None, &mut unsaid).dialect();
        let mut file = Self {
            path: path.to_path_buf(),
            lines: Lines::new(&text),
            text,
            tags,
            dialect,
            trees: Vec::new(),
            main: None,
            includes: Vec::new(),
            models: Vec::new(),
            document,
        };
        file.read_outline();
        file
    }

    fn read_outline(&mut self) {
        let Some(root) = self.document.root() else { return };
        let main = root.attribute("main_tree_to_execute");
        self.main = main.map(|main| (main.value().to_owned(), bytes(main.value_span())));
        let directory = self.path.parent().unwrap_or(Path::new(""));
        let (mut trees, mut includes, mut models) = (Vec::new(), Vec::new(), Vec::new());
        for child in root.children() {
            match child.name() {
                "BehaviorTree" => {
                    let id = child.attribute("ID");
                    let count = trees.len();
                    trees.push(Tree {
                        id: id.map_or_else(|| format!("BehaviorTree_{count}"), |id| id.value().to_owned()),
                        id_span: bytes(id.map_or(child.name_span(), Attribute::value_span)),
                        span: bytes(child.span()),
                        keys: Vec::new(),
                        calls: Vec::new(),
                    });
                }
                "include" if child.attribute("ros_pkg").is_none() => {
                    if let Some(path) = child.attribute("path") {
                        includes.push((directory.join(path.value()), bytes(path.value_span())));
                    }
                }
                "TreeNodesModel" => models.extend(child.children().filter_map(model)),
                _ => {}
            }
        }
        (self.trees, self.includes, self.models) = (trees, includes, models);
    }

    /// Reads the keys and calls of all trees, with the node types of a registry.
    pub(super) fn read_keys(&mut self, registry: &Registry) {
        let elements = self.document.root().into_iter().flat_map(Element::children);
        let trees = elements.filter(|element| element.name() == "BehaviorTree");
        let mut found = Vec::new();
        for tree in trees {
            let mut reader = KeyReader {
                registry,
                dialect: self.dialect,
                keys: Vec::new(),
                calls: Vec::new(),
            };
            for element in tree.subtree().skip(1) {
                reader.read(element);
            }
            found.push((reader.keys, reader.calls));
        }
        for (tree, (keys, calls)) in self.trees.iter_mut().zip(found) {
            tree.keys = keys;
            tree.calls = calls;
        }
    }

    /// The number of the tree around an offset.
    pub(super) fn tree_at(&self, offset: usize) -> Option<usize> {
        self.trees
            .iter()
            .position(|tree| tree.span.start <= offset && offset <= tree.span.end)
    }

    /// The protocol's range of bytes.
    pub(super) fn range(&self, bytes: Range<usize>) -> lsp_types::Range {
        self.lines.range(&self.text, bytes)
    }

    /// The byte offset of a position.
    pub(super) fn offset(&self, position: lsp_types::Position) -> usize {
        self.lines.offset(&self.text, position)
    }
}

fn model(entry: Element<'_>) -> Option<Model> {
    let id = entry.attribute("ID").filter(|_| entry.name() == "SubTree")?;
    let ports = entry.children().filter_map(|port| {
        let name = port.attribute("name")?;
        Some((name.value().to_owned(), bytes(name.value_span())))
    });
    Some(Model {
        id: id.value().to_owned(),
        id_span: bytes(id.value_span()),
        ports: ports.collect(),
    })
}

/// Whether a tag calls a tree.
pub(super) fn is_call(tag: &str) -> bool {
    matches!(tag, "SubTree" | "SubTreePlus")
}

/// Whether an attribute of a node is a script.
pub(super) fn is_script(registry: &Registry, dialect: Dialect, node: &str, attribute: &str) -> bool {
    if V4_ATTRIBUTES.contains(&attribute) {
        return attribute != "_autoremap" && dialect == Dialect::V4;
    }
    let node_type = registry.get(node, dialect);
    let port = node_type.and_then(|node_type| node_type.manifest().port(attribute));
    port.is_some_and(|port| port.script.is_some())
}

/// Ports whose text is a key without braces.
fn names_key(node: &str, port: &str) -> bool {
    matches!(
        (node, port),
        ("SetBlackboard", "output_key")
            | ("UnsetBlackboard", "key")
            | (
                "WasEntryUpdated" | "SkipUnlessUpdated" | "WaitValueUpdate",
                "entry"
            )
    )
}

struct KeyReader<'r> {
    registry: &'r Registry,
    dialect: Dialect,
    keys: Vec<KeyUse>,
    calls: Vec<Call>,
}

impl KeyReader<'_> {
    fn read(&mut self, element: Element<'_>) {
        let tag = element.name();
        let is_call = is_call(tag);
        let (node, _) = element.node_type();
        let mut call = is_call.then(|| {
            let id = element.attribute("ID");
            let truth = |name| matches!(element.value(name), Some("true" | "1"));
            Call {
                id: id.map_or_else(String::new, |id| id.value().to_owned()),
                id_span: bytes(id.map_or(element.name_span(), Attribute::value_span)),
                passes: Vec::new(),
                shares: truth("_autoremap") || truth("__autoremap") || truth("__shared_blackboard"),
            }
        });
        for attribute in element.attributes() {
            let name = attribute.name();
            if matches!(name, "ID" | "name") {
                continue;
            }
            if is_script(self.registry, self.dialect, node, name) {
                self.script(attribute, element);
                continue;
            }
            if !is_port_name(name) {
                continue;
            }
            let text = port_text(attribute.value(), self.dialect);
            let is_same_name = matches!(text, PortText::SameName);
            let key = match text {
                PortText::Pointer(key) => Some(key),
                PortText::SameName => Some(name),
                PortText::Literal(text) => {
                    let is_key = names_key(node, name) || (tag == "SubTree" && self.dialect == Dialect::V3);
                    is_key.then_some(text).filter(|text| !text.is_empty())
                }
            };
            if let Some(call) = &mut call {
                call.passes.push(Pass {
                    name: name.to_owned(),
                    span: bytes(attribute.name_span()),
                    key: key.map(str::to_owned),
                    same_name: is_same_name.then(|| bytes(attribute.value_span())),
                });
            }
            let Some(key) = key else { continue };
            let (reads, writes) = self.access(node, name, is_call);
            let (span, spelling) = if is_same_name {
                (bytes(attribute.value_span()), Spelling::SameName)
            } else {
                (place_of(key, attribute), Spelling::Name)
            };
            self.keys.push(KeyUse {
                key: key.to_owned(),
                span,
                spelling,
                reads,
                writes,
                node: element.id(),
            });
        }
        self.calls.extend(call);
    }

    /// How a port uses its key. A port of an unknown node may read and write.
    fn access(&self, node: &str, port: &str, is_call: bool) -> (bool, bool) {
        if is_call {
            return (true, false);
        }
        if matches!((node, port), ("SetBlackboard", "output_key")) {
            return (false, true);
        }
        let node_type = self.registry.get(node, self.dialect);
        let declared = node_type.and_then(|node_type| node_type.manifest().port(port));
        match declared.map(|port| port.direction) {
            Some(Direction::Input) => (true, false),
            Some(Direction::Output) => (false, true),
            Some(Direction::InOut) | None => (true, true),
        }
    }

    fn script(&mut self, attribute: Attribute<'_>, element: Element<'_>) {
        let spec = spec(attribute);
        let mut names = ScriptKeys::default();
        // The names before an error count too.
        let _ = Script::compile(attribute.value(), self.registry.enums(), &mut names);
        for (key, access, range) in names.found {
            let span = spec.part(range);
            self.keys.push(KeyUse {
                key,
                span: span.start as usize..span.end as usize,
                spelling: Spelling::Name,
                reads: access != Access::Create,
                writes: access != Access::Read,
                node: element.id(),
            });
        }
    }
}

fn spec(attribute: Attribute<'_>) -> AttributeSpec<'_> {
    AttributeSpec {
        name: Cow::Borrowed(attribute.name()),
        value: Cow::Borrowed(attribute.value()),
        name_span: attribute.name_span().into(),
        value_span: attribute.value_span().into(),
        escapes: attribute.escapes(),
    }
}

/// The place of a key in a value, with the entities that spell it.
fn place_of(key: &str, attribute: Attribute<'_>) -> Range<usize> {
    let start = attribute.value().find(key).unwrap_or(0);
    let span = spec(attribute).part(start..start + key.len());
    span.start as usize..span.end as usize
}

/// Collects the keys of a script.
#[derive(Default)]
struct ScriptKeys {
    found: Vec<(String, Access, Range<usize>)>,
}

impl Names for ScriptKeys {
    fn slot(&mut self, key: &str, access: Access, range: Range<usize>) -> SlotId {
        self.found.push((key.to_owned(), access, range));
        SlotId::from_index(0)
    }
}
