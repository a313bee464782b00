//! `nav2_msgs/action/NavigateToPose`: drive to a pose. An action of the navigator, and of a leaf that calls another
//! navigator.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::PoseStamped;

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct NavigateToPose;

impl Action for NavigateToPose {
    type Goal = NavigateToPoseGoal;
    type Result = NavigateToPoseResult;
    type Feedback = NavigateToPoseFeedback;
    const TYPE: &'static str = "nav2_msgs/action/NavigateToPose";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { NavigateToPose {
    /// No error.
    NONE = 0,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NavigateToPoseGoal {
    /// The goal pose.
    pub pose: PoseStamped,
    /// A tree file for this goal; empty for the default tree.
    pub behavior_tree: String,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NavigateToPoseResult {
    /// 0, or an error code of the action.
    pub error_code: u16,
    /// The error message; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// The feedback.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NavigateToPoseFeedback {
    /// The pose of the robot.
    pub current_pose: PoseStamped,
    /// Time since the goal was accepted.
    #[serde(with = "crate::msg::duration")]
    pub navigation_time: Duration,
    /// Time to the goal at the current speed; zero if unknown.
    #[serde(with = "crate::msg::duration")]
    pub estimated_time_remaining: Duration,
    /// Number of recoveries so far.
    pub number_of_recoveries: i16,
    /// Remaining path length, metres.
    pub distance_remaining: f32,
}
