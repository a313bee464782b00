//! `nav2_msgs/action/UndockRobot`: leave a dock.

use serde::{Deserialize, Serialize};

use super::{Action, error_codes, error_in_result};

/// The action type.
#[derive(Clone, Copy, Debug)]
pub struct UndockRobot;

impl Action for UndockRobot {
    type Goal = UndockRobotGoal;
    type Result = UndockRobotResult;
    type Feedback = UndockRobotFeedback;
    const TYPE: &'static str = "nav2_msgs/action/UndockRobot";
    const ERROR_CODES: &'static [(u16, &'static str)] = Self::CODES;
    error_in_result!(error_code, error_msg; success);
}

error_codes! { UndockRobot {
    /// No error.
    NONE = 0,
    /// The dock's type is unknown.
    DOCK_NOT_VALID = 902,
    /// The drive failed.
    FAILED_TO_CONTROL = 905,
    /// An error without its own code.
    UNKNOWN = 999,
} }

/// The goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UndockRobotGoal {
    /// The dock plugin; empty for the plugin used for docking.
    pub dock_type: String,
    /// Maximum time, seconds.
    pub max_undocking_time: f32,
}

impl Default for UndockRobotGoal {
    /// The defaults of the interface.
    fn default() -> Self {
        Self {
            dock_type: String::new(),
            max_undocking_time: 30.0,
        }
    }
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UndockRobotResult {
    /// Whether the robot has left the dock.
    pub success: bool,
    /// 0, or an error code of the action.
    pub error_code: u16,
    /// The error message; Jazzy servers often leave it empty.
    pub error_msg: String,
}

impl Default for UndockRobotResult {
    /// The defaults of the interface.
    fn default() -> Self {
        Self {
            success: true,
            error_code: 0,
            error_msg: String::new(),
        }
    }
}

/// The empty feedback.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UndockRobotFeedback {}
