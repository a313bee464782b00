//! `UnsetBlackboard`: removes an entry.

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Text, Tick,
};

/// Removes an entry.
#[derive(Debug)]
pub struct UnsetBlackboard {
    key: Input<Text>,
}

impl Node for UnsetBlackboard {
    const ID: &'static str = "UnsetBlackboard";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Removes the entry with this name from the blackboard of its own tree. Always \
        SUCCESS. A key that is remapped to another tree is not removed.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            key: ports
                .input::<Text>("key")
                .required()
                .doc("Name of the entry, without braces.")
                .bind(),
        }
    }
}

impl Behavior for UnsetBlackboard {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let key = self.key.require(cx)?;
        if let Some(slot) = cx.find_own(&key) {
            cx.remove(slot);
        }
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::always(Outcomes::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{leaf, sequence, subtree};
    use crate::bt::testing::Scene;

    #[test]
    fn an_entry_is_removed_and_a_missing_one_is_no_error() {
        Scene::new(leaf("UnsetBlackboard").port("key", "x"))
            .set("x", 1_i32)
            .check(
                "=
             S x=none
             S x=none",
            );
    }

    #[test]
    fn an_entry_of_another_tree_is_not_removed() {
        for key in ["x", "@outer", "outer"] {
            let tree = sequence([subtree("Inner").port("x", "{outer}")]);
            let inner = leaf("UnsetBlackboard").port("key", key);
            Scene::new(tree).with("Inner", inner).set("outer", 1_i32).check(
                "=
                 S outer=1",
            );
        }
    }
}
