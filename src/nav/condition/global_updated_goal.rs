//! `GlobalUpdatedGoal`: checks whether the goal has changed since the last tick of this node.

use super::verdict;
use crate::bt::{Behavior, Context, Node, NodeKind, Ports, Tick};
use crate::nav::goal_watch::{GoalPorts, SeenGoal};

/// Compares the goal with the last seen one, even from an earlier navigation.
#[derive(Debug)]
pub struct GlobalUpdatedGoal {
    goal: GoalPorts,
}

impl Node for GlobalUpdatedGoal {
    const ID: &'static str = "GlobalUpdatedGoal";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS at the first tick after its tree was loaded, and once for each change of \
        the goal, also from one navigation to the next.";

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

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Idle, Success};
    use crate::msg::{Pose, PoseStamped};
    use crate::nav::testing::Bench;
    use std::sync::Arc;

    #[test]
    fn test_globally_updated_goal() {
        let pose = |x| Arc::new(PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0)));
        let mut bench = Bench::new("<GlobalUpdatedGoal/>");
        bench.set("goal", pose(0.0));
        assert_eq!(bench.status("GlobalUpdatedGoal"), Idle);
        assert_eq!(bench.tick(), Success);
        bench.set("goal", pose(1.0));
        assert_eq!(bench.tick(), Success);
        assert_eq!(bench.tick(), Failure);
        bench.halt();
        assert_eq!(bench.tick(), Failure, "the end of a navigation is no change");
        bench.set("goal", pose(2.0));
        assert_eq!(bench.tick(), Success);
    }
}
