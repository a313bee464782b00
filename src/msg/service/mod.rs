//! Services: one file each, with a marker type, the request and the response.

mod clear_costmap_around_pose;
mod clear_costmap_around_robot;
mod clear_costmap_except_region;
mod clear_entire_costmap;
mod empty;
mod get_costs;
mod is_path_valid;
mod manage_lifecycle_nodes;
mod toggle;
mod trigger;

use super::Message;

pub use clear_costmap_around_pose::{
    ClearCostmapAroundPose, ClearCostmapAroundPoseRequest, ClearCostmapAroundPoseResponse,
};
pub use clear_costmap_around_robot::{
    ClearCostmapAroundRobot, ClearCostmapAroundRobotRequest, ClearCostmapAroundRobotResponse,
};
pub use clear_costmap_except_region::{
    ClearCostmapExceptRegion, ClearCostmapExceptRegionRequest, ClearCostmapExceptRegionResponse,
};
pub use clear_entire_costmap::{ClearEntireCostmap, ClearEntireCostmapRequest, ClearEntireCostmapResponse};
pub use empty::{Empty, EmptyRequest, EmptyResponse};
pub use get_costs::{GetCosts, GetCostsRequest, GetCostsResponse};
pub use is_path_valid::{IsPathValid, IsPathValidRequest, IsPathValidResponse};
pub use manage_lifecycle_nodes::{
    ManageLifecycleNodes, ManageLifecycleNodesRequest, ManageLifecycleNodesResponse,
};
pub use toggle::{Toggle, ToggleRequest, ToggleResponse};
pub use trigger::{Trigger, TriggerRequest, TriggerResponse};

/// A service type. Its messages are plain structs; the `ros` room converts them.
pub trait Service: 'static {
    /// The request type.
    type Request: Message;
    /// The response type.
    type Response: Message;
    /// The ROS type, as `ros2 service list -t` prints it: `nav2_msgs/srv/IsPathValid`.
    const TYPE: &'static str;
}
