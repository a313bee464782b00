//! The root of a subtree instance.

use crate::bt::{Behavior, Context, NodeEffects, NodeKind, NodeStatus, Tick};

/// Passes ticks on to the tree that it instantiates; the instance's key space was resolved when the definition was
/// compiled, so nothing is left to do at run time.
#[derive(Debug)]
pub struct SubTree;

impl Behavior for SubTree {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        // One that completed and was not reset keeps its status while the tree inside is skipped.
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
    fn one_that_failed_and_was_not_reset_stays_failed_while_it_is_skipped() {
        // An IfThenElse without else leaves its failed condition as it is, and refuses a skipped one.
        let root = if_then_else([subtree("Inner"), leaf("then", "S")]);
        let scene = Scene::new(root).with("Inner", leaf("a", "F-"));
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check("= a\nF F\nE -");
        assert_eq!(run.tree.status(NodeIndex(1)), NodeStatus::Failure);
    }
}
