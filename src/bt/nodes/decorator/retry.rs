//! `Retry`: ticks the child again after a wait when it fails.

use std::time::Duration;

use super::rounds::goes_on;
use crate::bt::{
    Behavior, Context, Input, Memory, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, PortRange, Ports,
    Tick, Time,
};

/// Counts the failures of its child and waits between attempts.
#[derive(Debug)]
pub struct Retry {
    num_attempts: Input<i32>,
    interval_msec: Input<u32>,
}

impl Node for Retry {
    const ID: &'static str = "Retry";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child until it succeeds: SUCCESS. FAILURE when the child has failed \
        num_attempts times. After a failure it waits for interval_msec and returns RUNNING before the next \
        attempt. RetryUntilSuccessful is the same without the wait.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            num_attempts: ports
                .input::<i32>("num_attempts")
                .range(PortRange::at_least(1.0).or(-1.0))
                .required()
                .doc("Maximum number of failures; -1: no limit.")
                .bind(),
            interval_msec: ports
                .input::<u32>("interval_msec")
                .default("0")
                .unit("ms")
                .doc("Wait after a failure.")
                .bind(),
        }
    }
}

impl Behavior for Retry {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.count` is the number of failures. `memory.index` is 1 during a wait, which ends at `memory.mark`.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let attempts = self.num_attempts.require(cx)?;
        if cx.is_fresh() {
            *cx.memory() = Memory::default();
        }
        cx.set_status(NodeStatus::Running);
        if cx.memory().index != 0 {
            let end = Time::from_nanos(cx.memory().mark);
            if cx.now() < end {
                cx.wake_at(end);
                return Ok(NodeStatus::Running);
            }
            cx.memory().index = 0;
        }
        if !goes_on(cx.memory().count, attempts) {
            return Ok(NodeStatus::Failure);
        }
        let status = cx.tick_only_child()?;
        if status != NodeStatus::Failure {
            return Ok(status);
        }
        let memory = cx.memory();
        memory.count = memory.count.saturating_add(1);
        if !goes_on(memory.count, attempts) {
            return Ok(NodeStatus::Failure);
        }
        match self.interval_msec.require(cx)? {
            0 => cx.wake(),
            interval => {
                let end = cx.now() + Duration::from_millis(interval.into());
                cx.memory().index = 1;
                cx.memory().mark = end.as_nanos();
                cx.wake_at(end);
            }
        }
        Ok(NodeStatus::Running)
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | Outcomes::FAILURE | Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, node};
    use crate::bt::testing::{Scene, leaf};

    fn retry(attempts: i32, child: NodeBuilder) -> NodeBuilder {
        node("Retry").port("num_attempts", attempts).child(child)
    }

    #[test]
    fn it_waits_between_attempts() {
        Scene::new(retry(3, leaf("a", "FRFS")).port("interval_msec", 100)).check(
            "= a
             @0 R F
             @99 R .
             @100 R R
             @110 R F
             @209 R .
             @210 S S
             @220 R F",
        );
    }

    #[test]
    fn it_fails_with_the_last_attempt() {
        Scene::new(retry(2, leaf("a", "F"))).check(
            "= a
             R* F
             F F
             R* F",
        );
        Scene::new(retry(0, leaf("a", "S"))).check(
            "= a
             F .",
        );
    }

    #[test]
    fn a_halt_resets_failures_and_wait() {
        Scene::new(retry(2, leaf("a", "FR")).port("interval_msec", 100)).check(
            "= a
             @0 R F
             @10 halt
             @20 R R
             @30 R F",
        );
    }
}
