//! `GoalReached`: checks whether the robot is at a goal.

use std::sync::Arc;

use super::verdict;
use crate::bt::{Behavior, Context, Input, Node, NodeKind, NodeStatus, Ports, Tick};
use crate::msg::{PoseStamped, distance_xy};
use crate::nav::endpoint::world;
use crate::nav::frames::{FramePorts, robot_in};

/// Compares the robot's pose with a goal.
#[derive(Debug)]
pub struct GoalReached {
    goal: Input<Arc<PoseStamped>>,
    frames: FramePorts,
}

impl Node for GoalReached {
    const ID: &'static str = "GoalReached";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if the distance of the robot to the goal is at most the parameter \
        goal_reached_tol, on the plane and in the goal's frame.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: ports.input("goal").doc("Goal pose.").bind(),
            frames: FramePorts::bind(ports),
        }
    }
}

impl Behavior for GoalReached {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Some(goal) = self.goal.optional(cx)? else {
            return Ok(NodeStatus::Failure);
        };
        let Some(robot) = robot_in(cx, Some(&goal.header.frame_id), &self.frames.base)? else {
            return Ok(NodeStatus::Failure);
        };
        let tolerance = world!(cx).settings.goal_reached_tolerance;
        Ok(verdict(
            distance_xy(&goal.pose.position, &robot.pose.position) <= tolerance,
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::Pose;
    use crate::nav::testing::Bench;

    #[test]
    fn test_goal_reached() {
        let mut bench =
            Bench::new("<GoalReached goal=\"0;map;1;1;0;0;0;0;1\" robot_base_frame=\"base_link\"/>");
        assert_eq!(bench.tick(), Failure, "no transform");
        for (at, status) in [(0.0, Failure), (0.5, Failure), (0.9, Success), (1.0, Success)] {
            bench.transform("map", "base_link", Pose::planar(at, at, 0.0));
            assert_eq!(bench.tick(), status, "{at}");
        }
    }

    #[test]
    fn the_frame_and_the_tolerance_are_parameters() {
        let mut bench = Bench::new("<GoalReached goal=\"0;odom;1;1;0;0;0;0;1\" robot_base_frame=\"\"/>");
        bench.world().settings.robot_base_frame = "base".to_owned();
        bench.transform("odom", "base", Pose::planar(0.0, 0.0, 0.0));
        assert_eq!(bench.tick(), Failure);
        bench.world().settings.goal_reached_tolerance = 1.5;
        assert_eq!(bench.tick(), Success);
    }
}
