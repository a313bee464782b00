//! `nav2_msgs/action/AssistedTeleop`: manual driving with collision avoidance.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct AssistedTeleop;

impl Action for AssistedTeleop {
    type Goal = AssistedTeleopGoal;
    type Result = AssistedTeleopResult;
    type Feedback = AssistedTeleopFeedback;
    const TYPE: &'static str = "nav2_msgs/action/AssistedTeleop";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { AssistedTeleop {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 730,
    /// The time allowance ran out.
    TIMEOUT = 731,
    /// A transform was missing or too old.
    TF_ERROR = 732,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AssistedTeleopGoal {
    /// Maximum time; the server aborts the goal afterwards.
    #[serde(with = "crate::msg::duration")]
    pub time_allowance: Duration,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AssistedTeleopResult {
    /// Time from acceptance to the end.
    #[serde(with = "crate::msg::duration")]
    pub total_elapsed_time: Duration,
    /// 0, or an error code of the action.
    pub error_code: u16,
    /// The error message; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// The feedback.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AssistedTeleopFeedback {
    /// Driving time so far.
    #[serde(with = "crate::msg::duration")]
    pub current_teleop_duration: Duration,
}
