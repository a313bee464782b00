//! `nav2_msgs/srv/ClearCostmapAroundRobot`: clear a costmap inside a square around the robot.

use serde::{Deserialize, Serialize};

use super::Service;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct ClearCostmapAroundRobot;

impl Service for ClearCostmapAroundRobot {
    type Request = ClearCostmapAroundRobotRequest;
    type Response = ClearCostmapAroundRobotResponse;
    const TYPE: &'static str = "nav2_msgs/srv/ClearCostmapAroundRobot";
}

/// The request.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClearCostmapAroundRobotRequest {
    /// Side of the square that is cleared, metres.
    pub reset_distance: f32,
}

/// The empty response.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClearCostmapAroundRobotResponse {}
