//! `nav2_msgs/action/SmoothPath`: smooth a path.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::Path;

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct SmoothPath;

impl Action for SmoothPath {
    type Goal = SmoothPathGoal;
    type Result = SmoothPathResult;
    type Feedback = SmoothPathFeedback;
    const TYPE: &'static str = "nav2_msgs/action/SmoothPath";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg);
}

error_codes! { SmoothPath {
    /// It went well.
    NONE = 0,
    /// What no other code says.
    UNKNOWN = 500,
    /// No smoother of that name is loaded.
    INVALID_SMOOTHER = 501,
    /// The smoother was too slow.
    TIMEOUT = 502,
    /// The smoothed path hits something.
    SMOOTHED_PATH_IN_COLLISION = 503,
    /// The smoother gave up.
    FAILED_TO_SMOOTH_PATH = 504,
    /// The path is empty or unusable.
    INVALID_PATH = 505,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SmoothPathGoal {
    /// The path to smooth.
    pub path: Arc<Path>,
    /// The smoother plugin; empty when there is only one.
    pub smoother_id: String,
    /// Time the smoother may take.
    #[serde(with = "crate::msg::duration")]
    pub max_smoothing_duration: Duration,
    /// Refuse a smoothed path that hits something.
    pub check_for_collisions: bool,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SmoothPathResult {
    /// The smoothed path.
    pub path: Arc<Path>,
    /// Time the smoother took.
    #[serde(with = "crate::msg::duration")]
    pub smoothing_duration: Duration,
    /// It ended by itself, not by the time limit.
    pub was_completed: bool,
    /// 0 or one of the action's error codes.
    pub error_code: u16,
    /// The reason in words; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// Nothing: the interface's feedback is empty.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SmoothPathFeedback {}
