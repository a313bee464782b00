//! Services: one file each, which declares the service with `service!` (`src/msg/declare.rs`).

pub(crate) mod clear_costmap_around_pose;
pub(crate) mod clear_costmap_around_robot;
pub(crate) mod clear_costmap_except_region;
pub(crate) mod clear_entire_costmap;
pub(crate) mod empty;
pub(crate) mod get_costs;
pub(crate) mod is_path_valid;
pub(crate) mod manage_lifecycle_nodes;
pub(crate) mod toggle;
pub(crate) mod trigger;

use super::Message;

/// Every service: its file and its name.
macro_rules! services {
    ($callback:ident) => {
        $callback! {
            clear_costmap_around_pose: ClearCostmapAroundPose,
            clear_costmap_around_robot: ClearCostmapAroundRobot,
            clear_costmap_except_region: ClearCostmapExceptRegion,
            clear_entire_costmap: ClearEntireCostmap,
            empty: Empty,
            is_path_valid: IsPathValid,
            manage_lifecycle_nodes: ManageLifecycleNodes,
            toggle: Toggle,
            trigger: Trigger,
        }
    };
}
pub(crate) use services;

macro_rules! exports {
    ($($file:ident: $service:ident,)*) => { $(pub use $file::*;)* };
}
services!(exports);
// Not in Jazzy: room `ros` has no conversion.
pub use get_costs::*;

/// A service type. Its messages are plain structs; the `ros` room converts them.
pub trait Service: 'static {
    /// The request type.
    type Request: Message;
    /// The response type.
    type Response: Message;
    /// The ROS type, as `ros2 service list -t` prints it: `nav2_msgs/srv/IsPathValid`.
    const TYPE: &'static str;
}
