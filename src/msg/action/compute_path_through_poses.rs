//! `nav2_msgs/action/ComputePathThroughPoses`: plan a path through poses.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::{Path, PoseStamped};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct ComputePathThroughPoses;

impl Action for ComputePathThroughPoses {
    type Goal = ComputePathThroughPosesGoal;
    type Result = ComputePathThroughPosesResult;
    type Feedback = ComputePathThroughPosesFeedback;
    const TYPE: &'static str = "nav2_msgs/action/ComputePathThroughPoses";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { ComputePathThroughPoses {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 300,
    /// No planner of that name is loaded.
    INVALID_PLANNER = 301,
    /// A transform was missing or too old.
    TF_ERROR = 302,
    /// The start is not on the map.
    START_OUTSIDE_MAP = 303,
    /// The goal is not on the map.
    GOAL_OUTSIDE_MAP = 304,
    /// The start is in an obstacle.
    START_OCCUPIED = 305,
    /// The goal is in an obstacle.
    GOAL_OCCUPIED = 306,
    /// The planner was too slow.
    TIMEOUT = 307,
    /// No path exists.
    NO_VALID_PATH = 308,
    /// The list of goals was empty.
    NO_VIAPOINTS_GIVEN = 309,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputePathThroughPosesGoal {
    /// The goal poses, in driving order.
    pub goals: Vec<PoseStamped>,
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
pub struct ComputePathThroughPosesResult {
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
pub struct ComputePathThroughPosesFeedback {}
