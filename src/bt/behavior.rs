//! Node types: their declaration, and their behavior without the state of a run.

use super::node_effects::NodeEffects;
use super::port_decl::{PortDecl, Ports};
use super::{Context, HaltReason, NodeStatus};

/// A node raised an error, which is recorded in the run. The tick returns to its caller. Created only by
/// [`Context::throw`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Thrown(pub(crate) ());

/// The result of a tick: one byte.
pub type Tick = Result<NodeStatus, Thrown>;

/// The behavior of a node. `self` holds the data of the file (compiled ports and scripts) and is shared by all runs.
/// The state of a run is in the [`Context`]: [`Context::memory`] for counters, [`Context::state`] for larger data.
pub trait Behavior: Send + Sync {
    /// Runs the node once. Never blocks (guarantee G1): returns [`NodeStatus::Running`] until the result is known.
    ///
    /// # Errors
    /// [`Thrown`] after [`Context::throw`] recorded the reason. The whole tick then fails.
    fn tick(&self, cx: &mut Context<'_>) -> Tick;

    /// Stops the running node. Returns at once (guarantee G3). Called exactly once for each abandoned activation
    /// (guarantee G2). The default halts the children.
    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
    }

    /// Whether the node visits its children by priority ([`Context::order_children`]). If not, a child with a
    /// `_priority` is refused.
    fn honours_priority(&self) -> bool {
        false
    }

    /// The possible results and effects of the node, given those of its children. The checker's warnings use them. The
    /// default depends on the kind; see [`NodeEffects::of`].
    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children)
    }

    /// Whether a decorator resets its child itself, with [`Context::tick_only_child`]. Otherwise the engine checks
    /// after every tick whether the child completed.
    fn resets_child(&self) -> bool {
        false
    }

    /// Whether a leaf has effects based on its inputs, or only reads them: see
    /// [`Tree::is_current`](super::Tree::is_current). Among the leaves that succeed in the tick that activates them,
    /// the engine calls this only for actions that write nothing.
    fn acts(&self) -> bool {
        true
    }

    /// Whether the effects of a leaf have ended when it succeeds, as for a goal on an action server: see
    /// [`Tree::is_current`](super::Tree::is_current). False if success means only that a request arrived. The engine
    /// does not call this for leaves that succeed in the tick that activates them.
    fn sees_end(&self) -> bool {
        true
    }

    /// Opens endpoints and resources. Called for every node after the tree got its resources and before its first tick.
    fn attach(&self, _cx: &mut Context<'_>) {}

    /// Clears what the node keeps between activations, for example an index. Called for every node, running or not, at
    /// the end of a run of the whole tree. Nav2 calls `halt` here.
    fn rewind(&self, _cx: &mut Context<'_>) {}
}

/// The kinds of node of BehaviorTree.CPP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NodeKind {
    /// A leaf with effects.
    Action,
    /// A leaf that checks something and never returns RUNNING.
    Condition,
    /// A node with children that decides their order.
    Control,
    /// A node with one child, which it resets in the tick in which the child completed.
    Decorator,
    /// The root of a subtree instance.
    SubTree,
}

impl NodeKind {
    /// The element name of the explicit form: `Action`, `Condition`, `Control`, `Decorator`, `SubTree`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Action => "Action",
            Self::Condition => "Condition",
            Self::Control => "Control",
            Self::Decorator => "Decorator",
            Self::SubTree => "SubTree",
        }
    }

    /// The default minimum and maximum number of children.
    pub fn arity(self) -> (usize, usize) {
        match self {
            Self::Action | Self::Condition => (0, 0),
            Self::Decorator | Self::SubTree => (1, 1),
            Self::Control => (1, usize::MAX),
        }
    }
}

/// The language of a tree file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Dialect {
    /// BehaviorTree.CPP 3.8.
    V3,
    /// BehaviorTree.CPP 4.10.
    #[default]
    V4,
}

/// A node type as a Rust type; one file per type. See `src/bt/nodes/` for the common structure.
pub trait Node: Behavior + Sized + 'static {
    /// The ID in tree files.
    const ID: &'static str;
    /// Its kind.
    const KIND: NodeKind;
    /// One to three sentences for the reference page and the palette.
    const DOC: &'static str;
    /// Minimum and maximum number of children.
    const CHILDREN: (usize, usize) = match Self::KIND {
        NodeKind::Action | NodeKind::Condition => (0, 0),
        NodeKind::Decorator | NodeKind::SubTree => (1, 1),
        NodeKind::Control => (1, usize::MAX),
    };

    /// Declares and binds every port, one expression per port. Called once without a tree to collect the declarations,
    /// and once for each node of a definition.
    fn bind(ports: &mut Ports<'_>) -> Self;
}

/// The declaration of a node type, for palettes, reference pages and the checker.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The ID in tree files.
    pub id: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Documentation.
    pub doc: String,
    /// Minimum and maximum number of children.
    pub children: (usize, usize),
    /// Its ports, in the order of declaration.
    pub ports: Vec<PortDecl>,
    /// Whether an undeclared attribute is accepted as an untyped port (nodes known only from a palette or from mocks).
    pub open: bool,
}

impl Manifest {
    /// The declaration of a port, by name or alias.
    pub fn port(&self, name: &str) -> Option<&PortDecl> {
        self.ports
            .iter()
            .find(|port| port.name == name || port.alias == Some(name))
    }
}
