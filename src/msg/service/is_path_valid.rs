//! `nav2_msgs/srv/IsPathValid`: check whether a path is still free.

use std::sync::Arc;

use crate::msg::Path;
use crate::msg::declare::service;

service! {
    nav2_msgs/srv/IsPathValid

    /// The request.
    request IsPathValidRequest {
        /// The path.
        path: Arc<Path>,
    }

    /// The response.
    response IsPathValidResponse {
        /// Whether the path is free.
        is_valid: bool,
        /// The indices of the poses that are not free.
        invalid_pose_indices: Vec<i32>,
    }
}
