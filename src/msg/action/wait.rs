//! `nav2_msgs/action/Wait`: stand still. Jazzy defines no error codes for it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct Wait;

impl Action for Wait {
    type Goal = WaitGoal;
    type Result = WaitResult;
    type Feedback = WaitFeedback;
    const TYPE: &'static str = "nav2_msgs/action/Wait";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { Wait {
    /// No error.
    NONE = 0,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitGoal {
    /// Duration of the wait.
    #[serde(with = "crate::msg::duration")]
    pub time: Duration,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitResult {
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
pub struct WaitFeedback {
    /// Remaining time.
    #[serde(with = "crate::msg::duration")]
    pub time_left: Duration,
}
