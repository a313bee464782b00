//! Actions: one file each, with a marker type and its error codes, the goal, the result and the feedback.

mod assisted_teleop;
mod back_up;
mod compute_and_track_route;
mod compute_path_through_poses;
mod compute_path_to_pose;
mod compute_route;
mod dock_robot;
mod drive_on_heading;
mod follow_object;
mod follow_path;
mod navigate_through_poses;
mod navigate_to_pose;
mod smooth_path;
mod spin;
mod undock_robot;
mod wait;

use super::Message;

pub use assisted_teleop::{AssistedTeleop, AssistedTeleopFeedback, AssistedTeleopGoal, AssistedTeleopResult};
pub use back_up::{BackUp, BackUpFeedback, BackUpGoal, BackUpResult};
pub use compute_and_track_route::{
    ComputeAndTrackRoute, ComputeAndTrackRouteFeedback, ComputeAndTrackRouteGoal, ComputeAndTrackRouteResult,
};
pub use compute_path_through_poses::{
    ComputePathThroughPoses, ComputePathThroughPosesFeedback, ComputePathThroughPosesGoal,
    ComputePathThroughPosesResult,
};
pub use compute_path_to_pose::{
    ComputePathToPose, ComputePathToPoseFeedback, ComputePathToPoseGoal, ComputePathToPoseResult,
};
pub use compute_route::{ComputeRoute, ComputeRouteFeedback, ComputeRouteGoal, ComputeRouteResult};
pub use dock_robot::{DockRobot, DockRobotFeedback, DockRobotGoal, DockRobotResult};
pub use drive_on_heading::{
    DriveOnHeading, DriveOnHeadingFeedback, DriveOnHeadingGoal, DriveOnHeadingResult,
};
pub use follow_object::{FollowObject, FollowObjectFeedback, FollowObjectGoal, FollowObjectResult};
pub use follow_path::{FollowPath, FollowPathFeedback, FollowPathGoal, FollowPathResult};
pub use navigate_through_poses::{
    NavigateThroughPoses, NavigateThroughPosesFeedback, NavigateThroughPosesGoal, NavigateThroughPosesResult,
};
pub use navigate_to_pose::{
    NavigateToPose, NavigateToPoseFeedback, NavigateToPoseGoal, NavigateToPoseResult,
};
pub use smooth_path::{SmoothPath, SmoothPathFeedback, SmoothPathGoal, SmoothPathResult};
pub use spin::{Spin, SpinFeedback, SpinGoal, SpinResult};
pub use undock_robot::{UndockRobot, UndockRobotFeedback, UndockRobotGoal, UndockRobotResult};
pub use wait::{Wait, WaitFeedback, WaitGoal, WaitResult};

/// The goal was not accepted. Nav2's main branch has this code for every action; Jazzy has none.
pub const GOAL_REJECTED: u16 = 1;
/// The goal could not be sent or got no answer. Nav2's main branch has this code for every action.
pub const SEND_GOAL_FAILURE: u16 = 2;

/// An action type. Its messages are plain structs; the `ros` room converts them.
pub trait Action: 'static {
    /// The goal type.
    type Goal: Message;
    /// The result type.
    type Result: Message;
    /// The feedback type.
    type Feedback: Message;
    /// The ROS type, as `ros2 action list -t` prints it: `nav2_msgs/action/FollowPath`.
    const TYPE: &'static str;
    /// The error codes of the result with their names in the interface, `NONE` first.
    const ERROR_CODES: &'static [(u16, &'static str)];

    /// The error code of `result`; 0 means no error.
    fn error_code(result: &Self::Result) -> u16;
    /// The error message of `result`; empty if the interface has none.
    fn error_message(result: &Self::Result) -> &str;
    /// A result with only an error. The message is dropped if the interface has no field for it.
    fn failure(code: u16, message: &str) -> Self::Result;

    /// The name of an error code: `PATIENCE_EXCEEDED`.
    fn code_name(code: u16) -> Option<&'static str> {
        match code {
            GOAL_REJECTED => Some("GOAL_REJECTED"),
            SEND_GOAL_FAILURE => Some("SEND_GOAL_FAILURE"),
            _ => Self::ERROR_CODES
                .iter()
                .find(|(known, _)| *known == code)
                .map(|(_, name)| *name),
        }
    }
}

