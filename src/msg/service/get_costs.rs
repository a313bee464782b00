//! `nav2_msgs/srv/GetCosts`: the costs of poses. Nav2's main branch has it, Jazzy does not: opening it there fails
//! with a sentence that says so.

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

/// What is asked.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GetCostsRequest {
    /// The cost of the robot's footprint at the pose, else that of its centre.
    pub use_footprint: bool,
    /// Where.
    pub poses: Vec<PoseStamped>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GetCostsResponse {
    /// One cost a pose; 255 is unknown.
    pub costs: Vec<f32>,
    /// Whether they could be told.
    pub success: bool,
}
