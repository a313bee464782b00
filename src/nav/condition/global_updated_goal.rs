//! `GlobalUpdatedGoal`: whether the goal has changed since this node last looked.

use super::verdict;
use crate::bt::{Behavior, Context, Node, NodeKind, Ports, Tick};
use crate::nav::goal_watch::{GoalPorts, SeenGoal};

/// Compares the goal with the one it saw last, whenever that was.
#[derive(Debug)]
pub struct GlobalUpdatedGoal {
    goal: GoalPorts,
}

impl Node for GlobalUpdatedGoal {
    const ID: &'static str = "GlobalUpdatedGoal";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS when it is ticked for the first time since its tree was loaded, and then once \
        for each change of the goal, also from one navigation to the next.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: GoalPorts::bind(ports),
        }
    }
}

impl Behavior for GlobalUpdatedGoal {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let mut seen = cx.take_state::<SeenGoal>();
        let first = std::mem::replace(&mut cx.memory().index, 1) == 0;
        let changed = if first {
            *seen = self.goal.see(cx);
            true
        } else {
            self.goal.changed(cx, &mut seen)
        };
        cx.put_state(seen);
        Ok(verdict(changed))
    }
}
