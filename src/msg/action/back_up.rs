//! `nav2_msgs/action/BackUp`: drive straight backwards.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::Point;

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct BackUp;

impl Action for BackUp {
    type Goal = BackUpGoal;
    type Result = BackUpResult;
    type Feedback = BackUpFeedback;
    const TYPE: &'static str = "nav2_msgs/action/BackUp";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { BackUp {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 710,
    /// The time allowance ran out.
    TIMEOUT = 711,
    /// A transform was missing or too old.
    TF_ERROR = 712,
    /// `y` or `z` of the target is set.
    INVALID_INPUT = 713,
    /// An obstacle is in the way.
    COLLISION_AHEAD = 714,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BackUpGoal {
    /// Distance in `x`, metres. Servers drive its absolute value backwards.
    pub target: Point,
    /// Speed, metres per second.
    pub speed: f32,
    /// Maximum time; the server aborts the goal afterwards.
    #[serde(with = "crate::msg::duration")]
    pub time_allowance: Duration,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BackUpResult {
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
pub struct BackUpFeedback {
    /// Metres driven so far.
    pub distance_traveled: f32,
}
