//! `nav2_msgs/action/Spin`: turn on the spot.

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
    /// It went well.
    NONE = 0,
    /// What no other code says.
    UNKNOWN = 700,
    /// The time allowance ran out.
    TIMEOUT = 701,
    /// A transform was missing or too old.
    TF_ERROR = 702,
    /// Something is in the way.
    COLLISION_AHEAD = 703,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpinGoal {
    /// Radians to turn, positive to the left, also beyond one turn.
    pub target_yaw: f32,
    /// Abort when it takes longer.
    #[serde(with = "crate::msg::duration")]
    pub time_allowance: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpinResult {
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
pub struct SpinFeedback {
    /// Radians turned so far.
    pub angular_distance_traveled: f32,
}
