//! `nav2_msgs/srv/GetCosts`: the costs of poses. Exists in Nav2's main branch and not in Jazzy: opening it on Jazzy
//! fails with an error message about this.

use crate::msg::PoseStamped;
use crate::msg::declare::service;

service! {
    nav2_msgs/srv/GetCosts

    /// The request.
    request GetCostsRequest {
        /// Whether to return the cost of the robot's footprint at the pose, and not of its centre.
        use_footprint: bool,
        /// The poses.
        poses: Vec<PoseStamped>,
    }

    /// The response.
    response GetCostsResponse {
        /// One cost per pose; 255 is unknown.
        costs: Vec<f32>,
        /// Whether the costs could be determined.
        success: bool,
    }
}
