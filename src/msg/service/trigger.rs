//! `std_srvs/srv/Trigger`: do it.

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

/// Nothing: the interface's request is empty.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TriggerRequest {}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TriggerResponse {
    /// It was done.
    pub success: bool,
    /// Why not, or a remark.
    pub message: String,
}
