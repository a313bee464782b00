//! `nav2_msgs/action/DriveOnHeading`: drive straight on.

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
    /// It went well.
    NONE = 0,
    /// What no other code says.
    UNKNOWN = 720,
    /// The time allowance ran out.
    TIMEOUT = 721,
    /// A transform was missing or too old.
    TF_ERROR = 722,
    /// Something is in the way.
    COLLISION_AHEAD = 723,
    /// The target has a `y` or `z`, or speed and distance differ in sign.
    INVALID_INPUT = 724,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DriveOnHeadingGoal {
    /// Metres to drive in `x`; its sign must be that of the speed.
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
pub struct DriveOnHeadingResult {
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
pub struct DriveOnHeadingFeedback {
    /// Metres driven so far.
    pub distance_traveled: f32,
}
