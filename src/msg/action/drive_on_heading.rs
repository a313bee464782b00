//! `nav2_msgs/action/DriveOnHeading`: drive straight ahead.

use std::time::Duration;

use crate::msg::Point;
use crate::msg::declare::action;

action! {
    nav2_msgs/action/DriveOnHeading

    codes {
        /// No error.
        NONE = 0,
        /// An error without its own code.
        UNKNOWN = 720,
        /// The time allowance ran out.
        TIMEOUT = 721,
        /// A transform was missing or too old.
        TF_ERROR = 722,
        /// An obstacle is in the way.
        COLLISION_AHEAD = 723,
        /// `y` or `z` of the target is set, or the signs of speed and distance differ.
        INVALID_INPUT = 724,
    }

    /// The goal.
    goal DriveOnHeadingGoal {
        /// Distance in `x`, metres. Its sign must be that of the speed.
        target: Point,
        /// Speed, metres per second.
        speed: f32,
        /// Maximum time; the server aborts the goal afterwards.
        #[serde(with = "crate::msg::duration")]
        time_allowance: Duration,
    }

    /// The result.
    result DriveOnHeadingResult {
        /// Time from acceptance to the end.
        #[serde(with = "crate::msg::duration")]
        total_elapsed_time: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback DriveOnHeadingFeedback {
        /// Metres driven so far.
        distance_traveled: f32,
    }
}
