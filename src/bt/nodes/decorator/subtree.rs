//! The root of a subtree instance.

use crate::bt::{Behavior, Context, NodeEffects, NodeKind, NodeStatus, Tick};

/// Ticks the tree that it instantiates. The key space of the instance is resolved during compilation, so nothing
/// remains to be done at run time.
#[derive(Debug)]
pub struct SubTree;

impl Behavior for SubTree {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        // A completed instance that was not reset keeps its status while its tree is skipped.
        if cx.status() == NodeStatus::Idle {
            cx.set_status(NodeStatus::Running);
        }
        cx.tick_only_child()
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{if_then_else, subtree};
    use crate::bt::testing::{Running, Scene, leaf};
    use crate::bt::{NodeIndex, NodeStatus};

    #[test]
    fn a_failed_subtree_that_was_not_reset_keeps_its_status_while_skipped() {
        // An IfThenElse without else does not reset its failed condition, and refuses a skipped one.
        let root = if_then_else([subtree("Inner"), leaf("then", "S")]);
        let scene = Scene::new(root).with("Inner", leaf("a", "F-"));
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check("= a\nF F\nE -");
        assert_eq!(run.tree.status(NodeIndex(1)), NodeStatus::Failure);
    }
}
