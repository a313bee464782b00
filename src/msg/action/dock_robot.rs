//! `nav2_msgs/action/DockRobot`: drive to a dock and connect.

use std::time::Duration;

use crate::msg::PoseStamped;
use crate::msg::declare::action;

action! {
    nav2_msgs/action/DockRobot

    codes {
        /// No error.
        NONE = 0,
        /// The dock database has no dock with that name.
        DOCK_NOT_IN_DB = 901,
        /// The dock's type is unknown.
        DOCK_NOT_VALID = 902,
        /// The staging pose was not reached.
        FAILED_TO_STAGE = 903,
        /// The dock was not detected.
        FAILED_TO_DETECT_DOCK = 904,
        /// The drive into the dock failed.
        FAILED_TO_CONTROL = 905,
        /// The robot is docked but not charging.
        FAILED_TO_CHARGE = 906,
        /// An error without its own code.
        UNKNOWN = 999,
    }

    /// The goal.
    goal DockRobotGoal {
        /// Whether to use `dock_id` and the dock database, and not `dock_pose`.
        use_dock_id: bool = true,
        /// The name of the dock in the database.
        dock_id: String,
        /// The pose of the dock, unless `use_dock_id`.
        dock_pose: PoseStamped,
        /// The dock plugin, unless `use_dock_id`.
        dock_type: String,
        /// Maximum time of the drive to the staging pose, seconds.
        max_staging_time: f32 = 1000.0,
        /// Whether to drive to the staging pose first.
        navigate_to_staging_pose: bool = true,
    }

    /// The result.
    result DockRobotResult {
        /// Whether the robot is docked.
        success: bool = true,
        /// 0, or an error code of the action.
        error_code: u16,
        /// Attempts after the first.
        num_retries: u16,
        /// The error message; Jazzy servers often leave it empty.
        error_msg: String,
    }

    /// The feedback.
    feedback DockRobotFeedback {
        /// One of the `STATE_` constants.
        state: u16,
        /// Time since acceptance.
        #[serde(with = "crate::msg::duration")]
        docking_time: Duration,
        /// Attempts after the first.
        num_retries: u16,
    }
}

impl DockRobot {
    /// Feedback state: not started.
    pub const STATE_NONE: u16 = 0;
    /// Feedback state: driving to the staging pose.
    pub const STATE_NAV_TO_STAGING_POSE: u16 = 1;
    /// Feedback state: looking for the dock.
    pub const STATE_INITIAL_PERCEPTION: u16 = 2;
    /// Feedback state: driving into the dock.
    pub const STATE_CONTROLLING: u16 = 3;
    /// Feedback state: waiting for charge.
    pub const STATE_WAIT_FOR_CHARGE: u16 = 4;
    /// Feedback state: backing off for another attempt.
    pub const STATE_RETRY: u16 = 5;
}
