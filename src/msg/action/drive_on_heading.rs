//! `nav2_msgs/action/DriveOnHeading`: drive straight ahead.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::Point;

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct DriveOnHeading;

impl Action for DriveOnHeading {
    type Goal = DriveOnHeadingGoal;
    type Result = DriveOnHeadingResult;
    type Feedback = DriveOnHeadingFeedback;
    const TYPE: &'static str = "nav2_msgs/action/DriveOnHeading";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { DriveOnHeading {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 720,
    /// The time allowance ran out.
    TIMEOUT = 721,
    /// A transform was missing or too old.
    TF_ERROR = 722,
    /// An obstacle is in the way.
    COLLISION_AHEAD = 723,
    /// `y` or `z` of the target is set, or the signs of speed and distance differ.
    INVALID_INPUT = 724,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DriveOnHeadingGoal {
    /// Distance in `x`, metres. Its sign must be that of the speed.
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
pub struct DriveOnHeadingResult {
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
pub struct DriveOnHeadingFeedback {
    /// Metres driven so far.
    pub distance_traveled: f32,
}
