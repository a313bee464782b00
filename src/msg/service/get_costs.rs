//! `nav2_msgs/srv/GetCosts`: the costs of poses. Exists in Nav2's main branch and not in Jazzy: opening it on Jazzy
//! fails with an error message about this.

use serde::{Deserialize, Serialize};

use super::Service;
use crate::msg::PoseStamped;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct GetCosts;

impl Service for GetCosts {
    type Request = GetCostsRequest;
    type Response = GetCostsResponse;
    const TYPE: &'static str = "nav2_msgs/srv/GetCosts";
}

/// The request.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GetCostsRequest {
    /// Whether to return the cost of the robot's footprint at the pose, and not of its centre.
    pub use_footprint: bool,
    /// The poses.
    pub poses: Vec<PoseStamped>,
}

/// The response.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GetCostsResponse {
    /// One cost per pose; 255 is unknown.
    pub costs: Vec<f32>,
    /// Whether the costs could be determined.
    pub success: bool,
}
