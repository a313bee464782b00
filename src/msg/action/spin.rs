//! `nav2_msgs/action/Spin`: rotate in place.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct Spin;

impl Action for Spin {
    type Goal = SpinGoal;
    type Result = SpinResult;
    type Feedback = SpinFeedback;
    const TYPE: &'static str = "nav2_msgs/action/Spin";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { Spin {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 700,
    /// The time allowance ran out.
    TIMEOUT = 701,
    /// A transform was missing or too old.
    TF_ERROR = 702,
    /// An obstacle is in the way.
    COLLISION_AHEAD = 703,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpinGoal {
    /// Angle in radians, positive to the left. May exceed one turn.
    pub target_yaw: f32,
    /// Maximum time; the server aborts the goal afterwards.
    #[serde(with = "crate::msg::duration")]
    pub time_allowance: Duration,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpinResult {
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
pub struct SpinFeedback {
    /// Angle turned so far, radians.
    pub angular_distance_traveled: f32,
}
