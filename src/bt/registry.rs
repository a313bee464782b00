//! The registry of node types.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::behavior::{Behavior, Tick};
use super::blackboard::SlotId;
use super::dialect::Dialect;
use super::kind::NodeKind;
use super::node::{Manifest, Node};
use super::node_effects::NodeEffects;
use super::port::Binding;
use super::port_decl::{PortDecl, PortSink, Ports};
use super::script::{Access, Script};
use super::substitute::Substitute;
use super::types::{PortValue, TypeInfo};
use super::{Context, Enums};

/// The keys that the calling program writes, with their types if declared.
pub(crate) type Provided = BTreeMap<String, Option<&'static TypeInfo>>;

type Make = Arc<dyn Fn(&mut Ports<'_>) -> Box<dyn Behavior> + Send + Sync>;

/// One node type.
#[derive(Clone)]
pub struct NodeType {
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) id: Arc<str>,
    pub(crate) make: Make,
    /// Whether this type is not one of navtree's own. navtree's own nodes never block.
    pub(crate) foreign: bool,
    /// Whether neither BehaviorTree.CPP nor Nav2 has this type. It gives way to a tree and to a type of the same name.
    pub(crate) extra: bool,
    /// Whether only its declaration is known, from a palette.
    pub(crate) declared_only: bool,
}

/// The reason why a node type was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The ID is already registered.
    #[error("the node ID `{0}` is already registered")]
    Duplicate(String),
    /// The ID is not valid in a file.
    #[error(
        "`{0}` cannot be a node ID: it is empty, or `Root`, or contains a space or one of <>&\"'/\\:*?|."
    )]
    BadId(String),
}

