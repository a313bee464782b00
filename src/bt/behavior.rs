//! The behavior of a node, without the state of a run.

use super::kind::NodeKind;
use super::node_effects::NodeEffects;
use super::value::Value;
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

    /// The part of the node's [`Context::state`] that it keeps between runs of the tree and that its later results depend
    /// on. A recording contains it. `None`, the default: there is no such part.
    fn save(&self, _cx: &mut Context<'_>) -> Option<Value> {
        None
    }

    /// Takes back what [`Behavior::save`] returned.
    fn load(&self, _cx: &mut Context<'_>, _state: &Value) {}
}
