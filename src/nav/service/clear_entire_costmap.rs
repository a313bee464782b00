//! `ClearEntireCostmap`: clears a whole costmap.

use crate::bt::{Context, NodeStatus, Ports, Thrown};
use crate::msg::service as services;
use crate::nav::recovery_count::count_recovery;
use crate::nav::service_node::ServiceNode;

/// Clears a whole costmap.
#[derive(Debug)]
pub struct ClearEntireCostmap;

impl ServiceNode for ClearEntireCostmap {
    type Service = services::ClearEntireCostmap;
    const ID: &'static str = "ClearEntireCostmap";
    const DOC: &'static str = "Clears a whole costmap. Counts as a recovery.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        super::warn_of_plugins(ports);
        Self
    }

    fn request(
        &self,
        cx: &mut Context<'_>,
    ) -> Result<Result<services::ClearEntireCostmapRequest, NodeStatus>, Thrown> {
        count_recovery(cx)?;
        Ok(Ok(services::ClearEntireCostmapRequest {}))
    }
}

#[cfg(test)]
mod tests {
    use super::services::ClearEntireCostmap;
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::Bench;

    #[test]
    fn test_clear_costmap_service_counts_a_recovery_for_each_request() {
        let mut bench = Bench::new("<ClearEntireCostmap service_name=\"clear\" />");
        bench.service::<ClearEntireCostmap>("clear", |_| Some(Default::default()));
        assert_eq!(bench.recoveries(), 0);
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.recoveries(), 1);
        let requests = bench.requests::<ClearEntireCostmap>("clear");
        assert_eq!(requests.len(), 1);
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.recoveries(), 2);
    }
}
