//! `RemoveInCollisionGoals`: removes occupied goals. A node of Nav2's main branch.

use std::sync::Arc;

use super::check_pose_occupancy::CostPorts;
use crate::bt::{Context, Input, NodeStatus, Output, Ports, Thrown, Tick};
use crate::msg::service as services;
use crate::msg::{Goals, WaypointStatus, WaypointStatuses};
use crate::nav::service_node::{RequestOf, ResponseOf, ServiceNode};

/// Checks goals against a costmap.
#[derive(Debug)]
pub struct RemoveInCollisionGoals {
    goals: Input<Arc<Goals>>,
    costs: CostPorts,
    statuses: Input<Arc<WaypointStatuses>>,
    output_goals: Output<Arc<Goals>>,
    output_statuses: Output<Arc<WaypointStatuses>>,
}

impl ServiceNode for RemoveInCollisionGoals {
    type Service = services::GetCosts;
    const ID: &'static str = "RemoveInCollisionGoals";
    const DOC: &'static str = "Removes occupied goals and marks them as skipped. FAILURE for an empty list. If \
        the goals have changed when the response arrives, it sends another request, ten at most.";
    const SERVER: &'static str = "/global_costmap/get_cost_global_costmap";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            goals: ports.input("input_goals").doc("Goals to check.").needed().bind(),
            costs: CostPorts::bind(ports),
            statuses: ports
                .input("input_waypoint_statuses")
                .doc("Status of the goals so far.")
                .bind(),
            output_goals: ports.output("output_goals").doc("Goals that are free.").bind(),
            output_statuses: ports
                .output("output_waypoint_statuses")
                .doc("Status of the goals, with removed goals marked as skipped.")
                .bind(),
        }
    }

    fn request(&self, cx: &mut Context<'_>) -> Result<Result<services::GetCostsRequest, NodeStatus>, Thrown> {
        let goals = self.goals.require(cx)?;
        if goals.0.is_empty() {
            self.output_goals.set(cx, goals)?;
            return Ok(Err(NodeStatus::Failure));
        }
        Ok(Ok(services::GetCostsRequest {
            use_footprint: self.costs.use_footprint.require(cx)?,
            poses: goals.0.clone(),
        }))
    }

    /// Compares by value, because nodes such as RemovePassedGoals write the same goals in every tick.
    fn is_outdated(&self, cx: &mut Context<'_>, request: &RequestOf<Self>) -> Result<bool, Thrown> {
        Ok(self.goals.require(cx)?.0 != request.poses)
    }

    fn answered(&self, cx: &mut Context<'_>, request: &RequestOf<Self>, response: &ResponseOf<Self>) -> Tick {
        let goals = &request.poses;
        if !response.success || response.costs.len() != goals.len() {
            self.output_goals.set(cx, Arc::new(Goals(goals.clone())))?;
            return Ok(NodeStatus::Failure);
        }
        let statuses = self.statuses.optional(cx)?;
        let mut statuses = statuses.map(|statuses| statuses.0.clone());
        let mut free = Vec::with_capacity(goals.len());
        for (goal, cost) in goals.iter().zip(&response.costs) {
            if !self.costs.is_occupied(cx, *cost)? {
                free.push(goal.clone());
                continue;
            }
            let entry = statuses.iter_mut().flatten().find(|status| {
                status.waypoint_pose == *goal && status.waypoint_status == WaypointStatus::PENDING
            });
            if let Some(entry) = entry {
                entry.waypoint_status = WaypointStatus::SKIPPED;
            }
        }
        self.output_goals.set(cx, Arc::new(Goals(free)))?;
        if let Some(statuses) = statuses {
            self.output_statuses
                .set(cx, Arc::new(WaypointStatuses(statuses)))?;
        }
        Ok(NodeStatus::Success)
    }
}

#[cfg(test)]
mod tests {
    use super::services::{GetCosts, GetCostsResponse};
    use super::*;
    use crate::bt::NodeStatus::{Failure, Running, Success};
    use crate::msg::{Pose, PoseStamped};
    use crate::nav::testing::Bench;

