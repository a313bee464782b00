//! `Sequence` and `AsyncSequence`: tick children in order until one fails.

use super::walk::{WhileSuccess, on_from_the_last};
use crate::bt::{Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, Outcomes, Ports, Tick};

/// Ticks its children in order and remembers the running one.
#[derive(Debug)]
pub struct Sequence;

impl Node for Sequence {
    const ID: &'static str = "Sequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order. A running child is ticked again; earlier ones are \
        not. SUCCESS when the last child has succeeded. A child that fails ends the sequence: the result is \
        FAILURE, and the next activation starts from the first child. SKIPPED when all children were skipped.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for Sequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        on_from_the_last::<WhileSuccess, false>(cx)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Default::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::SUCCESS, children)
    }
}

/// A [`Sequence`] that lets the tree react between its children.
#[derive(Debug)]
pub struct AsyncSequence;

impl Node for AsyncSequence {
    const ID: &'static str = "AsyncSequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "A Sequence that lets the tree react between its children: after a child that \
        succeeds within one tick, it returns RUNNING and requests another tick at once.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for AsyncSequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        on_from_the_last::<WhileSuccess, true>(cx)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Default::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::SUCCESS, children).or(Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{node, reactive_sequence, sequence};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn a_running_child_is_ticked_again_and_earlier_ones_are_not() {
        Scene::new(sequence([leaf("a", "S"), leaf("b", "RS"), leaf("c", "S")])).check(
            "= a b c
             R S R .
             S . S S
             R S R .",
        );
    }

    #[test]
    fn a_failure_resets_to_the_first_child() {
        Scene::new(sequence([leaf("a", "S"), leaf("b", "RF"), leaf("c", "S")])).check(
            "= a b c
             R S R .
             F . F .
             R S R .",
        );
    }

    #[test]
    fn it_is_skipped_when_all_children_are() {
        Scene::new(sequence([leaf("a", "-S"), leaf("b", "-")])).check(
            "= a b
             - - -
             S S -
             - - -",
        );
    }

    #[test]
    fn a_halt_stops_the_running_child_and_resets_the_position() {
        let inner = sequence([leaf("a", "S"), leaf("b", "R")]);
        Scene::new(reactive_sequence([leaf("ok", "SFS"), inner])).check(
            "= ok a b
             R S S R
             F F . . !b
             R S S R
             halt !b",
        );
    }

    #[test]
    fn children_are_ticked_by_priority() {
        let children = || {
            [
                leaf("a", "S").priority("1"),
                leaf("b", "RS").priority("first"),
                leaf("c", "S"),
            ]
        };
        Scene::new(sequence(children())).set("first", 2.0).check(
            "= a b c
             R . R .
             S S S S",
        );
        // Children with equal priority keep their order.
        Scene::new(sequence(children())).set("first", 1.0).check(
            "= a b c
             R S R .
             S . S S",
        );
    }

    #[test]
    fn the_async_sequence_yields_after_a_child_that_succeeds_within_a_tick() {
        let tree = || node("AsyncSequence").children([leaf("a", "S"), leaf("b", "RS"), leaf("c", "S")]);
        Scene::new(tree()).check(
            "= a b c
             R* S . .
             R . R .
             S . S S",
        );
        // The last child does not yield, nor does one that was running before.
        Scene::new(tree()).drain().check(
            "= a b c
             R S R .
             S . S S",
        );
    }

    #[test]
    fn g9_a_wake_up_in_the_tick_that_completes_the_tree_is_dropped() {
        let yielding = node("AsyncSequence").children([leaf("a", "S"), leaf("b", "S")]);
        let ends = node("Parallel")
            .port("success_count", "1")
            .port("failure_count", "2")
            .children([yielding, leaf("c", "S")]);
        let first = sequence([leaf("d", "FS"), leaf("e", "R")]);
        let tree = node("Fallback").children([first, ends]);
        // BehaviorTree.CPP ticks e twice at the beginning.
        Scene::new(tree).drain().check(
            "= a b c d e
             S* S . S F .
             R . . . S R
             R . . . . R",
        );
    }
}
