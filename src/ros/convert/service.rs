//! The requests and responses of services.

use r2r::{nav2_msgs::srv as nav2, std_msgs::msg::Empty as Nothing, std_srvs::srv as std_srvs};

use super::{ServiceType, convert};
use crate::msg::service::{
    ClearCostmapAroundPose, ClearCostmapAroundPoseRequest, ClearCostmapAroundPoseResponse,
    ClearCostmapAroundRobot, ClearCostmapAroundRobotRequest, ClearCostmapAroundRobotResponse,
    ClearCostmapExceptRegion, ClearCostmapExceptRegionRequest, ClearCostmapExceptRegionResponse,
    ClearEntireCostmap, ClearEntireCostmapRequest, ClearEntireCostmapResponse, Empty, EmptyRequest,
    EmptyResponse, IsPathValid, IsPathValidRequest, IsPathValidResponse, ManageLifecycleNodes,
    ManageLifecycleNodesRequest, ManageLifecycleNodesResponse, Toggle, ToggleRequest, ToggleResponse,
    Trigger, TriggerRequest, TriggerResponse,
};

macro_rules! services {
    ($($ours:ident = $wire:ty,)*) => {
        $(impl ServiceType for $ours {
            type Wire = $wire;
        })*
    };
}

services! {
    ClearCostmapAroundPose = nav2::ClearCostmapAroundPose::Service,
    ClearCostmapAroundRobot = nav2::ClearCostmapAroundRobot::Service,
    ClearCostmapExceptRegion = nav2::ClearCostmapExceptRegion::Service,
    ClearEntireCostmap = nav2::ClearEntireCostmap::Service,
    Empty = std_srvs::Empty::Service,
    IsPathValid = nav2::IsPathValid::Service,
    ManageLifecycleNodes = nav2::ManageLifecycleNodes::Service,
    Toggle = nav2::Toggle::Service,
    Trigger = std_srvs::Trigger::Service,
}

convert!(ClearCostmapAroundPoseRequest = nav2::ClearCostmapAroundPose::Request { pose, reset_distance });
convert!(ClearCostmapAroundPoseResponse = nav2::ClearCostmapAroundPose::Response {} plus { response: Nothing {} });
convert!(ClearCostmapAroundRobotRequest = nav2::ClearCostmapAroundRobot::Request { reset_distance });
convert!(ClearCostmapAroundRobotResponse = nav2::ClearCostmapAroundRobot::Response {} plus { response: Nothing {} });
convert!(ClearCostmapExceptRegionRequest = nav2::ClearCostmapExceptRegion::Request { reset_distance });
convert!(ClearCostmapExceptRegionResponse = nav2::ClearCostmapExceptRegion::Response {} plus { response: Nothing {} });
convert!(ClearEntireCostmapRequest = nav2::ClearEntireCostmap::Request {} plus { request: Nothing {} });
convert!(ClearEntireCostmapResponse = nav2::ClearEntireCostmap::Response {} plus { response: Nothing {} });
convert!(EmptyRequest = std_srvs::Empty::Request {});
convert!(EmptyResponse = std_srvs::Empty::Response {});
convert!(IsPathValidRequest = nav2::IsPathValid::Request { path });
convert!(
    IsPathValidResponse = nav2::IsPathValid::Response {
        is_valid,
        invalid_pose_indices
    }
);
convert!(ManageLifecycleNodesRequest = nav2::ManageLifecycleNodes::Request { command });
convert!(ManageLifecycleNodesResponse = nav2::ManageLifecycleNodes::Response { success });
convert!(ToggleRequest = nav2::Toggle::Request { enable });
convert!(ToggleResponse = nav2::Toggle::Response { success, message });
convert!(TriggerRequest = std_srvs::Trigger::Request {});
convert!(TriggerResponse = std_srvs::Trigger::Response { success, message });
