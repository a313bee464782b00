//! `ToggleCollisionMonitor`: switches the collision monitor on or off. A node of Nav2's main branch.

use crate::bt::{Context, Input, NodeStatus, Ports, Thrown, Tick};
use crate::msg::service as services;
use crate::nav::service_leaf::{ResponseOf, ServiceNode};

/// Switches the collision monitor.
#[derive(Debug)]
pub struct ToggleCollisionMonitor {
    enable: Input<bool>,
}

impl ServiceNode for ToggleCollisionMonitor {
    type Service = services::Toggle;
    const ID: &'static str = "ToggleCollisionMonitor";
    const DOC: &'static str = "Switches the collision monitor on or off. Any answer is a success.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            enable: ports.input("enable").default("true").doc("On or off.").bind(),
        }
    }

    fn request(&self, cx: &mut Context<'_>) -> Result<Result<services::ToggleRequest, NodeStatus>, Thrown> {
        Ok(Ok(services::ToggleRequest {
            enable: self.enable.require(cx)?,
        }))
    }

    fn answered(&self, _cx: &mut Context<'_>, _response: &ResponseOf<Self>) -> Tick {
        Ok(NodeStatus::Success)
    }
}
