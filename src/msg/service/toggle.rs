//! `nav2_msgs/srv/Toggle`: switch something on or off.

use serde::{Deserialize, Serialize};

use super::Service;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct Toggle;

impl Service for Toggle {
    type Request = ToggleRequest;
    type Response = ToggleResponse;
    const TYPE: &'static str = "nav2_msgs/srv/Toggle";
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToggleRequest {
    /// On or off.
    pub enable: bool,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToggleResponse {
    /// It was done.
    pub success: bool,
    /// Why not.
    pub message: String,
}
