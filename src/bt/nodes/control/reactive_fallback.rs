//! `ReactiveFallback`: ticks children from the first at every tick, while they fail.

use super::walk::{WhileFailure, from_the_first};
use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, Outcomes, Ports, Tick};

/// The fallback without memory: earlier children are tried again while a later one is running.
#[derive(Debug)]
pub struct ReactiveFallback;

impl Node for ReactiveFallback {
    const ID: &'static str = "ReactiveFallback";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Starts from the first child at every tick, so an earlier child takes over from a \
        later running one. When a child succeeds or another one starts to run, the previously running child is \
        halted in the same tick. FAILURE when all children have failed in one tick. The classical selector \
        without memory.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for ReactiveFallback {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        from_the_first::<WhileFailure>(cx)
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::FAILURE, children).reactive()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::reactive_fallback;
    use crate::bt::testing::{Scene, condition, leaf};

    #[test]
    fn an_earlier_child_takes_over() {
        Scene::new(reactive_fallback([condition("done", "FFS"), leaf("act", "R")])).check(
            "= done act
             R F R
             R F R
             S S . !act
             R F R",
        );
    }

    #[test]
    fn the_running_child_is_halted_once_when_an_earlier_child_starts() {
        Scene::new(reactive_fallback([leaf("a", "FRRF"), leaf("b", "R")])).check(
            "= a b
             R F R
             R R . !b
             R R .
             R F R",
        );
    }

    #[test]
    fn it_fails_if_all_children_fail_and_is_skipped_if_all_are_skipped() {
        Scene::new(reactive_fallback([leaf("a", "F-"), leaf("b", "F--")])).check(
            "= a b
             F F F
             - - -
             F F -",
        );
    }
}
