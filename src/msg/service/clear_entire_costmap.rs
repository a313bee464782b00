//! `nav2_msgs/srv/ClearEntireCostmap`: clear a costmap. Its empty members are left out.

use crate::msg::declare::service;

service! {
    nav2_msgs/srv/ClearEntireCostmap

    /// The empty request.
    request ClearEntireCostmapRequest {} omits {
        request: std_msgs::msg::Empty {},
    }

    /// The empty response.
    response ClearEntireCostmapResponse {} omits {
        response: std_msgs::msg::Empty {},
    }
}
