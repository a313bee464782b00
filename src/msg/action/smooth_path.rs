//! `nav2_msgs/action/SmoothPath`: smooth a path.

use std::sync::Arc;
use std::time::Duration;

use crate::msg::Path;
use crate::msg::declare::action;

action! {
    nav2_msgs/action/SmoothPath

    codes {
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
    }

    /// The goal.
    goal SmoothPathGoal {
        /// The path to smooth.
        path: Arc<Path>,
        /// The smoother plugin; empty if there is only one.
        smoother_id: String,
        /// Maximum smoothing time.
        #[serde(with = "crate::msg::duration")]
        max_smoothing_duration: Duration,
        /// Whether to reject a smoothed path in collision.
        check_for_collisions: bool,
    }

    /// The result.
    result SmoothPathResult {
        /// The smoothed path.
        path: Arc<Path>,
        /// Duration of smoothing.
        #[serde(with = "crate::msg::duration")]
        smoothing_duration: Duration,
        /// Whether the smoother finished before its time limit.
        was_completed: bool,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The empty feedback.
    feedback SmoothPathFeedback {}
}
