//! `ClearCostmapExceptRegion`: clears a costmap outside of a square around the robot.

use crate::bt::{Context, Input, NodeStatus, PortRange, Ports, Thrown};
use crate::msg::service as services;
use crate::nav::recovery_count::count_recovery;
use crate::nav::service_node::ServiceNode;

/// Clears a part of a costmap.
#[derive(Debug)]
pub struct ClearCostmapExceptRegion {
    reset_distance: Input<f64>,
}

impl ServiceNode for ClearCostmapExceptRegion {
    type Service = services::ClearCostmapExceptRegion;
    const ID: &'static str = "ClearCostmapExceptRegion";
    const DOC: &'static str = "Clears a costmap outside of a square around the robot. Counts as a recovery.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        super::warn_of_plugins(ports);
        Self {
            reset_distance: ports
                .input("reset_distance")
                .range(PortRange::above(0.0))
                .unit("m")
                .default("1.0")
                .doc("Side of the square that is kept.")
                .bind(),
        }
    }

    fn request(
        &self,
        cx: &mut Context<'_>,
    ) -> Result<Result<services::ClearCostmapExceptRegionRequest, NodeStatus>, Thrown> {
        count_recovery(cx)?;
        Ok(Ok(services::ClearCostmapExceptRegionRequest {
            reset_distance: self.reset_distance.require(cx)? as f32,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::services::ClearCostmapExceptRegion;
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::Bench;

    #[test]
    fn test_clear_costmap_service_counts_a_recovery_for_each_request() {
        let mut bench =
            Bench::new("<ClearCostmapExceptRegion service_name=\"clear\" reset_distance=\"2.0\"/>");
        bench.service::<ClearCostmapExceptRegion>("clear", |_| Some(Default::default()));
        assert_eq!(bench.recoveries(), 0);
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.recoveries(), 1);
        let requests = bench.requests::<ClearCostmapExceptRegion>("clear");
        assert_eq!(requests[0].reset_distance, 2.0);
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.recoveries(), 2);
    }
}
