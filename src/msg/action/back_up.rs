//! `nav2_msgs/action/BackUp`: drive straight backwards.

use std::time::Duration;

use crate::msg::Point;
use crate::msg::declare::action;

action! {
    nav2_msgs/action/BackUp

    codes {
        /// No error.
        NONE = 0,
        /// An error without its own code.
        UNKNOWN = 710,
        /// The time allowance ran out.
        TIMEOUT = 711,
        /// A transform was missing or too old.
        TF_ERROR = 712,
        /// `y` or `z` of the target is set.
        INVALID_INPUT = 713,
        /// An obstacle is in the way.
        COLLISION_AHEAD = 714,
    }

    /// The goal.
    goal BackUpGoal {
        /// Distance in `x`, metres. Servers drive its absolute value backwards.
        target: Point,
        /// Speed, metres per second.
        speed: f32,
        /// Maximum time; the server aborts the goal afterwards.
        #[serde(with = "crate::msg::duration")]
        time_allowance: Duration,
    }

    /// The result.
    result BackUpResult {
        /// Time from acceptance to the end.
        #[serde(with = "crate::msg::duration")]
        total_elapsed_time: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback BackUpFeedback {
        /// Metres driven so far.
        distance_traveled: f32,
    }
}
