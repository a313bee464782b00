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
    /// It went well.
    NONE = 0,
    /// The dock's type is unknown.
    DOCK_NOT_VALID = 902,
    /// The drive failed.
    FAILED_TO_CONTROL = 905,
    /// What no other code says.
    UNKNOWN = 999,
} }

/// What to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UndockRobotGoal {
    /// The dock plugin; empty for the one docked with.
    pub dock_type: String,
    /// Seconds it may take.
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

/// How it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UndockRobotResult {
    /// The robot has left the dock.
    pub success: bool,
    /// 0 or one of the action's error codes.
    pub error_code: u16,
    /// The reason in words; Jazzy servers often leave it empty.
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

/// Nothing: the interface's feedback is empty.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UndockRobotFeedback {}
