//! `RetryUntilSuccessful`: ticks the child repeatedly while it fails.

use super::rounds::{Rounds, WhileFailure};
use crate::bt::{Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, Ports, Tick};

/// Counts its child's failures.
#[derive(Debug)]
pub struct RetryUntilSuccessful(Rounds);

impl Node for RetryUntilSuccessful {
    const ID: &'static str = "RetryUntilSuccessful";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child until it succeeds: SUCCESS. FAILURE when the child has failed \
        num_attempts times. Between attempts that end within one tick it returns RUNNING and requests another \
        tick at once; in version 3 files it continues within the tick. A skipped child keeps the count.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self(Rounds::bind(
            ports,
            "num_attempts",
            "Number of failures until the node fails; -1: no limit.",
        ))
    }
}

impl Behavior for RetryUntilSuccessful {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        self.0.tick::<WhileFailure>(cx)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        Rounds::halt(cx, reason);
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        self.0.node_effects::<WhileFailure>(children)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{node, reactive_sequence, retry};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn it_yields_between_attempts_that_end_within_a_tick() {
        Scene::new(retry(3, leaf("a", "FFS"))).check(
            "= a
             R* F
             R* F
             S S",
        );
        Scene::new(retry(2, leaf("a", "F"))).drain().check(
            "= a
             F FF",
        );
    }

    #[test]
    fn the_next_attempt_follows_a_running_one_without_a_yield() {
        Scene::new(retry(2, leaf("a", "RFR"))).check(
            "= a
             R R
             R FR
             R R
             F F",
        );
    }

    #[test]
    fn zero_attempts_fail_and_a_skipped_attempt_keeps_the_count() {
        Scene::new(retry(0, leaf("a", "S"))).check(
            "= a
             F .",
        );
        Scene::new(retry(2, leaf("a", "F-F"))).check(
            "= a
             R* F
             - -
             F F",
        );
    }

    #[test]
    fn a_halt_resets_the_count() {
        let inner = retry(2, leaf("a", "FRR"));
        Scene::new(reactive_sequence([leaf("ok", "SSFS"), inner])).check(
            "= ok a
             R* S F
             R S R
             F F . !a
             R S R",
        );
    }

    #[test]
    fn version_3_retries_within_the_tick_and_accepts_a_misspelt_name() {
        Scene::new(retry(3, leaf("a", "FFS"))).v3().check(
            "= a
             S FFS",
        );
        let tree = node("RetryUntilSuccesful")
            .port("num_attempts", 2)
            .child(leaf("a", "F"));
        Scene::new(tree).v3().check(
            "= a
             F FF",
        );
    }
}
