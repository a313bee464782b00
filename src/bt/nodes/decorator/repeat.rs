//! `Repeat`: ticks the child repeatedly while it succeeds.

use super::rounds::{Rounds, WhileSuccess};
use crate::bt::{Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, Ports, Tick};

/// Counts its child's successes.
#[derive(Debug)]
pub struct Repeat(Rounds);

impl Node for Repeat {
    const ID: &'static str = "Repeat";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child until it has succeeded num_cycles times: SUCCESS. FAILURE as soon \
        as the child fails. Between rounds that end within one tick it returns RUNNING and requests another tick \
        at once; in version 3 files it continues within the tick. A skipped child keeps the count.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self(Rounds::bind(
            ports,
            "num_cycles",
            "Number of successes until the node succeeds; -1: no limit.",
        ))
    }
}

impl Behavior for Repeat {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        self.0.tick::<WhileSuccess>(cx)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        Rounds::halt(cx, reason);
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        self.0.node_effects::<WhileSuccess>(children)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{reactive_sequence, repeat};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn it_yields_between_rounds_that_end_within_a_tick() {
        Scene::new(repeat(3, leaf("a", "S"))).check(
            "= a
             R* S
             R* S
             S S
             R* S",
        );
        Scene::new(repeat(3, leaf("a", "S"))).drain().check(
            "= a
             S SSS",
        );
    }

    #[test]
    fn the_next_round_follows_a_running_one_without_a_yield() {
        Scene::new(repeat(2, leaf("a", "RSR"))).check(
            "= a
             R R
             R SR
             R R
             S S",
        );
    }

    #[test]
    fn a_failure_ends_the_node_and_resets_the_count() {
        Scene::new(repeat(2, leaf("a", "SFSS"))).check(
            "= a
             R* S
             F F
             R* S
             S S",
        );
    }

    #[test]
    fn zero_rounds_succeed_and_a_skipped_round_keeps_the_count() {
        Scene::new(repeat(0, leaf("a", "F"))).check(
            "= a
             S .",
        );
        Scene::new(repeat(2, leaf("a", "S-S"))).check(
            "= a
             R* S
             - -
             S S",
        );
    }

    #[test]
    fn a_halt_resets_the_count() {
        let inner = repeat(2, leaf("a", "SRR"));
        Scene::new(reactive_sequence([leaf("ok", "SSFS"), inner])).check(
            "= ok a
             R* S S
             R S R
             F F . !a
             R S R",
        );
    }

    #[test]
    fn version_3_repeats_within_the_tick_with_a_limit() {
        Scene::new(repeat(3, leaf("a", "S"))).v3().check(
            "= a
             S SSS",
        );
        let mut tree = Scene::new(repeat(-1, leaf("a", "S"))).v3().compile().unwrap();
        let status = tree.tick_exactly_once(crate::bt::Time::ZERO).unwrap();
        assert_eq!((status, tree.is_woken()), (crate::bt::NodeStatus::Running, true));
    }
}
