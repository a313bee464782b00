//! `nav2_msgs/action/NavigateThroughPoses`: drive through poses to the last of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::PoseStamped;

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct NavigateThroughPoses;

impl Action for NavigateThroughPoses {
    type Goal = NavigateThroughPosesGoal;
    type Result = NavigateThroughPosesResult;
    type Feedback = NavigateThroughPosesFeedback;
    const TYPE: &'static str = "nav2_msgs/action/NavigateThroughPoses";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { NavigateThroughPoses {
    /// It went well.
    NONE = 0,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NavigateThroughPosesGoal {
    /// Where to, in order.
    pub poses: Vec<PoseStamped>,
    /// A tree file for this goal; empty for the default tree.
    pub behavior_tree: String,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NavigateThroughPosesResult {
    /// 0 or one of the action's error codes.
    pub error_code: u16,
    /// The reason in words; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// How it is going.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NavigateThroughPosesFeedback {
    /// Where the robot is.
    pub current_pose: PoseStamped,
    /// Time since the goal was accepted.
    #[serde(with = "crate::msg::duration")]
    pub navigation_time: Duration,
    /// Time to the goal at the present speed; zero when unknown.
    #[serde(with = "crate::msg::duration")]
    pub estimated_time_remaining: Duration,
    /// Recoveries so far.
    pub number_of_recoveries: i16,
    /// Metres left along the path.
    pub distance_remaining: f32,
    /// Poses not yet passed.
    pub number_of_poses_remaining: i16,
}
