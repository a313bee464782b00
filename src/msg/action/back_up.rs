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
    /// It went well.
    NONE = 0,
    /// What no other code says.
    UNKNOWN = 710,
    /// The time allowance ran out.
    TIMEOUT = 711,
    /// A transform was missing or too old.
    TF_ERROR = 712,
    /// The target has a `y` or `z`.
    INVALID_INPUT = 713,
    /// Something is in the way.
    COLLISION_AHEAD = 714,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BackUpGoal {
    /// Metres to drive in `x`; servers take its absolute value backwards.
    pub target: Point,
    /// Metres per second.
    pub speed: f32,
    /// Abort when it takes longer.
    #[serde(with = "crate::msg::duration")]
    pub time_allowance: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BackUpResult {
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
pub struct BackUpFeedback {
    /// Metres driven so far.
    pub distance_traveled: f32,
}
