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
    /// It went well.
    NONE = 0,
    /// What no other code says.
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
    /// There is no way.
    NO_VALID_PATH = 308,
    /// The list of goals was empty.
    NO_VIAPOINTS_GIVEN = 309,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputePathThroughPosesGoal {
    /// Where to, in order.
    pub goals: Vec<PoseStamped>,
    /// Where from, if `use_start`.
    pub start: PoseStamped,
    /// The planner plugin; empty when there is only one.
    pub planner_id: Arc<str>,
    /// Plan from `start` instead of from the robot.
    pub use_start: bool,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComputePathThroughPosesResult {
    /// The path, in the frame of the goal.
    pub path: Arc<Path>,
    /// Time the planner took.
    #[serde(with = "crate::msg::duration")]
    pub planning_time: Duration,
    /// 0 or one of the action's error codes.
    pub error_code: u16,
    /// The reason in words; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// Nothing: the interface's feedback is empty.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComputePathThroughPosesFeedback {}
