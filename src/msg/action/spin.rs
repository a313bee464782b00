//! `nav2_msgs/action/Spin`: rotate in place.

use std::time::Duration;

use crate::msg::declare::action;

action! {
    nav2_msgs/action/Spin

    codes {
        /// No error.
        NONE = 0,
        /// An error without its own code.
        UNKNOWN = 700,
        /// The time allowance ran out.
        TIMEOUT = 701,
        /// A transform was missing or too old.
        TF_ERROR = 702,
        /// An obstacle is in the way.
        COLLISION_AHEAD = 703,
    }

    /// The goal.
    goal SpinGoal {
        /// Angle in radians, positive to the left. May exceed one turn.
        target_yaw: f32,
        /// Maximum time; the server aborts the goal afterwards.
        #[serde(with = "crate::msg::duration")]
        time_allowance: Duration,
    }

    /// The result.
    result SpinResult {
        /// Time from acceptance to the end.
        #[serde(with = "crate::msg::duration")]
        total_elapsed_time: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback SpinFeedback {
        /// Angle turned so far, radians.
        angular_distance_traveled: f32,
    }
}
