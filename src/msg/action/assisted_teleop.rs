//! `nav2_msgs/action/AssistedTeleop`: manual driving with collision avoidance.

use std::time::Duration;

use crate::msg::declare::action;

action! {
    nav2_msgs/action/AssistedTeleop

    codes {
        /// No error.
        NONE = 0,
        /// An error without its own code.
        UNKNOWN = 730,
        /// The time allowance ran out.
        TIMEOUT = 731,
        /// A transform was missing or too old.
        TF_ERROR = 732,
    }

    /// The goal.
    goal AssistedTeleopGoal {
        /// Maximum time; the server aborts the goal afterwards.
        #[serde(with = "crate::msg::duration")]
        time_allowance: Duration,
    }

    /// The result.
    result AssistedTeleopResult {
        /// Time from acceptance to the end.
        #[serde(with = "crate::msg::duration")]
        total_elapsed_time: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback AssistedTeleopFeedback {
        /// Driving time so far.
        #[serde(with = "crate::msg::duration")]
        current_teleop_duration: Duration,
    }
}
