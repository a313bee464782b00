//! `std_srvs/srv/Trigger`: trigger an operation.

use serde::{Deserialize, Serialize};

use super::Service;

/// The service type.
#[derive(Clone, Copy, Debug)]
pub struct Trigger;

impl Service for Trigger {
    type Request = TriggerRequest;
    type Response = TriggerResponse;
    const TYPE: &'static str = "std_srvs/srv/Trigger";
}

/// The empty request.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TriggerRequest {}

/// The response.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TriggerResponse {
    /// Whether the request succeeded.
    pub success: bool,
    /// The reason of a failure, or a remark.
    pub message: String,
}
