//! `ClearEntireCostmap`: clears a whole costmap.

use crate::bt::{Context, NodeStatus, Ports, Thrown, Tick};
use crate::msg::service as services;
use crate::nav::action_leaf::count_recovery;
use crate::nav::service_leaf::{ResponseOf, ServiceNode};

/// Has a costmap cleared.
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

    fn answered(&self, _cx: &mut Context<'_>, _response: &ResponseOf<Self>) -> Tick {
        Ok(NodeStatus::Success)
    }
}
