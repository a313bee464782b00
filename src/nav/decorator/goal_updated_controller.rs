//! `GoalUpdatedController`: ticks its child for each new goal.

use crate::bt::{Behavior, Context, Node, NodeKind, NodeStatus, Ports, Tick};
use crate::nav::goal_watch::{GoalPorts, SeenGoal};

/// Ticks its child at once, then for each change of the goal.
#[derive(Debug)]
pub struct GoalUpdatedController {
    goal: GoalPorts,
}

impl Node for GoalUpdatedController {
    const ID: &'static str = "GoalUpdatedController";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child when it is activated, while the child runs, and each time the goal has \
        changed. In between: RUNNING.";

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
}
