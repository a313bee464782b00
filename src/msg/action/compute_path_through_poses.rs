//! `nav2_msgs/action/ComputePathThroughPoses`: plan a path through poses.

use std::sync::Arc;
use std::time::Duration;

use crate::msg::declare::action;
use crate::msg::{Path, PoseStamped};

action! {
    nav2_msgs/action/ComputePathThroughPoses

    codes {
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
    }

    /// The goal.
    goal ComputePathThroughPosesGoal {
        /// The goal poses, in driving order.
        goals: Vec<PoseStamped>,
        /// The start pose, if `use_start`.
        start: PoseStamped,
        /// The planner plugin; empty if there is only one.
        planner_id: Arc<str>,
        /// Whether the path starts at `start` and not at the robot.
        use_start: bool,
    }

    /// The result.
    result ComputePathThroughPosesResult {
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
    feedback ComputePathThroughPosesFeedback {}
}
