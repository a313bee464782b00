//! `nav2_msgs/action/FollowObject`: follow a moving object. Jazzy has the interface but no tree node.

use std::time::Duration;

use crate::msg::declare::action;

action! {
    nav2_msgs/action/FollowObject

    codes {
        /// No error.
        NONE = 0,
        /// A transform was missing or too old.
        TF_ERROR = 901,
        /// The object was not detected.
        FAILED_TO_DETECT_OBJECT = 902,
        /// The drive failed.
        FAILED_TO_CONTROL = 903,
        /// The time limit was reached.
        TIMEOUT = 904,
        /// An error without its own code.
        UNKNOWN = 999,
    }

    /// The goal.
    goal FollowObjectGoal {
        /// Topic with the object's pose; empty to follow a frame.
        pose_topic: String,
        /// Frame of the object, if the topic is empty.
        tracked_frame: String,
        /// Maximum duration; zero: no limit.
        #[serde(with = "crate::msg::duration")]
        max_duration: Duration,
    }

    /// The result.
    result FollowObjectResult {
        /// Time from acceptance to the end.
        #[serde(with = "crate::msg::duration")]
        total_elapsed_time: Duration,
        /// 0, or an error code of the action.
        error_code: u16,
        /// Attempts after the first.
        num_retries: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback FollowObjectFeedback {
        /// One of the `STATE_` constants.
        state: u16,
        /// Time since acceptance.
        #[serde(with = "crate::msg::duration")]
        following_time: Duration,
        /// Attempts after the first.
        num_retries: u16,
    }
}

impl FollowObject {
    /// Feedback state: not started.
    pub const STATE_NONE: u16 = 0;
    /// Feedback state: looking for the object.
    pub const STATE_INITIAL_PERCEPTION: u16 = 1;
    /// Feedback state: following.
    pub const STATE_CONTROLLING: u16 = 2;
    /// Feedback state: stopping.
    pub const STATE_STOPPING: u16 = 3;
    /// Feedback state: another attempt.
    pub const STATE_RETRY: u16 = 4;
}
