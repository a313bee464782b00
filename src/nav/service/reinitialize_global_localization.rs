//! `ReinitializeGlobalLocalization`: spreads the robot's localization over the whole map.

use crate::bt::{Context, NodeStatus, Ports, Thrown, Tick};
use crate::msg::service as services;
use crate::nav::service_leaf::{ResponseOf, ServiceNode};

/// Has the localization start anew.
#[derive(Debug)]
pub struct ReinitializeGlobalLocalization;

impl ServiceNode for ReinitializeGlobalLocalization {
    type Service = services::Empty;
    const ID: &'static str = "ReinitializeGlobalLocalization";
    const DOC: &'static str = "Has the localization look for the robot on the whole map.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }

    fn request(&self, _cx: &mut Context<'_>) -> Result<Result<services::EmptyRequest, NodeStatus>, Thrown> {
        Ok(Ok(services::EmptyRequest {}))
    }

    fn answered(&self, _cx: &mut Context<'_>, _response: &ResponseOf<Self>) -> Tick {
        Ok(NodeStatus::Success)
    }
}
