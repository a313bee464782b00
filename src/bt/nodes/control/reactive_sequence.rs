//! `ReactiveSequence`: ticks children from the first at every tick, while they succeed.

use super::walk::{WhileSuccess, from_the_first};
use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, Outcomes, Ports, Tick};

/// The sequence without memory: earlier children are checked again while a later one is running.
#[derive(Debug)]
pub struct ReactiveSequence;

impl Node for ReactiveSequence {
    const ID: &'static str = "ReactiveSequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Starts from the first child at every tick, so conditions are checked again while \
        a later action is running. When a child fails or another one starts to run, the previously running child \
        is halted in the same tick. SUCCESS when all children have succeeded in one tick. The classical sequence \
        without memory.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for ReactiveSequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        from_the_first::<WhileSuccess>(cx)
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::SUCCESS, children).reactive()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::reactive_sequence;
    use crate::bt::testing::{Scene, condition, leaf};

    #[test]
    fn conditions_are_checked_again_while_an_action_runs() {
        Scene::new(reactive_sequence([condition("ok", "SSFS"), leaf("act", "RRS")])).check(
            "= ok act
             R S R
             R S R
             F F . !act
             S S S",
        );
    }

    #[test]
    fn the_running_child_is_halted_once_when_an_earlier_child_starts() {
        Scene::new(reactive_sequence([
            leaf("a", "SRRS"),
            leaf("b", "R"),
            leaf("c", "R"),
        ]))
        .check(
            "= a b c
             R S R .
             R R . . !b
             R R . .
             R S R .
             halt !b",
        );
    }

    #[test]
    fn skipped_children_are_passed_over_and_all_skipped_is_skipped() {
        Scene::new(reactive_sequence([leaf("a", "-S-"), leaf("b", "S--")])).check(
            "= a b
             S - S
             S S -
             - - -",
        );
    }

    #[test]
    fn a_running_child_that_is_skipped_is_halted() {
        Scene::new(reactive_sequence([
            leaf("a", "R").while_true("go"),
            leaf("b", "S"),
        ]))
        .set("go", true)
        .check(
            "= a b
             R R .",
        );
    }

    #[test]
    fn priorities_are_evaluated_in_every_tick() {
        let tree = reactive_sequence([leaf("a", "S"), leaf("b", "R").priority("2 - lower")]);
        let mut run =
            crate::bt::testing::Running::new(Scene::new(tree).set("lower", 0.0).compile().unwrap(), false);
        run.check(
            "= a b
             R . R",
        );
        run.tree.set("lower", 1.5).unwrap();
        run.check(
            "= a b
             R S R",
        );
    }
}
