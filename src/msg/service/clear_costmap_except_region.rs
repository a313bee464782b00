//! `nav2_msgs/srv/ClearCostmapExceptRegion`: clear a costmap outside a square around the robot.

use crate::msg::declare::service;

service! {
    nav2_msgs/srv/ClearCostmapExceptRegion

    /// The request.
    request ClearCostmapExceptRegionRequest {
        /// Side of the square that is kept, metres.
        reset_distance: f32,
    }

    /// The empty response.
    response ClearCostmapExceptRegionResponse {} omits {
        response: std_msgs::msg::Empty {},
    }
}
