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
    /// No error.
    NONE = 0,
    /// An error without its own code.
    UNKNOWN = 500,
    /// No smoother of that name is loaded.
    INVALID_SMOOTHER = 501,
    /// The smoother was too slow.
    TIMEOUT = 502,
    /// The smoothed path is in collision.
    SMOOTHED_PATH_IN_COLLISION = 503,
    /// The smoother failed.
    FAILED_TO_SMOOTH_PATH = 504,
    /// The path is empty or unusable.
    INVALID_PATH = 505,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SmoothPathGoal {
    /// The path to smooth.
    pub path: Arc<Path>,
    /// The smoother plugin; empty if there is only one.
    pub smoother_id: String,
    /// Maximum smoothing time.
    #[serde(with = "crate::msg::duration")]
    pub max_smoothing_duration: Duration,
    /// Whether to reject a smoothed path in collision.
    pub check_for_collisions: bool,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SmoothPathResult {
    /// The smoothed path.
    pub path: Arc<Path>,
    /// Duration of smoothing.
    #[serde(with = "crate::msg::duration")]
    pub smoothing_duration: Duration,
    /// Whether the smoother finished before its time limit.
    pub was_completed: bool,
    /// 0, or an error code of the action.
    pub error_code: u16,
    /// The error message; Jazzy servers often leave it empty.
    pub error_msg: String,
}

/// The empty feedback.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SmoothPathFeedback {}
