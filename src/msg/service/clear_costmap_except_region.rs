//! `nav2_msgs/srv/ClearCostmapExceptRegion`: clear a costmap outside a square around the robot.

use serde::{Deserialize, Serialize};

use super::Service;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct ClearCostmapExceptRegion;

impl Service for ClearCostmapExceptRegion {
    type Request = ClearCostmapExceptRegionRequest;
    type Response = ClearCostmapExceptRegionResponse;
    const TYPE: &'static str = "nav2_msgs/srv/ClearCostmapExceptRegion";
}

/// The request.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClearCostmapExceptRegionRequest {
    /// Side of the square that is kept, metres.
    pub reset_distance: f32,
}

/// The empty response.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClearCostmapExceptRegionResponse {}
