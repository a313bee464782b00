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

/// The request.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToggleRequest {
    /// True for on.
    pub enable: bool,
}

/// The response.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToggleResponse {
    /// Whether the request succeeded.
    pub success: bool,
    /// The reason of a failure.
    pub message: String,
}
