//! Actions: one file each, which declares the action with `action!` (`src/msg/declare.rs`).

pub(crate) mod assisted_teleop;
pub(crate) mod back_up;
pub(crate) mod compute_and_track_route;
pub(crate) mod compute_path_through_poses;
pub(crate) mod compute_path_to_pose;
pub(crate) mod compute_route;
pub(crate) mod dock_robot;
pub(crate) mod drive_on_heading;
pub(crate) mod follow_object;
pub(crate) mod follow_path;
pub(crate) mod navigate_through_poses;
pub(crate) mod navigate_to_pose;
pub(crate) mod smooth_path;
pub(crate) mod spin;
pub(crate) mod undock_robot;
pub(crate) mod wait;

use super::Message;

/// Every action: its file and its name.
macro_rules! actions {
    ($callback:ident) => {
        $callback! {
            assisted_teleop: AssistedTeleop,
            back_up: BackUp,
            compute_and_track_route: ComputeAndTrackRoute,
            compute_path_through_poses: ComputePathThroughPoses,
            compute_path_to_pose: ComputePathToPose,
            compute_route: ComputeRoute,
            dock_robot: DockRobot,
            drive_on_heading: DriveOnHeading,
            follow_object: FollowObject,
            follow_path: FollowPath,
            navigate_through_poses: NavigateThroughPoses,
            navigate_to_pose: NavigateToPose,
            smooth_path: SmoothPath,
            spin: Spin,
            undock_robot: UndockRobot,
            wait: Wait,
        }
    };
}
pub(crate) use actions;

macro_rules! exports {
    ($($file:ident: $action:ident,)*) => { $(pub use $file::*;)* };
}
actions!(exports);

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
