//! Palettes: node types that a `<TreeNodesModel>` declares, to check trees with nodes of other programs.

use std::borrow::Cow;
use std::path::Path;

use crate::bt::{
    Behavior, Context, Direction, NodeKind, Ports, Registry, Tick, Value, is_model_name, is_port_name,
};

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Document, Element, Node};
use super::files::{AmentIndex, Files};
use super::includes::Documents;
use super::source::Sources;

/// Declared node types.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    nodes: Vec<PaletteNode>,
}

#[derive(Clone, Debug)]
struct PaletteNode {
    id: String,
    kind: NodeKind,
    doc: String,
    ports: Vec<PalettePort>,
}

#[derive(Clone, Debug)]
struct PalettePort {
    name: String,
    direction: Direction,
    default: Option<String>,
    doc: String,
}

impl Palette {
    /// Reads the models of a file in Groot's format: under `<root>`, or alone.
    pub fn read_file(path: &Path, files: &dyn Files, diagnostics: &mut Diagnostics) -> (Self, Sources) {
        let read = Documents::read_file(path, files, &AmentIndex::default(), diagnostics);
        let mut palette = Self::default();
        for document in &read.documents {
            palette.add(document, diagnostics);
        }
        (palette, read.sources)
    }

    /// Adds the declared node types of a document.
    pub fn add(&mut self, document: &Document, diagnostics: &mut Diagnostics) {
        let Some(root) = document.root() else { return };
        let models = root
            .children()
            .chain([root])
            .filter(|element| element.name() == "TreeNodesModel");
        for entry in models.flat_map(Element::children) {
            if let Some(node) = palette_node(entry, diagnostics) {
                self.nodes.push(node);
            }
        }
    }

    /// Registers the types that `registry` does not contain. Their ports accept any value. A tree that runs one of
    /// these types fails with a message about the missing implementation.
    pub fn register(&self, registry: &mut Registry) {
        for node in &self.nodes {
            // A registered node has more information than a palette.
            if registry.contains(&node.id) {
                continue;
            }
            if node.ports.is_empty() {
                // The ports are unknown. An empty list does not mean that the node has no ports.
                registry.register_open(&node.id, node.kind, |ports| {
                    for name in ports.attributes() {
                        ports.inout::<Value>(name).bind();
                    }
                    Box::new(Declared)
                });
                continue;
            }
            let ports = node.ports.clone();
            let taken = registry.register_with(
                &node.id,
                node.kind,
                node.kind.arity(),
                &node.doc,
                move |declared| {
                    for port in &ports {
                        port.declare(declared);
                    }
                    Box::new(Declared)
                },
            );
            debug_assert!(
                taken.is_ok(),
                "the name was checked when it was read, and it is free"
            );
        }
    }

    /// The IDs, in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.id.as_str())
    }
}

impl PalettePort {
    fn declare(&self, ports: &mut Ports<'_>) {
        let default = |text: &String| Cow::Owned::<'static, str>(text.clone());
        let (name, doc) = (self.name.clone(), self.doc.clone());
        match (self.direction, self.default.as_ref().map(default)) {
            (Direction::Input, None) => {
                ports.input::<Value>(name).doc(doc).bind();
            }
            (Direction::Input, Some(text)) => {
                ports.input::<Value>(name).doc(doc).default(text).bind();
            }
            (Direction::Output, _) => {
                ports.output::<Value>(name).doc(doc).bind();
            }
            (Direction::InOut, _) => {
                ports.inout::<Value>(name).doc(doc).bind();
            }
        }
    }
}

