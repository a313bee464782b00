//! `nav2_msgs/srv/ManageLifecycleNodes`: commands for the lifecycle manager.

use crate::msg::declare::service;

service! {
    nav2_msgs/srv/ManageLifecycleNodes

    /// The request.
    request ManageLifecycleNodesRequest {
        /// One of the constants.
        command: u8,
    }

    /// The response.
    response ManageLifecycleNodesResponse {
        /// Whether the request succeeded.
        success: bool,
    }
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
