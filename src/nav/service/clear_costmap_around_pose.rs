//! `ClearCostmapAroundPose`: clears a costmap inside a square around a pose.

use std::sync::Arc;

use crate::bt::{Context, Input, NodeStatus, PortRange, Ports, Thrown};
use crate::msg::PoseStamped;
use crate::msg::service as services;
use crate::nav::recovery_count::count_recovery;
use crate::nav::service_node::ServiceNode;

/// Clears a part of a costmap.
#[derive(Debug)]
pub struct ClearCostmapAroundPose {
    pose: Input<Arc<PoseStamped>>,
    reset_distance: Input<f64>,
}

impl ServiceNode for ClearCostmapAroundPose {
    type Service = services::ClearCostmapAroundPose;
    const ID: &'static str = "ClearCostmapAroundPose";
    const DOC: &'static str = "Clears a costmap inside a square around a pose. Counts as a recovery.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        super::warn_of_plugins(ports);
        Self {
            pose: ports.input("pose").doc("Centre of the square.").needed().bind(),
            reset_distance: ports
                .input("reset_distance")
                .range(PortRange::above(0.0))
                .unit("m")
                .default("1.0")
                .doc("Side of the cleared square.")
                .bind(),
        }
    }

    fn request(
        &self,
        cx: &mut Context<'_>,
    ) -> Result<Result<services::ClearCostmapAroundPoseRequest, NodeStatus>, Thrown> {
        count_recovery(cx)?;
        Ok(Ok(services::ClearCostmapAroundPoseRequest {
            pose: self.pose.require(cx)?.as_ref().clone(),
            reset_distance: self.reset_distance.require(cx)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::services::ClearCostmapAroundPose;
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::Bench;

    #[test]
    fn test_clear_costmap_service_counts_a_recovery_for_each_request() {
        let mut bench =
            Bench::new("<ClearCostmapAroundPose service_name=\"clear\" pose=\"0;map;1;2;0;0;0;0;1\"/>");
        bench.service::<ClearCostmapAroundPose>("clear", |_| Some(Default::default()));
        assert_eq!(bench.recoveries(), 0);
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.recoveries(), 1);
        let requests = bench.requests::<ClearCostmapAroundPose>("clear");
        assert_eq!(requests[0].pose.pose.position.y, 2.0);
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.recoveries(), 2);
    }
}