fn palette_node(entry: Element<'_>, diagnostics: &mut Diagnostics) -> Option<PaletteNode> {
    let kind = match entry.name() {
        "Action" => NodeKind::Action,
        "Condition" => NodeKind::Condition,
        "Control" => NodeKind::Control,
        "Decorator" => NodeKind::Decorator,
        // Subtree models are read with the files that use them.
        _ => return None,
    };
    let Some(id) = entry.attribute("ID") else {
        let message = format!("`<{}>` in a model without `ID`", entry.name());
        diagnostics.push(Diagnostic::new(
            Code::ModelWithoutId,
            entry.start_tag_span(),
            message,
        ));
        return None;
    };
    if !is_model_name(id.value()) {
        let message = format!("`{}` cannot be the name of a node type", id.value());
        diagnostics.push(Diagnostic::new(Code::BadTreeName, id.value_span(), message));
        return None;
    }
    let ports = entry
        .children()
        .filter_map(|port| palette_port(port, diagnostics));
    Some(PaletteNode {
        id: id.value().to_owned(),
        kind,
        ports: ports.collect(),
        doc: entry.value("description").unwrap_or_default().to_owned(),
    })
}

fn palette_port(port: Element<'_>, diagnostics: &mut Diagnostics) -> Option<PalettePort> {
    let direction = [Direction::Input, Direction::Output, Direction::InOut]
        .into_iter()
        .find(|direction| direction.element() == port.name())?;
    let name = port.attribute("name")?;
    if !is_port_name(name.value()) {
        let message = format!("`{}` cannot be the name of a port", name.value());
        diagnostics.push(Diagnostic::new(Code::BadModelPort, name.value_span(), message));
        return None;
    }
    // Groot 1 writes the description as text, Groot 2 as an attribute.
    let text = port.nodes().find_map(|node| match node {
        Node::Text(text) => Some(text.content().trim()),
        Node::Element(_) | Node::Comment(_) => None,
    });
    Some(PalettePort {
        name: name.value().to_owned(),
        direction,
        default: port.value("default").map(str::to_owned),
        doc: port.value("description").or(text).unwrap_or_default().to_owned(),
    })
}

/// A node that a palette declares and that is not registered.
struct Declared;

impl Behavior for Declared {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Err(cx.throw("this node is declared by a palette only; register it to run it"))
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::{Dialect, Time, Tree};

    use super::super::{Loader, Memory};
    use super::*;

    #[test]
    fn declared_nodes_can_be_checked_and_not_run() {
        let palette = "<root><TreeNodesModel>
            <Action ID='FlyTo'>
                <input_port name='goal' default='home'>where to</input_port>
                <output_port name='left' description='metres left'/>
                <input_port name='_bad'/>
            </Action>
            <Control ID='Sequence'/><Action ID='Land'/><Decorator ID='a b'/><Condition/><SubTree ID='T'/>
        </TreeNodesModel></root>";
        let tree = "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><FlyTo goal='{g}' lift='1'/><Land any='{g}'/></Sequence></BehaviorTree></root>";
        let files = Memory::new([("p.xml", palette)]);
        let mut diagnostics = Diagnostics::new();
        let (palette, sources) = Palette::read_file(Path::new("p.xml"), &files, &mut diagnostics);
        let lines: Vec<_> = diagnostics.iter().map(|item| item.one_line(&sources)).collect();
        assert_eq!(
            lines,
            [
                "p.xml:5:35: error[NT0208]: `_bad` cannot be the name of a port",
                "p.xml:7:71: error[NT0211]: `a b` cannot be the name of a node type",
                "p.xml:7:77: error[NT0207]: `<Condition>` in a model without `ID`",
            ]
        );
        let mut registry = Registry::builtin();
        assert!(registry.contains("Sequence"));
        palette.register(&mut registry);
        let manifest = registry.get("FlyTo", Dialect::V4).unwrap().manifest();
        let docs: Vec<_> = manifest.ports.iter().map(|port| &*port.doc).collect();
        assert_eq!(docs, ["where to", "metres left"]);

        let loader = Loader::new(&registry).files(&files, AmentIndex::default());
        let refused = loader.load_text("t", tree, Path::new(""), None).unwrap_err();
        assert_eq!(
            refused.one_line(),
            "t:1:73: error[NT0401]: `FlyTo` has no port `lift` (did you mean `left`?)"
        );
        let good = tree.replace(" lift='1'", "");
        let loaded = loader.load_text("t", &good, Path::new(""), None).unwrap();
        let error = Tree::new(loaded.def).tick(Time::ZERO).unwrap_err();
        assert!(
            error.to_string().contains("declared by a palette only"),
            "{error}"
        );
    }
}
