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
    /// It went well.
    NONE = 0,
    /// No dock of that name is known.
    DOCK_NOT_IN_DB = 901,
    /// The dock's type is unknown.
    DOCK_NOT_VALID = 902,
    /// The staging pose was not reached.
    FAILED_TO_STAGE = 903,
    /// The dock was not seen.
    FAILED_TO_DETECT_DOCK = 904,
    /// The drive into the dock failed.
    FAILED_TO_CONTROL = 905,
    /// Docked, but no charge arrives.
    FAILED_TO_CHARGE = 906,
    /// What no other code says.
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
    /// Feedback state: backing off to try again.
    pub const STATE_RETRY: u16 = 5;
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DockRobotGoal {
    /// Use `dock_id` and the dock database instead of `dock_pose`.
    pub use_dock_id: bool,
    /// The dock in the database.
    pub dock_id: String,
    /// Where the dock is, unless `use_dock_id`.
    pub dock_pose: PoseStamped,
    /// The dock plugin, unless `use_dock_id`.
    pub dock_type: String,
    /// Seconds the drive to the staging pose may take.
    pub max_staging_time: f32,
    /// Drive to the staging pose first.
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

/// How it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DockRobotResult {
    /// The robot is docked.
    pub success: bool,
    /// 0 or one of the action's error codes.
    pub error_code: u16,
    /// Tries after the first.
    pub num_retries: u16,
    /// The reason in words; Jazzy servers often leave it empty.
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

/// How it is going.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DockRobotFeedback {
    /// One of the `STATE_` constants.
    pub state: u16,
    /// Time since acceptance.
    #[serde(with = "crate::msg::duration")]
    pub docking_time: Duration,
    /// Tries after the first.
    pub num_retries: u16,
}
