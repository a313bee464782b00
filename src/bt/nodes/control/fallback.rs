//! `Fallback` and `AsyncFallback`: tick children in order until one succeeds.

use super::walk::{WhileFailure, on_from_the_last};
use crate::bt::{Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, Outcomes, Ports, Tick};

/// Ticks its children in order and remembers the running one.
#[derive(Debug)]
pub struct Fallback;

impl Node for Fallback {
    const ID: &'static str = "Fallback";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order until one succeeds. A running child is ticked again; \
        earlier ones are not. FAILURE when the last child has failed; the next activation starts from the first \
        child. SKIPPED when all children were skipped.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for Fallback {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        on_from_the_last::<WhileFailure, false>(cx)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Default::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::FAILURE, children)
    }
}

/// A [`Fallback`] that lets the tree react between its children.
#[derive(Debug)]
pub struct AsyncFallback;

impl Node for AsyncFallback {
    const ID: &'static str = "AsyncFallback";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "A Fallback that lets the tree react between its children: after a child that \
        fails within one tick, it returns RUNNING and requests another tick at once.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for AsyncFallback {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        on_from_the_last::<WhileFailure, true>(cx)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Default::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::FAILURE, children).or(Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{fallback, node, reactive_sequence};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn the_next_child_is_tried_when_one_fails() {
        Scene::new(fallback([leaf("a", "F"), leaf("b", "RS"), leaf("c", "S")])).check(
            "= a b c
             R F R .
             S . S .
             R F R .",
        );
    }

    #[test]
    fn it_fails_if_all_children_fail_and_is_skipped_if_all_are_skipped() {
        Scene::new(fallback([leaf("a", "F-F"), leaf("b", "F--")])).check(
            "= a b
             F F F
             - - -
             F F -",
        );
    }

    #[test]
    fn a_halt_stops_the_running_child_and_resets_the_position() {
        let inner = fallback([leaf("a", "F"), leaf("b", "R")]);
        Scene::new(reactive_sequence([leaf("ok", "SF"), inner])).check(
            "= ok a b
             R S F R
             F F . . !b
             R S F R",
        );
    }

    #[test]
    fn the_async_fallback_yields_after_a_child_that_fails_within_a_tick() {
        let tree = node("AsyncFallback").children([leaf("a", "F"), leaf("b", "RF"), leaf("c", "F")]);
        Scene::new(tree).check(
            "= a b c
             R* F . .
             R . R .
             F . F F",
        );
    }

    #[test]
    fn children_are_ticked_by_priority() {
        Scene::new(fallback([leaf("a", "S"), leaf("b", "S").priority("1.5")])).check(
            "= a b
             S . S",
        );
    }
}
