//! `nav2_msgs/srv/ManageLifecycleNodes`: commands for the lifecycle manager.

use serde::{Deserialize, Serialize};

use super::Service;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct ManageLifecycleNodes;

impl Service for ManageLifecycleNodes {
    type Request = ManageLifecycleNodesRequest;
    type Response = ManageLifecycleNodesResponse;
    const TYPE: &'static str = "nav2_msgs/srv/ManageLifecycleNodes";
}

impl ManageLifecycleNodes {
    /// Configure and activate all nodes.
    pub const STARTUP: u8 = 0;
    /// Deactivate all nodes.
    pub const PAUSE: u8 = 1;
    /// Activate all nodes.
    pub const RESUME: u8 = 2;
    /// Deactivate and clean up all nodes.
    pub const RESET: u8 = 3;
    /// Shut all nodes down.
    pub const SHUTDOWN: u8 = 4;
    /// Configure all nodes.
    pub const CONFIGURE: u8 = 5;
    /// Clean up all nodes.
    pub const CLEANUP: u8 = 6;
}

/// The request.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ManageLifecycleNodesRequest {
    /// One of the constants.
    pub command: u8,
}

/// The response.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ManageLifecycleNodesResponse {
    /// Whether the request succeeded.
    pub success: bool,
}
