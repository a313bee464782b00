//! `nav2_msgs/srv/ClearCostmapAroundRobot`: clear a costmap inside a square around the robot.

use crate::msg::declare::service;

service! {
    nav2_msgs/srv/ClearCostmapAroundRobot

    /// The request.
    request ClearCostmapAroundRobotRequest {
        /// Side of the square that is cleared, metres.
        reset_distance: f32,
    }

    /// The empty response.
    response ClearCostmapAroundRobotResponse {} omits {
        response: std_msgs::msg::Empty {},
    }
}
