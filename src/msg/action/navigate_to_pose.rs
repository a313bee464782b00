//! `nav2_msgs/action/NavigateToPose`: drive to a pose. An action of the navigator, and of a leaf that calls another
//! navigator.

use std::time::Duration;

use crate::msg::PoseStamped;
use crate::msg::declare::action;

action! {
    nav2_msgs/action/NavigateToPose

    codes {
        /// No error.
        NONE = 0,
    }

    /// The goal.
    goal NavigateToPoseGoal {
        /// The goal pose.
        pose: PoseStamped,
        /// A tree file for this goal; empty for the default tree.
        behavior_tree: String,
    }

    /// The result.
    result NavigateToPoseResult {
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback NavigateToPoseFeedback {
        /// The pose of the robot.
        current_pose: PoseStamped,
        /// Time since the goal was accepted.
        #[serde(with = "crate::msg::duration")]
        navigation_time: Duration,
        /// Time to the goal at the current speed; zero if unknown.
        #[serde(with = "crate::msg::duration")]
        estimated_time_remaining: Duration,
        /// Number of recoveries so far.
        number_of_recoveries: i16,
        /// Remaining path length, metres.
        distance_remaining: f32,
    }
}
