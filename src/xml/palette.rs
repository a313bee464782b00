//! Palettes: node types that a `<TreeNodesModel>` declares, to check trees with nodes of other programs.

use std::borrow::Cow;
use std::path::Path;

use crate::bt::{
    Behavior, Context, Dialect, Direction, Manifest, NodeKind, Ports, Registry, Tick, Value, is_port_name,
};

use super::code::Code;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::document::{Document, Element, Node};
use super::files::{AmentIndex, Files};
use super::includes::Documents;
use super::source::{Sources, Span};

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
    /// The place of its ID.
    span: Span,
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

    /// Registers the declared types. Their ports accept any value. A tree that runs one of these types fails with a
    /// message about the missing implementation.
    ///
    /// A registered type stays if the palette describes it, because its declaration says more. If the palette
    /// describes another type of the same name, the palette counts, with a note.
    pub fn register(&self, registry: &mut Registry) -> Vec<Diagnostic> {
        let mut notes = Vec::new();
        for node in &self.nodes {
            if let Some(known) = registry.get(&node.id, Dialect::V3) {
                if node.describes(known.manifest()) && !registry.is_extra(&node.id) {
                    continue;
                }
                let message = format!(
                    "`{}` is the node of the palette, not navtree's node of this name",
                    node.id
                );
                notes.push(Diagnostic::new(Code::ReplacedNode, node.span, message));
            }
            node.register(registry);
        }
        notes
    }

    /// Registers the declared types whose names are not those of nodes of BehaviorTree.CPP or Nav2.
    pub(crate) fn register_unknown(&self, registry: &mut Registry) {
        for node in &self.nodes {
            if registry.get(&node.id, Dialect::V3).is_none() || registry.is_extra(&node.id) {
                node.register(registry);
            }
        }
    }

    /// Whether there are no types.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The IDs, in the order of the file.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.id.as_str())
    }
}

impl PaletteNode {
    /// Whether this can be the declaration of a registered type: its ports are among those of the type, and it has all
    /// required ones.
    fn describes(&self, known: &Manifest) -> bool {
        let is_leaf = |kind| matches!(kind, NodeKind::Action | NodeKind::Condition);
        let is_same_kind = self.kind == known.kind || (is_leaf(self.kind) && is_leaf(known.kind));
        let has = |name: &str| self.ports.iter().any(|port| port.name == name);
        is_same_kind
            && self.ports.iter().all(|port| known.knows(&port.name))
            && known
                .ports
                .iter()
                .all(|port| !port.required || has(&port.name) || port.alias.is_some_and(has))
    }

    fn register(&self, registry: &mut Registry) {
        if self.ports.is_empty() {
            // The ports are unknown. An empty list does not mean that the node has no ports.
            registry.register_open(&self.id, self.kind, |ports| {
                for name in ports.attributes() {
                    ports.inout::<Value>(name).bind();
                }
                Box::new(Declared)
            });
            return;
        }
        let ports = self.ports.clone();
        registry.declare(&self.id, self.kind, &self.doc, move |declared| {
            for port in &ports {
                port.declare(declared);
            }
            Box::new(Declared)
        });
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
    let ports = entry
        .children()
        .filter_map(|port| palette_port(port, diagnostics));
    Some(PaletteNode {
        id: id.value().to_owned(),
        kind,
        ports: ports.collect(),
        doc: entry.value("description").unwrap_or_default().to_owned(),
        span: id.value_span(),
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
    use crate::bt::{Time, Tree};

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
            <Control ID='Sequence'/><Action ID='Land'/><Decorator ID='a.b'/><Condition/><SubTree ID='T'/>
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
                "p.xml:7:77: error[NT0207]: `<Condition>` in a model without `ID`",
            ]
        );
        let mut registry = Registry::builtin();
        assert!(registry.contains("Sequence"));
        assert!(palette.register(&mut registry).is_empty());
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

    #[test]
    fn a_palette_counts_instead_of_another_type_of_the_same_name() {
        let palette = "<root><TreeNodesModel><Action ID='Script'><input_port name='code'/></Action>
            <Action ID='Sleep'/><Action ID='Retry'/><Control ID='Sequence'/><Control ID='Delay'/></TreeNodesModel></root>";
        let files = Memory::new([("p.xml", palette)]);
        let (palette, sources) = Palette::read_file(Path::new("p.xml"), &files, &mut Diagnostics::new());
        let mut registry = Registry::builtin();
        let notes = palette.register(&mut registry);
        let lines: Vec<_> = notes.iter().map(|note| note.one_line(&sources)).collect();
        let note = |place: &str, id: &str| {
            format!(
                "p.xml:{place}: note[NT0311]: `{id}` is the node of the palette, not navtree's node of this name"
            )
        };
        // Navtree's Sleep and Delay have a required port. Retry is navtree's own.
        assert_eq!(
            lines,
            [
                note("2:25", "Sleep"),
                note("2:45", "Retry"),
                note("2:90", "Delay")
            ]
        );
        let tree = "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><Sleep/><Retry/></Sequence></BehaviorTree></root>";
        let loader = Loader::new(&registry).files(&files, AmentIndex::default());
        assert!(loader.load_text("t", tree, Path::new(""), None).is_ok());
    }

    #[test]
    fn the_model_of_a_file_makes_its_nodes_known() {
        let tree = "<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence><FlyTo goal='{g}'/><Sleep/></Sequence>\
                    </BehaviorTree><TreeNodesModel><Action ID='FlyTo'><output_port name='goal'/></Action>\
                    <Action ID='Sleep'/></TreeNodesModel></root>";
        let files = Memory::new([("t.xml", tree)]);
        let registry = Registry::builtin();
        let lines = |loader: Loader<'_>| {
            let checked = loader.check_files(&[Path::new("t.xml")]);
            let lines = checked.diagnostics.iter();
            lines
                .map(|item| item.one_line(&checked.sources))
                .collect::<Vec<_>>()
        };
        let loader = || Loader::new(&registry).files(&files, AmentIndex::default());
        // A registered node counts when the tree runs.
        let missing = "t.xml:1:75: error[NT0402]: `Sleep` needs the port `msec`";
        assert_eq!(lines(loader().with_models()), [missing]);
        let unknown = "t.xml:1:56: error[NT0301]: unknown node `FlyTo`";
        assert_eq!(lines(loader()), [unknown, missing]);
    }
}
