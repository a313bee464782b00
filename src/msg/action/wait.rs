//! `nav2_msgs/action/Wait`: stand still. Jazzy defines no error codes for it.

use std::time::Duration;

use crate::msg::declare::action;

action! {
    nav2_msgs/action/Wait

    codes {
        /// No error.
        NONE = 0,
    }

    /// The goal.
    goal WaitGoal {
        /// Duration of the wait.
        #[serde(with = "crate::msg::duration")]
        time: Duration,
    }

    /// The result.
    result WaitResult {
        /// Time from acceptance to the end.
        #[serde(with = "crate::msg::duration")]
        total_elapsed_time: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback WaitFeedback {
        /// Remaining time.
        #[serde(with = "crate::msg::duration")]
        time_left: Duration,
    }
}
