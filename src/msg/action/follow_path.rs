//! `nav2_msgs/action/FollowPath`: drive along a path. The result of the interface also holds an empty message, left out here.

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
    /// It went well.
    NONE = 0,
    /// What no other code says.
    UNKNOWN = 100,
    /// No controller of that name is loaded.
    INVALID_CONTROLLER = 101,
    /// A transform was missing or too old.
    TF_ERROR = 102,
    /// The path is empty or unusable.
    INVALID_PATH = 103,
    /// The controller failed for longer than its patience.
    PATIENCE_EXCEEDED = 104,
    /// The robot does not get on.
    FAILED_TO_MAKE_PROGRESS = 105,
    /// The controller found no command.
    NO_VALID_CONTROL = 106,
    /// The controller was too slow.
    CONTROLLER_TIMED_OUT = 107,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowPathGoal {
    /// The path.
    pub path: Arc<Path>,
    /// The controller plugin; empty when there is only one.
    pub controller_id: Arc<str>,
    /// The goal checker plugin; empty when there is only one.
    pub goal_checker_id: Arc<str>,
    /// The progress checker plugin; empty when there is only one.
    pub progress_checker_id: Arc<str>,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowPathResult {
    /// 0 or one of the action's error codes.
    pub error_code: u16,
    /// The reason in words; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// How it is going.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowPathFeedback {
    /// Metres left.
    pub distance_to_goal: f32,
    /// Metres per second.
    pub speed: f32,
}
