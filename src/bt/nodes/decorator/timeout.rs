//! `Timeout`: limits the running time of the child.

use std::time::Duration;

use crate::bt::{
    Behavior, Context, HaltReason, Input, Memory, Node, NodeEffects, NodeKind, NodeStatus, Outcomes,
    PortRange, Ports, Tick, Time,
};

/// Halts its child when the time has expired.
#[derive(Debug)]
pub struct Timeout {
    msec: Input<u32>,
}

impl Node for Timeout {
    const ID: &'static str = "Timeout";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Returns the result of its child. A child that is still running msec after its \
        start is halted, and the result is FAILURE.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            msec: ports
                .input::<u32>("msec")
                .range(PortRange::above(0.0))
                .required()
                .unit("ms")
                .doc("Maximum running time of the child; 0: no limit.")
                .bind(),
        }
    }
}

/// `memory.index` while the child is running.
const STARTED: u32 = 1;
/// The time expired while the child was not running. The limit no longer applies.
const SPENT: u32 = 2;

impl Behavior for Timeout {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.mark` is the end of the time.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let limit = self.msec.require(cx)?;
        if cx.memory().index == 0 {
            let mark = (cx.now() + Duration::from_millis(limit.into())).as_nanos();
            cx.set_status(NodeStatus::Running);
            *cx.memory() = Memory {
                index: if limit == 0 { SPENT } else { STARTED },
                mark,
                count: 0,
            };
        }
        if cx.memory().index == STARTED {
            let end = Time::from_nanos(cx.memory().mark);
            if cx.now() < end {
                cx.wake_at(end);
            } else if cx.child_status(0) == NodeStatus::Running {
                // BehaviorTree.CPP halts the child from a timer thread. Here the tick at that time halts it.
                cx.halt_child(0, HaltReason::TimedOut);
                cx.memory().index = 0;
                return Ok(NodeStatus::Failure);
            } else {
                cx.memory().index = SPENT;
            }
        }
        let status = cx.tick_only_child()?;
        if status.is_completed() {
            cx.memory().index = 0;
        }
        Ok(status)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().index = 0;
        cx.halt_children(reason);
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | Outcomes::FAILURE)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::Time;
    use crate::bt::builder::{reactive_sequence, timeout};
    use crate::bt::testing::{Running, Scene, leaf};

    #[test]
    fn a_child_that_runs_at_the_timeout_is_halted() {
        let mut run = Running::new(Scene::new(timeout(100, leaf("a", "R"))).compile().unwrap(), false);
        run.check(
            "= a
             @1000 R R
             @1099 R R",
        );
        assert_eq!(run.tree.wake_at(), Some(Time::from_millis(1100)));
        run.check(
            "= a
             @1100 F . !a
             @1200 R R
             @1299 R R
             @1300 F . !a",
        );
    }

    #[test]
    fn a_child_that_completes_in_time_gives_the_result() {
        Scene::new(timeout(100, leaf("a", "RSF"))).check(
            "= a
             @0 R R
             @99 S S
             @500 F F",
        );
        Scene::new(timeout(0, leaf("a", "R"))).check(
            "= a
             @0 R R
             @90000 R R",
        );
    }

    #[test]
    fn a_halt_restarts_the_time() {
        Scene::new(reactive_sequence([
            leaf("ok", "SFSSS"),
            timeout(100, leaf("a", "R")),
        ]))
        .check(
            "= ok a
             @0 R S R
             @90 F F . !a
             @110 R S R
             @209 R S R
             @210 F S . !a",
        );
    }

    #[test]
    fn the_time_continues_while_the_child_is_skipped_and_then_has_no_limit() {
        Scene::new(timeout(100, leaf("a", "--R"))).check(
            "= a
             @0 - -
             @150 - -
             @200 R R
             @900 - -",
        );
    }
}
