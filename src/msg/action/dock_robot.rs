//! `nav2_msgs/action/DockRobot`: drive to a dock and connect.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};
use crate::msg::PoseStamped;

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct DockRobot;

impl Action for DockRobot {
    type Goal = DockRobotGoal;
    type Result = DockRobotResult;
    type Feedback = DockRobotFeedback;
    const TYPE: &'static str = "nav2_msgs/action/DockRobot";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg; success);
}

error_codes! { DockRobot {
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
} }

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

/// The goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DockRobotGoal {
    /// Whether to use `dock_id` and the dock database, and not `dock_pose`.
    pub use_dock_id: bool,
    /// The name of the dock in the database.
    pub dock_id: String,
    /// The pose of the dock, unless `use_dock_id`.
    pub dock_pose: PoseStamped,
    /// The dock plugin, unless `use_dock_id`.
    pub dock_type: String,
    /// Maximum time of the drive to the staging pose, seconds.
    pub max_staging_time: f32,
    /// Whether to drive to the staging pose first.
    pub navigate_to_staging_pose: bool,
}

impl Default for DockRobotGoal {
    /// The defaults of the interface.
    fn default() -> Self {
        Self {
            use_dock_id: true,
            dock_id: String::new(),
            dock_pose: PoseStamped::default(),
            dock_type: String::new(),
            max_staging_time: 1000.0,
            navigate_to_staging_pose: true,
        }
    }
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DockRobotResult {
    /// Whether the robot is docked.
    pub success: bool,
    /// 0, or an error code of the action.
    pub error_code: u16,
    /// Attempts after the first.
    pub num_retries: u16,
    /// The error message; Jazzy servers often leave it empty.
    pub error_msg: String,
}

impl Default for DockRobotResult {
    /// The defaults of the interface.
    fn default() -> Self {
        Self {
            success: true,
            error_code: 0,
            num_retries: 0,
            error_msg: String::new(),
        }
    }
}

/// The feedback.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DockRobotFeedback {
    /// One of the `STATE_` constants.
    pub state: u16,
    /// Time since acceptance.
    #[serde(with = "crate::msg::duration")]
    pub docking_time: Duration,
    /// Attempts after the first.
    pub num_retries: u16,
}