    #[test]
    fn test_remove_in_collision_goals() {
        let mut bench = Bench::new(
            "<RemoveInCollisionGoals service_name=\"costs\" input_goals=\"{goals}\" output_goals=\"{free}\" \
             input_waypoint_statuses=\"{statuses}\" output_waypoint_statuses=\"{statuses}\"/>",
        );
        bench.service::<GetCosts>("costs", |request| {
            Some(GetCostsResponse {
                costs: request
                    .poses
                    .iter()
                    .map(|pose| pose.pose.position.x as f32)
                    .collect(),
                success: true,
            })
        });
        let pose = |x: f64| PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0));
        let pending = |x: f64| WaypointStatus {
            waypoint_pose: pose(x),
            ..Default::default()
        };
        bench.set(
            "goals",
            Arc::new(Goals(vec![pose(0.0), pose(254.0), pose(100.0)])),
        );
        let statuses = [0.0, 254.0, 100.0].map(pending).to_vec();
        bench.set("statuses", Arc::new(WaypointStatuses(statuses)));
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.object::<Goals>("free").unwrap().0, [pose(0.0), pose(100.0)]);
        let statuses = bench.object::<WaypointStatuses>("statuses").unwrap();
        let numbers: Vec<u8> = statuses.0.iter().map(|status| status.waypoint_status).collect();
        assert_eq!(numbers, [0, WaypointStatus::SKIPPED, 0]);

        bench.set("goals", Arc::new(Goals::default()));
        assert_eq!(bench.tick(), Failure, "no request is sent");
        assert_eq!(bench.requests::<GetCosts>("costs").len(), 1);
    }

    #[test]
    fn goals_that_change_before_the_response_are_checked_again() {
        let mut bench = Bench::new(
            "<RemoveInCollisionGoals service_name=\"costs\" input_goals=\"{goals}\" output_goals=\"{goals}\"/>",
        );
        bench.service::<GetCosts>("costs", |_| {
            Some(GetCostsResponse {
                costs: vec![254.0, 0.0],
                success: true,
            })
        });
        let goals = |xs: [f64; 2]| {
            let pose = |x: f64| PoseStamped::in_frame("map", Pose::planar(x, 0.0, 0.0));
            Arc::new(Goals(xs.map(pose).to_vec()))
        };
        bench.set("goals", goals([1.0, 2.0]));
        assert_eq!(bench.tick(), Running);
        // A client sends other goals in between.
        bench.set("goals", goals([3.0, 4.0]));
        assert_eq!(bench.tick(), Running);
        assert_eq!(bench.object::<Goals>("goals"), Some(goals([3.0, 4.0])));
        assert_eq!(bench.tick(), Success);
        assert_eq!(
            bench.object::<Goals>("goals").unwrap().0,
            goals([3.0, 4.0]).0[1..]
        );
        assert_eq!(bench.requests::<GetCosts>("costs").len(), 2);
        // The same goals, written again, do not count as changed.
        bench.set("goals", goals([5.0, 6.0]));
        assert_eq!(bench.tick(), Running);
        bench.set("goals", goals([5.0, 6.0]));
        assert_eq!(bench.tick(), Success);
        bench.service::<GetCosts>("costs", |_| Some(GetCostsResponse::default()));
        bench.set("goals", goals([7.0, 8.0]));
        assert_eq!(bench.run(3), Failure);
        assert_eq!(
            bench.object::<Goals>("goals"),
            Some(goals([7.0, 8.0])),
            "all are kept"
        );
    }

    #[test]
    fn g6_goals_that_never_equal_those_of_the_request_are_a_failure() {
        let mut bench =
            Bench::new("<RemoveInCollisionGoals service_name=\"costs\" input_goals=\"{goals}\"/>");
        bench.service::<GetCosts>("costs", |_| Some(GetCostsResponse::default()));
        let pose = PoseStamped::in_frame("map", Pose::planar(f64::NAN, 0.0, 0.0));
        bench.set("goals", Arc::new(Goals(vec![pose])));
        assert_eq!(bench.run(100), Failure);
        assert_eq!(bench.requests::<GetCosts>("costs").len(), 10);
    }
}
