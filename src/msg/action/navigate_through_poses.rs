//! `nav2_msgs/action/NavigateThroughPoses`: drive through several poses to the last one.

use std::time::Duration;

use crate::msg::PoseStamped;
use crate::msg::declare::action;

action! {
    nav2_msgs/action/NavigateThroughPoses

    codes {
        /// No error.
        NONE = 0,
    }

    /// The goal.
    goal NavigateThroughPosesGoal {
        /// The goal poses, in driving order.
        poses: Vec<PoseStamped>,
        /// A tree file for this goal; empty for the default tree.
        behavior_tree: String,
    }

    /// The result.
    result NavigateThroughPosesResult {
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback NavigateThroughPosesFeedback {
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
        /// Number of poses not passed yet.
        number_of_poses_remaining: i16,
    }
}
