//! `RemovePassedGoals`: removes goals that the robot has passed.

use std::sync::Arc;

use crate::bt::{
    Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Output, PortRange, Ports, Text,
    Thrown, Tick,
};
use crate::msg::{Goals, PoseStamped, WaypointStatus, WaypointStatuses, distance_xy};
use crate::nav::frames::{FramePorts, robot_in};

/// Removes goals from the front of a list.
#[derive(Debug)]
pub struct RemovePassedGoals {
    goals: Input<Arc<Goals>>,
    radius: Input<f64>,
    frames: FramePorts,
    output: Output<Arc<Goals>>,
    statuses: Input<Arc<WaypointStatuses>>,
    output_statuses: Output<Arc<WaypointStatuses>>,
}

impl Node for RemovePassedGoals {
    const ID: &'static str = "RemovePassedGoals";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Removes goals from the front of the list while the robot is near the first one. \
        The last goal stays. FAILURE without the robot's pose.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goals: ports.input("input_goals").doc("Goals of the navigation.").bind(),
            radius: ports
                .input("radius")
                .range(PortRange::at_least(0.0))
                .unit("m")
                .default("0.5")
                .doc("Maximum distance to a passed goal.")
                .bind(),
            frames: FramePorts::bind(ports),
            output: ports.output("output_goals").doc("Remaining goals.").bind(),
            statuses: ports
                .input("input_waypoint_statuses")
                .doc("Status of the goals so far.")
                .bind(),
            output_statuses: ports
                .output("output_waypoint_statuses")
                .doc("Status of the goals, with the passed ones marked.")
                .bind(),
        }
    }
}

impl RemovePassedGoals {
    /// Marks passed goals as completed. `false` if one of them is not pending.
    fn complete(&self, cx: &mut Context<'_>, passed: &[PoseStamped]) -> Result<bool, Thrown> {
        let Some(statuses) = self.statuses.optional(cx)? else {
            return Ok(true);
        };
        if passed.is_empty() {
            self.output_statuses.set(cx, statuses)?;
            return Ok(true);
        }
        let mut statuses = statuses.0.clone();
        for goal in passed {
            let entry = statuses.iter_mut().find(|status| {
                status.waypoint_status == WaypointStatus::PENDING && status.waypoint_pose.pose == goal.pose
            });
            let Some(entry) = entry else {
                return Ok(false);
            };
            entry.waypoint_status = WaypointStatus::COMPLETED;
        }
        self.output_statuses
            .set(cx, Arc::new(WaypointStatuses(statuses)))?;
        Ok(true)
    }
}

impl Behavior for RemovePassedGoals {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let goals = self.goals.optional(cx)?.unwrap_or_default();
        let radius = self.radius.require(cx)?;
        let Some(first) = goals.0.first() else {
            self.output.set(cx, goals)?;
            return Ok(NodeStatus::Success);
        };
        let frame: Text = first.header.frame_id.clone();
        let Some(robot) = robot_in(cx, Some(&frame), &self.frames.base)? else {
            return Ok(NodeStatus::Failure);
        };
        let before_last = goals.0.len() - 1;
        let passed = goals.0[..before_last]
            .iter()
            .take_while(|goal| distance_xy(&goal.pose.position, &robot.pose.position) <= radius)
            .count();
        if !self.complete(cx, &goals.0[..passed])? {
            return Ok(NodeStatus::Failure);
        }
        let left = if passed == 0 {
            goals
        } else {
            Arc::new(Goals(goals.0[passed..].to_vec()))
        };
        self.output.set(cx, left)?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::synchronous()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::msg::Pose;
    use crate::nav::testing::Bench;

    fn pose(x: f64) -> PoseStamped {
        PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0))
    }

    fn bench(goals: &[f64]) -> Bench {
        let mut bench = Bench::new(
            "<RemovePassedGoals input_goals=\"{goals}\" output_goals=\"{goals}\" radius=\"0.5\" \
             input_waypoint_statuses=\"{statuses}\" output_waypoint_statuses=\"{statuses}\"/>",
        );
        bench.set("goals", Arc::new(Goals(goals.iter().map(|x| pose(*x)).collect())));
        bench
    }

    fn left(bench: &Bench) -> Vec<f64> {
        let goals = bench.object::<Goals>("goals").unwrap();
        goals.0.iter().map(|goal| goal.pose.position.x).collect()
    }

    #[test]
    fn test_remove_passed_goals_action() {
        let mut bench = bench(&[0.0, 0.5, 1.0, 2.0]);
        assert_eq!(bench.tick(), Failure, "no transform");
        bench.transform("map", "base_link", Pose::planar(0.25, 0.0, 0.0));
        assert_eq!(bench.tick(), Success);
        assert_eq!(left(&bench), [1.0, 2.0]);
    }

    #[test]
    fn the_last_goal_stays_and_an_empty_list_needs_no_robot_pose() {
        let mut bench = bench(&[0.0]);
        bench.transform("map", "base_link", Pose::default());
        assert_eq!(bench.tick(), Success);
        assert_eq!(left(&bench), [0.0]);
        bench.forget_transforms();
        bench.set("goals", Arc::new(Goals::default()));
        assert_eq!(bench.tick(), Success);
    }

    #[test]
    fn passed_goals_are_marked_as_completed() {
        let mut bench = bench(&[0.0, 1.0]);
        let status = |x| WaypointStatus {
            waypoint_pose: pose(x),
            ..Default::default()
        };
        bench.set(
            "statuses",
            Arc::new(WaypointStatuses(vec![status(0.0), status(1.0)])),
        );
        bench.transform("map", "base_link", Pose::default());
        assert_eq!(bench.tick(), Success);
        let statuses = bench.object::<WaypointStatuses>("statuses").unwrap();
        assert_eq!(statuses.0[0].waypoint_status, WaypointStatus::COMPLETED);
        assert_eq!(statuses.0[1].waypoint_status, WaypointStatus::PENDING);
        bench.set("goals", Arc::new(Goals(vec![pose(0.0), pose(1.0)])));
        assert_eq!(bench.tick(), Failure, "that goal is not pending any more");
    }
}
