//! `GoalReached`: whether the robot is at a goal.

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
    const DOC: &'static str = "SUCCESS if the robot is no further from the goal than the parameter goal_reached_tol, \
        on the plane and in the goal's frame.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goal: ports.input("goal").doc("The goal.").bind(),
            frames: FramePorts::bind(ports),
        }
    }
}

impl Behavior for GoalReached {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let Ok(goal) = self.goal.get(cx) else {
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
