//! What a node type is: its declaration, and its behaviour apart from any run's state.

use super::node_effects::NodeEffects;
use super::port::{PortDecl, Ports};
use super::{Context, HaltReason, NodeStatus};

/// An error was raised and recorded in the run; the tick unwinds to its caller. Made by [`Context::throw`] only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Thrown(pub(crate) ());

/// The result of a tick: one byte.
pub type Tick = Result<NodeStatus, Thrown>;

/// What a node does. `self` holds what the file fixed (compiled ports and scripts) and is shared by all runs;
/// whatever changes during a run is in the [`Context`]: [`Context::memory`] for counters,
/// [`Context::state`] for anything larger.
pub trait Behavior: Send + Sync {
    /// Runs the node once. Never waits (guarantee G1): what is not known yet is [`NodeStatus::Running`].
    ///
    /// # Errors
    /// [`Thrown`], after [`Context::throw`] recorded why. The whole tree then fails.
    fn tick(&self, cx: &mut Context<'_>) -> Tick;

    /// Stops the node, which is running. Returns at once (guarantee G3) and is called exactly once for each
    /// activation that lost its turn (guarantee G2). The default stops the children.
    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
    }

    /// Whether the node visits its children in the order of their priorities
    /// ([`Context::order_children`]). Where it does not, a child with a `_priority` is refused.
    fn honours_priority(&self) -> bool {
        false
    }

    /// What the node may do, given what its children may do: what warnings about trees rest on. The default says what
    /// its kind does; see [`NodeEffects::of`].
    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children)
    }

    /// Whether a decorator resets its child itself, by [`Context::tick_only_child`]. For those that do not, the engine
    /// looks after every tick whether the child has completed.
    fn resets_child(&self) -> bool {
        false
    }

    /// Whether a leaf has done something with what it read, rather than only asked: see
    /// [`Tree::is_current`](super::Tree::is_current). Of leaves that succeed in the tick that activates them it is asked
    /// only of actions that write nothing.
    fn acts(&self) -> bool {
        true
    }

    /// Whether what a leaf has set off has ended when it succeeds, as with a goal on an action server: see
    /// [`Tree::is_current`](super::Tree::is_current). Not where its success says only that a request arrived. Of leaves
    /// that succeed in the tick that activates them it is not asked.
    fn sees_end(&self) -> bool {
        true
    }

    /// Called for every node when a tree got its resources, before its first tick: open what is needed.
    fn attach(&self, _cx: &mut Context<'_>) {}

    /// Called for every node, running or not, when a run of the whole tree has ended. Nav2 calls `halt` here;
    /// nodes that keep an index between activations forget it.
    fn rewind(&self, _cx: &mut Context<'_>) {}
}

/// The kinds of node that BehaviorTree.CPP knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NodeKind {
    /// A leaf that does something.
    Action,
    /// A leaf that looks at something and never runs on.
    Condition,
    /// Children in an order of its own.
    Control,
    /// One child, which is reset in the tick in which it completed.
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

    /// How many children such a node has where it does not say otherwise.
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

/// A node type written as a Rust type: one file, one type. See `src/bt/nodes/` for the skeleton all share.
pub trait Node: Behavior + Sized + 'static {
    /// The ID in tree files.
    const ID: &'static str;
    /// Its kind.
    const KIND: NodeKind;
    /// One to three sentences for the reference page and the palette.
    const DOC: &'static str;
    /// Fewest and most children.
    const CHILDREN: (usize, usize) = match Self::KIND {
        NodeKind::Action | NodeKind::Condition => (0, 0),
        NodeKind::Decorator | NodeKind::SubTree => (1, 1),
        NodeKind::Control => (1, usize::MAX),
    };

    /// Declares every port and takes its binding, in one expression a port. Called once without a tree to learn
    /// the declarations, and once for each node of a definition.
    fn bind(ports: &mut Ports<'_>) -> Self;
}

/// The declaration of a node type: what palettes, reference pages and the checker read.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The ID in tree files.
    pub id: String,
    /// Its kind.
    pub kind: NodeKind,
    /// Documentation.
    pub doc: String,
    /// Fewest and most children.
    pub children: (usize, usize),
    /// Its ports, in the order of declaration.
    pub ports: Vec<PortDecl>,
    /// Whether an attribute that is no declared port is taken as an untyped port (nodes known only from a
    /// palette or from mocks).
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
