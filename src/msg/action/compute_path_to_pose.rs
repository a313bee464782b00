//! `nav2_msgs/action/ComputePathToPose`: plan a path to a pose.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::{Path, PoseStamped};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct ComputePathToPose;

impl Action for ComputePathToPose {
    type Goal = ComputePathToPoseGoal;
    type Result = ComputePathToPoseResult;
    type Feedback = ComputePathToPoseFeedback;
    const TYPE: &'static str = "nav2_msgs/action/ComputePathToPose";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { ComputePathToPose {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 200,
    /// No planner of that name is loaded.
    INVALID_PLANNER = 201,
    /// A transform was missing or too old.
    TF_ERROR = 202,
    /// The start is not on the map.
    START_OUTSIDE_MAP = 203,
    /// The goal is not on the map.
    GOAL_OUTSIDE_MAP = 204,
    /// The start is in an obstacle.
    START_OCCUPIED = 205,
    /// The goal is in an obstacle.
    GOAL_OCCUPIED = 206,
    /// The planner was too slow.
    TIMEOUT = 207,
    /// No path exists.
    NO_VALID_PATH = 208,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputePathToPoseGoal {
    /// The goal pose.
    pub goal: PoseStamped,
    /// The start pose, if `use_start`.
    pub start: PoseStamped,
    /// The planner plugin; empty if there is only one.
    pub planner_id: Arc<str>,
    /// Whether the path starts at `start` and not at the robot.
    pub use_start: bool,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputePathToPoseResult {
    /// The path, in the frame of the goal.
    pub path: Arc<Path>,
    /// Duration of planning.
    #[serde(with = "crate::msg::duration")]
    pub planning_time: Duration,
    /// 0, or an error code of the action.
    pub error_code: u16,
    /// The error message; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// The empty feedback.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComputePathToPoseFeedback {}
