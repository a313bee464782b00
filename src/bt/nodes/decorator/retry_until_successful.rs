//! `RetryUntilSuccessful`: the child again and again, while it fails.

use super::ROUNDS_IN_ONE_TICK;
use super::repeat::goes_on;
use crate::bt::{
    Behavior, Conduct, Context, Dialect, HaltReason, Input, Node, NodeKind, NodeStatus, Outcomes, Ports, Tick,
};

/// Counts its child's failures.
#[derive(Debug)]
pub struct RetryUntilSuccessful {
    num_attempts: Input<i32>,
    dialect: Dialect,
}

impl Node for RetryUntilSuccessful {
    const ID: &'static str = "RetryUntilSuccessful";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child until it succeeds: SUCCESS; FAILURE when it has failed num_attempts \
        times. Between attempts that end within one tick it returns RUNNING and asks for another tick at once; in \
        version 3 files it goes on within the tick. A skipped child keeps the count.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            num_attempts: ports
                .input::<i32>("num_attempts")
                .required()
                .doc("failures until it fails; -1 is for ever")
                .bind(),
            dialect: ports.dialect(),
        }
    }
}

impl Behavior for RetryUntilSuccessful {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.count` is the failures so far.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let mut attempts = self.num_attempts.require(cx)?;
        cx.set_status(NodeStatus::Running);
        let mut rounds = 0;
        while goes_on(cx.memory().count, attempts) {
            let at_rest = cx.child_status(0) == NodeStatus::Idle;
            match cx.tick_only_child()? {
                NodeStatus::Success => {
                    cx.memory().count = 0;
                    return Ok(NodeStatus::Success);
                }
                NodeStatus::Failure => {
                    // The child may have changed how often it wants to be tried.
                    if self.dialect == Dialect::V4 {
                        attempts = self.num_attempts.get_or(cx, attempts);
                    }
                    let memory = cx.memory();
                    memory.count = memory.count.saturating_add(1);
                    let more = goes_on(memory.count, attempts);
                    rounds += 1;
                    let yields = match self.dialect {
                        Dialect::V4 => at_rest,
                        Dialect::V3 => rounds >= ROUNDS_IN_ONE_TICK,
                    };
                    if yields && more {
                        cx.wake();
                        return Ok(NodeStatus::Running);
                    }
                }
                NodeStatus::Skipped => {
                    cx.halt_child(0, HaltReason::ParentFinished);
                    return Ok(NodeStatus::Skipped);
                }
                NodeStatus::Running | NodeStatus::Idle => return Ok(NodeStatus::Running),
            }
        }
        cx.memory().count = 0;
        Ok(NodeStatus::Failure)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().count = 0;
        cx.halt_children(reason);
    }

    fn conduct(&self, _kind: NodeKind, children: &[Conduct]) -> Conduct {
        let more = match self.num_attempts.literal() {
            Some(-1) => Outcomes::RUNNING,
            Some(..=1) => Outcomes::FAILURE,
            _ => Outcomes::FAILURE | Outcomes::RUNNING,
        };
        Conduct::around(children, |child| child.without(Outcomes::FAILURE) | more)
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
    fn an_attempt_that_ran_goes_straight_into_the_next() {
        Scene::new(retry(2, leaf("a", "RFR"))).check(
            "= a
             R R
             R FR
             R R
             F F",
        );
    }

    #[test]
    fn none_is_failure_and_a_skipped_attempt_keeps_the_count() {
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
    fn a_halt_forgets_the_count() {
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
    fn version_3_tries_again_within_the_tick_and_knows_a_misspelt_name() {
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
