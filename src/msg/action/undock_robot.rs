//! `nav2_msgs/action/UndockRobot`: leave a dock.

use crate::msg::declare::action;

action! {
    nav2_msgs/action/UndockRobot

    codes {
        /// No error.
        NONE = 0,
        /// The dock's type is unknown.
        DOCK_NOT_VALID = 902,
        /// The drive failed.
        FAILED_TO_CONTROL = 905,
        /// An error without its own code.
        UNKNOWN = 999,
    }

    /// The goal.
    goal UndockRobotGoal {
        /// The dock plugin; empty for the plugin used for docking.
        dock_type: String,
        /// Maximum time, seconds.
        max_undocking_time: f32 = 30.0,
    }

    /// The result.
    result UndockRobotResult {
        /// Whether the robot has left the dock.
        success: bool = true,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The empty feedback.
    feedback UndockRobotFeedback {}
}
