//! `nav2_msgs/action/FollowPath`: drive along a path. The empty message in the interface's result is omitted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::Path;

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct FollowPath;

impl Action for FollowPath {
    type Goal = FollowPathGoal;
    type Result = FollowPathResult;
    type Feedback = FollowPathFeedback;
    const TYPE: &'static str = "nav2_msgs/action/FollowPath";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { FollowPath {
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 100,
    /// No controller of that name is loaded.
    INVALID_CONTROLLER = 101,
    /// A transform was missing or too old.
    TF_ERROR = 102,
    /// The path is empty or unusable.
    INVALID_PATH = 103,
    /// The controller failed for longer than its patience.
    PATIENCE_EXCEEDED = 104,
    /// The robot makes no progress.
    FAILED_TO_MAKE_PROGRESS = 105,
    /// The controller found no valid command.
    NO_VALID_CONTROL = 106,
    /// The controller was too slow.
    CONTROLLER_TIMED_OUT = 107,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowPathGoal {
    /// The path.
    pub path: Arc<Path>,
    /// The controller plugin; empty if there is only one.
    pub controller_id: Arc<str>,
    /// The goal checker plugin; empty if there is only one.
    pub goal_checker_id: Arc<str>,
    /// The progress checker plugin; empty if there is only one.
    pub progress_checker_id: Arc<str>,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowPathResult {
    /// 0, or an error code of the action.
    pub error_code: u16,
    /// The error message; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// The feedback.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowPathFeedback {
    /// Remaining distance, metres.
    pub distance_to_goal: f32,
    /// Speed, metres per second.
    pub speed: f32,
}
