//! `MaxTime`: runs the child for a given time, with a selectable result at its end.

use std::time::Duration;

use crate::bt::nodes::outcomes_of;
use crate::bt::{
    Behavior, Context, HaltReason, Input, Node, NodeEffects, NodeKind, NodeStatus, PortRange, Ports, Tick,
    Time,
};

/// Halts its child when the time has expired.
#[derive(Debug)]
pub struct MaxTime {
    msec: Input<u32>,
    at_end: Input<NodeStatus>,
}

impl Node for MaxTime {
    const ID: &'static str = "MaxTime";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Runs its child for a given time and returns its result until then. When the time \
        expires, a running child is halted and the result is at_end. Unlike Timeout, it can end with SUCCESS, \
        and the time continues while the child is skipped.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            msec: ports
                .input::<u32>("msec")
                .range(PortRange::above(0.0))
                .required()
                .unit("ms")
                .doc("Maximum running time of the child.")
                .bind(),
            at_end: ports
                .input::<NodeStatus>("at_end")
                .default("FAILURE")
                .doc("Result when the time expires.")
                .bind(),
        }
    }
}

impl Behavior for MaxTime {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.mark` is the end of the time.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.is_fresh() {
            let limit = self.msec.require(cx)?;
            cx.memory().mark = (cx.now() + Duration::from_millis(limit.into())).as_nanos();
            cx.set_status(NodeStatus::Running);
        }
        let end = Time::from_nanos(cx.memory().mark);
        if cx.now() >= end {
            cx.halt_child(0, HaltReason::TimedOut);
            return self.at_end.require(cx);
        }
        let status = cx.tick_only_child()?;
        if status == NodeStatus::Running {
            cx.wake_at(end);
        }
        Ok(status)
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | outcomes_of(&self.at_end))
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, node};
    use crate::bt::testing::{Scene, leaf};

    fn max_time(child: NodeBuilder) -> NodeBuilder {
        node("MaxTime").port("msec", 100).child(child)
    }

    #[test]
    fn the_child_runs_for_the_given_time() {
        Scene::new(max_time(leaf("a", "R")).port("at_end", "SUCCESS")).check(
            "= a
             @0 R R
             @99 R R
             @100 S . !a
             @101 R R",
        );
        Scene::new(max_time(leaf("a", "RS"))).check(
            "= a
             @0 R R
             @99 S S
             @150 R R
             @250 F . !a",
        );
    }
}
