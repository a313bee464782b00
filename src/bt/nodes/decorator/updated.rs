//! `SkipUnlessUpdated` and `WaitValueUpdate`: tick the child when an entry was written.

use crate::bt::nodes::watch::Watch;
use crate::bt::{
    Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick,
};

/// Is skipped until an entry was written.
#[derive(Debug)]
pub struct SkipUnlessUpdated(Watch);

impl Node for SkipUnlessUpdated {
    const ID: &'static str = "SkipUnlessUpdated";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child if the entry was written since the last check, until the child \
        completes; SKIPPED otherwise. An entry with a value counts as written at the first check. The last \
        check may belong to an earlier navigation with the same tree, as in BehaviorTree.CPP.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self(Watch::bind(ports))
    }
}

impl Behavior for SkipUnlessUpdated {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        tick(cx, &self.0, NodeStatus::Skipped)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().index = 0;
        cx.halt_children(reason);
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | Outcomes::SKIPPED).at_times()
    }
}

/// Runs until an entry was written.
#[derive(Debug)]
pub struct WaitValueUpdate(Watch);

impl Node for WaitValueUpdate {
    const ID: &'static str = "WaitValueUpdate";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child if the entry was written since the last check, until the child \
        completes; RUNNING otherwise. An entry with a value counts as written at the first check. The last \
        check may belong to an earlier navigation with the same tree, as in BehaviorTree.CPP.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self(Watch::bind(ports))
    }
}

impl Behavior for WaitValueUpdate {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        tick(cx, &self.0, NodeStatus::Running)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().index = 0;
        cx.halt_children(reason);
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | Outcomes::RUNNING).at_times()
    }
}

/// `memory.index` is 1 while the child is running. `memory.mark` is the last seen write count, kept until the tree is
/// dropped.
fn tick(cx: &mut Context<'_>, entry: &Watch, otherwise: NodeStatus) -> Tick {
    if cx.memory().index == 0 && !entry.is_updated(cx) {
        return Ok(otherwise);
    }
    let status = cx.tick_only_child()?;
    cx.memory().index = u32::from(status == NodeStatus::Running);
    Ok(status)
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, node};
    use crate::bt::testing::{Running, Scene, leaf};

    fn run(id: &'static str, entry: &str, child: NodeBuilder) -> Running {
        let tree = node(id).port("entry", entry).child(child);
        Running::new(Scene::new(tree).compile().unwrap(), false)
    }

    #[test]
    fn the_child_is_ticked_once_per_write() {
        for entry in ["{x}", "x", "@x"] {
            let mut run = run("SkipUnlessUpdated", entry, leaf("a", "S"));
            run.check(
                "= a
                 - .",
            );
            run.tree.set("x", 1_i32).unwrap();
            run.check(
                "= a
                 S S
                 - .",
            );
            run.tree.set("x", 1_i32).unwrap();
            run.tree.set("x", 1_i32).unwrap();
            run.check(
                "= a
                 S S
                 - .",
            );
        }
    }

    #[test]
    fn a_running_child_is_not_interrupted() {
        let mut run = run("WaitValueUpdate", "{x}", leaf("a", "RRS"));
        run.check(
            "= a
             R .",
        );
        run.tree.set("x", 1_i32).unwrap();
        run.check(
            "= a
             R R
             R R
             S S
             R .",
        );
    }

    #[test]
    fn a_halt_keeps_the_seen_write_count() {
        let mut run = run("WaitValueUpdate", "{x}", leaf("a", "R"));
        run.tree.set("x", 1_i32).unwrap();
        run.check(
            "= a
             R R
             halt !a
             R .",
        );
    }

    #[test]
    fn the_entry_must_be_named() {
        let tree = node("SkipUnlessUpdated").child(leaf("a", "S"));
        assert!(Scene::new(tree).refused().contains("needs the port `entry`"));
        let tree = node("SkipUnlessUpdated").port("entry", "").child(leaf("a", "S"));
        assert!(Scene::new(tree).refused().contains("`entry` is empty"));
    }
}
