//! `nav2_msgs/action/ComputePathToPose`: plan a path to a pose.

use std::sync::Arc;
use std::time::Duration;

use crate::msg::declare::action;
use crate::msg::{Path, PoseStamped};

action! {
    nav2_msgs/action/ComputePathToPose

    codes {
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
    }

    /// The goal.
    goal ComputePathToPoseGoal {
        /// The goal pose.
        goal: PoseStamped,
        /// The start pose, if `use_start`.
        start: PoseStamped,
        /// The planner plugin; empty if there is only one.
        planner_id: Arc<str>,
        /// Whether the path starts at `start` and not at the robot.
        use_start: bool,
    }

    /// The result.
    result ComputePathToPoseResult {
        /// The path, in the frame of the goal.
        path: Arc<Path>,
        /// Duration of planning.
        #[serde(with = "crate::msg::duration")]
        planning_time: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The empty feedback.
    feedback ComputePathToPoseFeedback {}
}
