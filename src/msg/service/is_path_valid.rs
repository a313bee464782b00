//! `nav2_msgs/srv/IsPathValid`: check whether a path is still free.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Service;
use crate::msg::Path;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct IsPathValid;

impl Service for IsPathValid {
    type Request = IsPathValidRequest;
    type Response = IsPathValidResponse;
    const TYPE: &'static str = "nav2_msgs/srv/IsPathValid";
}

/// The request.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IsPathValidRequest {
    /// The path.
    pub path: Arc<Path>,
}

/// The response.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IsPathValidResponse {
    /// Whether the path is free.
    pub is_valid: bool,
    /// The indices of the poses that are not free.
    pub invalid_pose_indices: Vec<i32>,
}
