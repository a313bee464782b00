//! `nav2_msgs/srv/ClearCostmapAroundPose`: clear a costmap inside a square around a pose.

use crate::msg::PoseStamped;
use crate::msg::declare::service;

service! {
    nav2_msgs/srv/ClearCostmapAroundPose

    /// The request.
    request ClearCostmapAroundPoseRequest {
        /// The centre of the square.
        pose: PoseStamped,
        /// Side of the square that is cleared, metres.
        reset_distance: f64,
    }

    /// The empty response.
    response ClearCostmapAroundPoseResponse {} omits {
        response: std_msgs::msg::Empty {},
    }
}
