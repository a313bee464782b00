//! `nav2_msgs/action/AssistedTeleop`: let a person drive, with collisions prevented.

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
    /// It went well.
    NONE = 0,
    /// What no other code says.
    UNKNOWN = 730,
    /// The time allowance ran out.
    TIMEOUT = 731,
    /// A transform was missing or too old.
    TF_ERROR = 732,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AssistedTeleopGoal {
    /// Abort when it takes longer.
    #[serde(with = "crate::msg::duration")]
    pub time_allowance: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AssistedTeleopResult {
    /// Time from acceptance to the end.
    #[serde(with = "crate::msg::duration")]
    pub total_elapsed_time: Duration,
    /// 0 or one of the action's error codes.
    pub error_code: u16,
    /// The reason in words; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// How it is going.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AssistedTeleopFeedback {
    /// Time driven so far.
    #[serde(with = "crate::msg::duration")]
    pub current_teleop_duration: Duration,
}