/// Defines associated constants for the error codes of an action, and the list of them.
macro_rules! error_codes {
    ($action:ident { $($(#[$doc:meta])* $name:ident = $code:literal,)* }) => {
        impl $action {
            $($(#[$doc])* pub const $name: u16 = $code;)*
            const CODES: &'static [(u16, &'static str)] = &[$(($code, stringify!($name))),*];
        }
    };
}
use error_codes;

/// Defines the error functions of [`Action`] from the field names of the result.
macro_rules! error_in_result {
    ($code:ident) => {
        fn error_code(result: &Self::Result) -> u16 {
            result.$code
        }
        fn error_message(_result: &Self::Result) -> &str {
            ""
        }
        #[allow(clippy::needless_update, reason = "some results have no further fields")]
        fn failure(code: u16, _message: &str) -> Self::Result {
            Self::Result {
                $code: code,
                ..<Self::Result as Default>::default()
            }
        }
    };
    ($code:ident, $message:ident $(; $success:ident)?) => {
        fn error_code(result: &Self::Result) -> u16 {
            result.$code
        }
        fn error_message(result: &Self::Result) -> &str {
            &result.$message
        }
        #[allow(clippy::needless_update, reason = "some results have no further fields")]
        fn failure(code: u16, message: &str) -> Self::Result {
            Self::Result {
                $code: code,
                $message: message.to_owned(),
                $($success: false,)?
                ..<Self::Result as Default>::default()
            }
        }
    };
}
use error_in_result;

#[cfg(test)]
mod tests {
    use super::{
        Action, ComputeRoute, DockRobot, DockRobotGoal, DockRobotResult, FollowPath, FollowPathGoal, Spin,
        SpinGoal, UndockRobotGoal, Wait,
    };
    use std::time::Duration;

    #[test]
    fn codes_have_names() {
        assert_eq!(FollowPath::PATIENCE_EXCEEDED, 104);
        assert_eq!(FollowPath::code_name(104), Some("PATIENCE_EXCEEDED"));
        assert_eq!(FollowPath::code_name(0), Some("NONE"));
        assert_eq!(FollowPath::code_name(2), Some("SEND_GOAL_FAILURE"));
        assert_eq!(Wait::code_name(740), None);
    }

    #[test]
    fn failures_carry_code_and_message() {
        let result = Spin::failure(Spin::TIMEOUT, "too slow");
        assert_eq!(
            (Spin::error_code(&result), Spin::error_message(&result)),
            (701, "too slow")
        );
        let result = ComputeRoute::failure(ComputeRoute::TIMEOUT, "dropped");
        assert_eq!(
            (
                ComputeRoute::error_code(&result),
                ComputeRoute::error_message(&result)
            ),
            (404, "")
        );
        assert!(!DockRobot::failure(DockRobot::UNKNOWN, "").success);
    }

    #[test]
    fn defaults_are_those_of_the_interface() {
        let goal = DockRobotGoal::default();
        assert!(goal.use_dock_id && goal.navigate_to_staging_pose && goal.max_staging_time == 1000.0);
        assert!(DockRobotResult::default().success);
        assert_eq!(UndockRobotGoal::default().max_undocking_time, 30.0);
    }

    #[test]
    fn json_round_trips_with_interface_names() {
        let goal = SpinGoal {
            target_yaw: 1.5,
            time_allowance: Duration::from_millis(10_500),
        };
        let text = serde_json::to_string(&goal).unwrap();
        assert_eq!(
            text,
            r#"{"target_yaw":1.5,"time_allowance":{"sec":10,"nanosec":500000000}}"#
        );
        assert_eq!(serde_json::from_str::<SpinGoal>(&text).unwrap(), goal);
        let text = serde_json::to_string(&FollowPathGoal::default()).unwrap();
        assert_eq!(
            serde_json::from_str::<FollowPathGoal>(&text).unwrap(),
            FollowPathGoal::default()
        );
    }
}
