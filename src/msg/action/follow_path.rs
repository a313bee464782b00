//! `nav2_msgs/action/FollowPath`: drive along a path. The empty message in the interface's result is omitted.

use std::sync::Arc;

use crate::msg::Path;
use crate::msg::declare::action;

action! {
    nav2_msgs/action/FollowPath

    codes {
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
    }

    /// The goal.
    goal FollowPathGoal {
        /// The path.
        path: Arc<Path>,
        /// The controller plugin; empty if there is only one.
        controller_id: Arc<str>,
        /// The goal checker plugin; empty if there is only one.
        goal_checker_id: Arc<str>,
        /// The progress checker plugin; empty if there is only one.
        progress_checker_id: Arc<str>,
    }

    /// The result.
    result FollowPathResult {
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    } omits {
        result: std_msgs::msg::Empty {},
    }

    /// The feedback.
    feedback FollowPathFeedback {
        /// Remaining distance, metres.
        distance_to_goal: f32,
        /// Speed, metres per second.
        speed: f32,
    }
}