/// The node types that trees may use, and the enumeration names that their ports and scripts know.
///
/// ```
/// use navtree::bt::{NodeStatus, Registry};
///
/// let mut registry = Registry::builtin();
/// registry.condition("IsDaylight", |_| NodeStatus::Success).unwrap();
/// assert!(registry.contains("Sequence") && registry.contains("IsDaylight"));
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    types: BTreeMap<String, NodeType>,
    /// Types with a different meaning in version 3 files.
    types_v3: BTreeMap<String, NodeType>,
    enums: Enums,
    substitute: Option<Arc<dyn Substitute>>,
    /// Keys that the calling program writes.
    provided: Arc<Provided>,
    watch_foreign: bool,
    latch_on_activation: bool,
    /// Maximum number of nodes of one tree. None: [`MAX_NODES`](super::MAX_NODES).
    max_nodes: Option<usize>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// BehaviorTree.CPP's node types, and navtree's additions to them.
    pub fn builtin() -> Self {
        let mut registry = Self::new();
        super::nodes::register(&mut registry);
        registry.adopt_all();
        registry
    }

    /// Marks all registered types as navtree's own.
    pub(crate) fn adopt_all(&mut self) {
        for node in self.types.values_mut().chain(self.types_v3.values_mut()) {
            node.foreign = false;
        }
    }

    /// Marks types that neither BehaviorTree.CPP nor Nav2 has.
    pub(crate) fn mark_extras(&mut self, ids: &[&str]) {
        for id in ids {
            if let Some(node) = self.types.get_mut(*id) {
                node.extra = true;
            }
        }
    }

    /// Whether an ID is one of navtree's additions to BehaviorTree.CPP and Nav2, whose names other programs may use.
    pub fn is_extra(&self, id: &str) -> bool {
        self.types.get(id).is_some_and(|node| node.extra)
    }

    /// Makes the foreign nodes of trees compiled from now on publish themselves as the current node before they run
    /// ([`Tree::current_node`](super::Tree::current_node)). navtree's own nodes never block and do not publish, which
    /// saves their cost.
    pub fn watch_foreign_nodes(&mut self) {
        self.watch_foreign = true;
    }

    pub(crate) fn watches_foreign_nodes(&self) -> bool {
        self.watch_foreign
    }

    /// Sets whether latching nodes treat a reset by a reactive parent as a new activation, as in Nav2. Trees in which
    /// they then never fire get a warning.
    pub fn set_latch_on_activation(&mut self, latch: bool) {
        self.latch_on_activation = latch;
    }

    pub(crate) fn latches_on_activation(&self) -> bool {
        self.latch_on_activation
    }

    /// Sets the maximum number of nodes of one tree, subtree instances included. A larger tree is refused.
    pub fn set_max_nodes(&mut self, nodes: usize) {
        self.max_nodes = Some(nodes);
    }

    /// The maximum number of nodes of one tree.
    pub fn max_nodes(&self) -> usize {
        self.max_nodes.unwrap_or(super::MAX_NODES)
    }

    /// Adds a node type under its own ID.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn register<N: Node>(&mut self) -> Result<(), RegistryError> {
        self.register_as::<N>(N::ID)
    }

    /// Adds a node type under a different ID.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn register_as<N: Node>(&mut self, id: &str) -> Result<(), RegistryError> {
        self.register_with(id, N::KIND, N::CHILDREN, N::DOC, |ports| Box::new(N::bind(ports)))
    }

    /// Adds a node type from its parts. `make` declares the ports. Replaces one of navtree's additions of this ID
    /// ([`Registry::is_extra`]).
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn register_with(
        &mut self,
        id: &str,
        kind: NodeKind,
        children: (usize, usize),
        doc: &str,
        make: impl Fn(&mut Ports<'_>) -> Box<dyn Behavior> + Send + Sync + 'static,
    ) -> Result<(), RegistryError> {
        if !is_model_name(id) {
            return Err(RegistryError::BadId(id.to_owned()));
        }
        if self.contains(id) && !self.is_extra(id) {
            return Err(RegistryError::Duplicate(id.to_owned()));
        }
        self.types.insert(
            id.to_owned(),
            NodeType::new(id, kind, children, doc, Dialect::V4, make),
        );
        Ok(())
    }

    /// Adds the version 3 meaning of an ID, if it differs.
    pub fn register_v3<N: Node>(&mut self, id: &str) {
        let node = NodeType::new(id, N::KIND, N::CHILDREN, N::DOC, Dialect::V3, |ports| {
            Box::new(N::bind(ports))
        });
        self.types_v3.insert(id.to_owned(), node);
    }

    /// Adds a type that accepts any attribute as an untyped port, for nodes known only from a palette or from mocks.
    /// Replaces a registered type of this ID.
    pub fn register_open(
        &mut self,
        id: &str,
        kind: NodeKind,
        make: impl Fn(&mut Ports<'_>) -> Box<dyn Behavior> + Send + Sync + 'static,
    ) {
        let mut node = NodeType::new(id, kind, kind.arity(), "", Dialect::V4, make);
        if let Some(manifest) = Arc::get_mut(&mut node.manifest) {
            manifest.open = true;
        }
        self.types_v3.remove(id);
        self.types.insert(id.to_owned(), node);
    }

    /// Adds a type of which only the declaration is known, with any ID that a version 3 file can name. Replaces a
    /// registered type of this ID.
    pub(crate) fn declare(
        &mut self,
        id: &str,
        kind: NodeKind,
        doc: &str,
        make: impl Fn(&mut Ports<'_>) -> Box<dyn Behavior> + Send + Sync + 'static,
    ) {
        let mut node = NodeType::new(id, kind, kind.arity(), doc, Dialect::V4, make);
        node.declared_only = true;
        self.types_v3.remove(id);
        self.types.insert(id.to_owned(), node);
    }

    /// Adds a condition made from a function.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn condition(
        &mut self,
        id: &str,
        test: impl Fn(&mut Context<'_>) -> super::NodeStatus + Send + Sync + 'static,
    ) -> Result<(), RegistryError> {
        let test = Arc::new(test);
        self.register_with(id, NodeKind::Condition, (0, 0), "", move |_| {
            let test = Arc::clone(&test);
            Box::new(Function(move |cx: &mut Context<'_>| Ok(test(cx))))
        })
    }

    /// Adds an action that ends within one tick, made from a function.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn action(
        &mut self,
        id: &str,
        act: impl Fn(&mut Context<'_>) -> Tick + Send + Sync + 'static,
    ) -> Result<(), RegistryError> {
        let act = Arc::new(act);
        self.register_with(id, NodeKind::Action, (0, 0), "", move |_| {
            let act = Arc::clone(&act);
            Box::new(Instant(Function(move |cx: &mut Context<'_>| act(cx))))
        })
    }

    /// Whether an ID is registered.
    pub fn contains(&self, id: &str) -> bool {
        self.types.contains_key(id)
    }

    /// The type of an ID in a file of a dialect.
    pub fn get(&self, id: &str, dialect: Dialect) -> Option<&NodeType> {
        match dialect {
            Dialect::V3 => self.types_v3.get(id).or_else(|| self.types.get(id)),
            Dialect::V4 => self.types.get(id),
        }
    }

    /// The declarations of all types, sorted by ID.
    pub fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        self.types.values().map(|node| &*node.manifest)
    }

    /// The declarations that apply to version 3 files only, sorted by ID.
    pub fn manifests_v3(&self) -> impl Iterator<Item = &Manifest> {
        self.types_v3.values().map(|node| &*node.manifest)
    }

    /// Sets a substitute, which replaces some nodes of trees compiled with this registry.
    pub fn set_substitute(&mut self, substitute: Option<Arc<dyn Substitute>>) {
        self.substitute = substitute;
    }

    /// Declares that the calling program writes this key before it ticks the tree. The checker then does not warn that
    /// the key is never written.
    pub fn provide_key(&mut self, key: impl Into<String>) {
        Arc::make_mut(&mut self.provided).insert(key.into(), None);
    }

    /// Declares a key and its type. A port of another type that points to the key is refused.
    ///
    /// ```
    /// use navtree::bt::builder::{forest, leaf, tree};
    /// use navtree::bt::{List, Registry, compile};
    /// use std::sync::Arc;
    ///
    /// let mut registry = Registry::builtin();
    /// registry.provide_key_as::<Arc<List<f64>>>("ranges");
    /// let forest = forest([tree("Main", leaf("Sleep").port("msec", "{ranges}"))]);
    /// let problems = compile(&forest, "Main", &registry).unwrap_err();
    /// assert!(problems[0].message.contains("list<double>"));
    /// ```
    pub fn provide_key_as<T: PortValue>(&mut self, key: impl Into<String>) {
        Arc::make_mut(&mut self.provided).insert(key.into(), Some(T::TYPE));
    }

    /// Removes the declaration of a key.
    pub fn withdraw_key(&mut self, key: &str) {
        Arc::make_mut(&mut self.provided).remove(key);
    }

    pub(crate) fn provided(&self) -> &Arc<Provided> {
        &self.provided
    }

    pub(crate) fn substitute(&self) -> Option<&dyn Substitute> {
        self.substitute.as_deref()
    }

    /// The enumeration names.
    pub fn enums(&self) -> &Enums {
        &self.enums
    }

    /// The enumeration names, for additions.
    pub fn enums_mut(&mut self) -> &mut Enums {
        &mut self.enums
    }
}

impl NodeType {
    fn new(
        id: &str,
        kind: NodeKind,
        children: (usize, usize),
        doc: &str,
        dialect: Dialect,
        make: impl Fn(&mut Ports<'_>) -> Box<dyn Behavior> + Send + Sync + 'static,
    ) -> Self {
        let mut collector = Collector {
            ports: Vec::new(),
            former: Vec::new(),
            dialect,
        };
        drop(make(&mut Ports { sink: &mut collector }));
        let manifest = Manifest {
            id: id.to_owned(),
            kind,
            doc: doc.to_owned(),
            children,
            ports: collector.ports,
            former: collector.former,
            open: false,
        };
        Self {
            manifest: Arc::new(manifest),
            id: id.into(),
            make: Arc::new(make),
            foreign: true,
            extra: false,
            declared_only: false,
        }
    }

    /// Its declaration.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// Whether a text is a valid name of a node type or a tree.
pub fn is_model_name(name: &str) -> bool {
    !name.is_empty() && name != "Root" && name != "root" && !name.bytes().any(is_forbidden)
}

/// The valid name that is most like the name of a node type or a tree, if there is one.
pub fn to_model_name(name: &str) -> Option<String> {
    let plain = name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' });
    Some(plain.collect()).filter(|plain: &String| is_model_name(plain))
}

/// Whether a text is a valid port name: it begins with an ASCII letter. Any other attribute is metadata.
pub fn is_port_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && !name.bytes().any(is_forbidden)
        && name != "name"
        && name != "ID"
}

/// Whether a byte is forbidden in names. All forbidden characters are ASCII. A table, because the check of a file looks
/// at each letter of its names: a search took a tenth of its time.
fn is_forbidden(byte: u8) -> bool {
    const FORBIDDEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut control = 0;
        while control < 32 {
            table[control] = true;
            control += 1;
        }
        table[127] = true;
        let marks = b" <>&\"'/\\:*?|.";
        let mut mark = 0;
        while mark < marks.len() {
            table[marks[mark] as usize] = true;
            mark += 1;
        }
        table
    };
    FORBIDDEN[usize::from(byte)]
}

/// Collects the declarations of a node type.
struct Collector {
    ports: Vec<PortDecl>,
    former: Vec<(&'static str, &'static str)>,
    dialect: Dialect,
}

impl PortSink for Collector {
    fn port(&mut self, declaration: &PortDecl) -> Binding {
        self.ports.push(declaration.clone());
        Binding::Absent
    }

    fn former(&mut self, name: &'static str, version: &'static str) {
        self.former.push((name, version));
    }

    fn raw(&mut self, _name: &str) -> Option<String> {
        None
    }

    fn attributes(&self) -> Vec<String> {
        Vec::new()
    }

    fn all_attributes(&self) -> Vec<String> {
        Vec::new()
    }

    fn script(&mut self, declaration: &PortDecl) -> Option<Script> {
        self.ports.push(declaration.clone());
        None
    }

    fn key(&mut self, _key: &str, _access: Access) -> Option<SlotId> {
        None
    }

    fn stores(&mut self, _name: &str, _slot: SlotId) {}

    fn compile(&mut self, _name: &str, _text: &str, _names: &[(&str, i64)]) -> Option<Script> {
        None
    }

    fn writes_any(&mut self) {}

    fn children(&self) -> usize {
        0
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn problem(&mut self, _port: &str, _message: String) {}

    fn warn(&mut self, _port: &str, _message: String) {}

    fn doubt(&mut self, _port: &str, _message: String) {}
}

/// A leaf that ends within one tick.
struct Instant<B>(B);

impl<B: Behavior> Behavior for Instant<B> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        self.0.tick(cx)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

/// A leaf made from a function.
struct Function<F>(F);

impl<F: Fn(&mut Context<'_>) -> Tick + Send + Sync> Behavior for Function<F> {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        (self.0)(cx)
    }
}
