//! `CheckPoseOccupancy`: checks whether a pose is occupied. A node of Nav2's main branch.

use std::sync::Arc;

use crate::bt::{Context, Input, NodeStatus, PortRange, Ports, Thrown, Tick};
use crate::msg::PoseStamped;
use crate::msg::service as services;
use crate::nav::service_node::{RequestOf, ResponseOf, ServiceNode};

/// The cost of unknown space in a costmap.
const UNKNOWN: f32 = 255.0;

/// Rules for the cost of a pose, for this node and for `RemoveInCollisionGoals`.
#[derive(Debug)]
pub(super) struct CostPorts {
    threshold: Input<f64>,
    pub(super) use_footprint: Input<bool>,
    unknown_is_obstacle: Input<bool>,
}

impl CostPorts {
    pub(super) fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            threshold: ports
                .input("cost_threshold")
                .range(PortRange::within(0.0, 255.0))
                .default("254.0")
                .doc("Minimum cost of an occupied pose.")
                .bind(),
            use_footprint: ports
                .input("use_footprint")
                .default("true")
                .doc("Whether to use the cost of the robot's footprint instead of that of its centre.")
                .bind(),
            unknown_is_obstacle: ports
                .input("consider_unknown_as_obstacle")
                .default("false")
                .doc("Whether unknown space is occupied.")
                .bind(),
        }
    }

    pub(super) fn is_occupied(&self, cx: &mut Context<'_>, cost: f32) -> Result<bool, Thrown> {
        if cost == UNKNOWN && !self.unknown_is_obstacle.require(cx)? {
            return Ok(false);
        }
        Ok(f64::from(cost) >= self.threshold.require(cx)?)
    }
}

/// Checks a pose against a costmap.
#[derive(Debug)]
pub struct CheckPoseOccupancy {
    pose: Input<Arc<PoseStamped>>,
    costs: CostPorts,
}

impl ServiceNode for CheckPoseOccupancy {
    type Service = services::GetCosts;
    const ID: &'static str = "CheckPoseOccupancy";
    const DOC: &'static str =
        "SUCCESS if the pose is occupied. FAILURE if it is free, or if the costmap does not answer.";
    const SERVER: &'static str = "/global_costmap/get_cost_global_costmap";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            pose: ports.input("pose").doc("Pose to check.").needed().bind(),
            costs: CostPorts::bind(ports),
        }
    }

    fn request(&self, cx: &mut Context<'_>) -> Result<Result<services::GetCostsRequest, NodeStatus>, Thrown> {
        Ok(Ok(services::GetCostsRequest {
            use_footprint: self.costs.use_footprint.require(cx)?,
            poses: vec![self.pose.require(cx)?.as_ref().clone()],
        }))
    }

    fn answered(
        &self,
        cx: &mut Context<'_>,
        _request: &RequestOf<Self>,
        response: &ResponseOf<Self>,
    ) -> Tick {
        let cost = response.costs.first().filter(|_| response.success);
        Ok(match cost {
            Some(cost) if self.costs.is_occupied(cx, *cost)? => NodeStatus::Success,
            _ => NodeStatus::Failure,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::services::{GetCosts, GetCostsResponse};
    use crate::bt::NodeStatus::{Failure, Success};
    use crate::nav::testing::Bench;

    #[test]
    fn test_check_pose_occupancy() {
        for (attributes, cost, occupied) in [
            ("", 254.0, true),
            ("", 253.0, false),
            ("", 255.0, false),
            ("consider_unknown_as_obstacle=\"true\"", 255.0, true),
            ("cost_threshold=\"100\"", 100.0, true),
        ] {
            let mut bench = Bench::new(&format!(
                "<CheckPoseOccupancy service_name=\"costs\" pose=\"0;map;1;2;0;0;0;0;1\" {attributes}/>"
            ));
            bench.service::<GetCosts>("costs", move |_| {
                Some(GetCostsResponse {
                    costs: vec![cost],
                    success: true,
                })
            });
            assert_eq!(bench.run(3) == Success, occupied, "{attributes} {cost}");
            assert!(bench.requests::<GetCosts>("costs")[0].use_footprint);
            bench.service::<GetCosts>("costs", |_| Some(GetCostsResponse::default()));
            assert_eq!(bench.run(3), Failure);
        }
    }
}
