//! `ToggleCollisionMonitor`: switches the collision monitor on or off. A node of Nav2's main branch.

use crate::bt::{Context, Input, NodeStatus, Ports, Thrown};
use crate::msg::service as services;
use crate::nav::service_node::ServiceNode;

/// Switches the collision monitor on or off.
#[derive(Debug)]
pub struct ToggleCollisionMonitor {
    enable: Input<bool>,
}

impl ServiceNode for ToggleCollisionMonitor {
    type Service = services::Toggle;
    const ID: &'static str = "ToggleCollisionMonitor";
    const DOC: &'static str = "Switches the collision monitor on or off. Any response is a success.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            enable: ports
                .input("enable")
                .default("true")
                .doc("Whether the collision monitor is on.")
                .bind(),
        }
    }

    fn request(&self, cx: &mut Context<'_>) -> Result<Result<services::ToggleRequest, NodeStatus>, Thrown> {
        Ok(Ok(services::ToggleRequest {
            enable: self.enable.require(cx)?,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::services::{Toggle, ToggleResponse};
    use crate::bt::NodeStatus::Success;
    use crate::nav::testing::Bench;

    #[test]
    fn test_toggle_collision_monitor_any_answer_is_a_success() {
        for (xml, enable) in [("", true), ("enable=\"false\"", false)] {
            let mut bench = Bench::new(&format!(
                "<ToggleCollisionMonitor service_name=\"toggle\" {xml}/>"
            ));
            bench.service::<Toggle>("toggle", |_| Some(ToggleResponse::default()));
            assert_eq!(bench.run(3), Success);
            assert_eq!(bench.requests::<Toggle>("toggle")[0].enable, enable);
        }
    }
}
