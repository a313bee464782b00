//! `WasEntryUpdated`: checks whether an entry was written.

use crate::bt::nodes::watch::Watch;
use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Ports, Tick};

/// Checks whether an entry was written since the last check.
#[derive(Debug)]
pub struct WasEntryUpdated(Watch);

impl Node for WasEntryUpdated {
    const ID: &'static str = "WasEntryUpdated";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "SUCCESS if the entry was written since the last check, FAILURE otherwise. An \
        entry with a value counts as written at the first check. The last check may belong to an earlier \
        navigation with the same tree, as in BehaviorTree.CPP.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self(Watch::bind(ports))
    }
}

impl Behavior for WasEntryUpdated {
    /// `memory.mark` is the last seen write count, kept until the tree is dropped.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Ok(if self.0.is_updated(cx) {
            NodeStatus::Success
        } else {
            NodeStatus::Failure
        })
    }

    fn acts(&self) -> bool {
        false
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::leaf;
    use crate::bt::testing::{Running, Scene};

    #[test]
    fn each_write_is_seen_once() {
        let scene = Scene::new(leaf("WasEntryUpdated").port("entry", "{x}"));
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check("=\n F");
        run.tree.set("x", 1_i32).unwrap();
        run.check("=\n S\n F");
        run.tree.set("x", 1_i32).unwrap();
        run.tree.set("x", 2_i32).unwrap();
        run.check("=\n S\n F");
        let scene = Scene::new(leaf("WasEntryUpdated").port("entry", "{x}")).set("x", 1_i32);
        scene.check("=\n S\n F");
    }
}
