//! `nav2_msgs/srv/ClearCostmapAroundPose`: clear a costmap inside a square around a pose.

use serde::{Deserialize, Serialize};

use super::Service;
use crate::msg::PoseStamped;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct ClearCostmapAroundPose;

impl Service for ClearCostmapAroundPose {
    type Request = ClearCostmapAroundPoseRequest;
    type Response = ClearCostmapAroundPoseResponse;
    const TYPE: &'static str = "nav2_msgs/srv/ClearCostmapAroundPose";
}

/// The request.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClearCostmapAroundPoseRequest {
    /// The centre of the square.
    pub pose: PoseStamped,
    /// Side of the square that is cleared, metres.
    pub reset_distance: f64,
}

/// The empty response.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClearCostmapAroundPoseResponse {}
