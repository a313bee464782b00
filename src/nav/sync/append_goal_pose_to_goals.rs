//! `AppendGoalPoseToGoals`: adds a goal to a list. A node of Nav2's main branch.

use std::sync::Arc;

use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, Ports, Tick};
use crate::msg::{Goals, PoseStamped};

/// Adds a goal to a list.
#[derive(Debug)]
pub struct AppendGoalPoseToGoals {
    goal: Input<Arc<PoseStamped>>,
    goals: Input<Arc<Goals>>,
    output: Output<Arc<Goals>>,
}

impl Node for AppendGoalPoseToGoals {
    const ID: &'static str = "AppendGoalPoseToGoals";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Adds a goal at the end of a list of goals.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: ports.input("goal_pose").doc("Goal to add.").needed().bind(),
            goals: ports.input("input_goals").doc("List of goals.").bind(),
            output: ports
                .output("output_goals")
                .doc("List with the added goal.")
                .bind(),
        }
    }
}

impl Behavior for AppendGoalPoseToGoals {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let goal = self.goal.require(cx)?;
        let goals = self.goals.optional(cx)?.unwrap_or_default();
        let longer = goals.0.iter().cloned().chain([goal.as_ref().clone()]).collect();
        self.output.set(cx, Arc::new(Goals(longer)))?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::Bench;

    #[test]
    fn test_append_goal_pose_to_goals_action() {
        let mut bench = Bench::new(
            "<AppendGoalPoseToGoals goal_pose=\"0;map;1;2;0;0;0;0;1\" input_goals=\"{goals}\" output_goals=\"{goals}\"/>",
        );
        for count in 1..3 {
            assert_eq!(bench.tick(), Success);
            assert_eq!(bench.object::<Goals>("goals").unwrap().0.len(), count);
        }
    }
}
