//! `ReinitializeGlobalLocalization`: restarts the localization on the whole map.

use crate::bt::{Context, NodeStatus, Ports, Thrown};
use crate::msg::service as services;
use crate::nav::service_node::ServiceNode;

/// Restarts the localization.
#[derive(Debug)]
pub struct ReinitializeGlobalLocalization;

impl ServiceNode for ReinitializeGlobalLocalization {
    type Service = services::Empty;
    const ID: &'static str = "ReinitializeGlobalLocalization";
    const DOC: &'static str = "Restarts the localization: it searches for the robot on the whole map.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }

    fn request(&self, _cx: &mut Context<'_>) -> Result<Result<services::EmptyRequest, NodeStatus>, Thrown> {
        Ok(Ok(services::EmptyRequest {}))
    }
}

#[cfg(test)]
mod tests {
    use super::services::Empty;
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::Bench;

    #[test]
    fn test_reinitialize_global_localization_service() {
        let mut bench = Bench::new("<ReinitializeGlobalLocalization service_name=\"reinit\"/>");
        bench.service::<Empty>("reinit", |_| Some(Default::default()));
        assert_eq!(bench.run(3), Success);
        assert_eq!(bench.recoveries(), 0);
        assert_eq!(bench.type_of("reinit").as_deref(), Some("std_srvs/srv/Empty"));
    }
}
