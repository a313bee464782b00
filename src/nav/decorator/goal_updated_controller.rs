//! `GoalUpdatedController`: ticks its child once per new goal.

use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick};
use crate::nav::goal_watch::{GoalPorts, SeenGoal};

/// Ticks its child at once, then for each change of the goal.
#[derive(Debug)]
pub struct GoalUpdatedController {
    goal: GoalPorts,
}

impl Node for GoalUpdatedController {
    const ID: &'static str = "GoalUpdatedController";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child when it is activated, while the child is running, and each time \
        the goal has changed. Otherwise RUNNING.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: GoalPorts::bind(ports),
        }
    }
}

impl Behavior for GoalUpdatedController {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let mut seen = cx.take_state::<SeenGoal>();
        let due = if cx.is_fresh() {
            *seen = self.goal.see(cx);
            true
        } else {
            self.goal.changed(cx, &mut seen)
        };
        cx.put_state(seen);
        cx.set_status(NodeStatus::Running);
        if due || cx.child_status(0) == NodeStatus::Running {
            cx.tick_child(0)
        } else {
            Ok(NodeStatus::Running)
        }
    }

    fn node_effects(&self, kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::of(kind, children).or(Outcomes::RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::Running;
    use crate::msg::action::Wait;
    use crate::msg::{Pose, PoseStamped};
    use crate::nav::testing::{Bench, Plan};
    use std::sync::Arc;

    #[test]
    fn test_goal_updated_controller() {
        let mut bench = Bench::new(
            "<PipelineSequence><GoalUpdatedController><Script code=\"count:=count+1\"/></GoalUpdatedController><Wait/></PipelineSequence>",
        );
        bench.action::<Wait>("wait", |_| Plan::endless());
        bench.set("count", 0.0);
        let mut counts = Vec::new();
        for x in [0.0, 1.0, 1.0, 2.0] {
            bench.set(
                "goal",
                Arc::new(PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0))),
            );
            assert_eq!(bench.tick(), Running);
            counts.push(bench.get::<f64>("count").unwrap());
        }
        assert_eq!(counts, [1.0, 2.0, 2.0, 3.0]);
    }
}
