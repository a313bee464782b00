//! The goals, results and feedbacks of actions.

use r2r::nav2_msgs::action as wire;
use r2r::std_msgs;

use super::{ActionType, convert};
use crate::msg::action::{
    AssistedTeleop, AssistedTeleopFeedback, AssistedTeleopGoal, AssistedTeleopResult, BackUp, BackUpFeedback,
    BackUpGoal, BackUpResult, ComputeAndTrackRoute, ComputeAndTrackRouteFeedback, ComputeAndTrackRouteGoal,
    ComputeAndTrackRouteResult, ComputePathThroughPoses, ComputePathThroughPosesFeedback,
    ComputePathThroughPosesGoal, ComputePathThroughPosesResult, ComputePathToPose, ComputePathToPoseFeedback,
    ComputePathToPoseGoal, ComputePathToPoseResult, ComputeRoute, ComputeRouteFeedback, ComputeRouteGoal,
    ComputeRouteResult, DockRobot, DockRobotFeedback, DockRobotGoal, DockRobotResult, DriveOnHeading,
    DriveOnHeadingFeedback, DriveOnHeadingGoal, DriveOnHeadingResult, FollowObject, FollowObjectFeedback,
    FollowObjectGoal, FollowObjectResult, FollowPath, FollowPathFeedback, FollowPathGoal, FollowPathResult,
    NavigateThroughPoses, NavigateThroughPosesFeedback, NavigateThroughPosesGoal, NavigateThroughPosesResult,
    NavigateToPose, NavigateToPoseFeedback, NavigateToPoseGoal, NavigateToPoseResult, SmoothPath,
    SmoothPathFeedback, SmoothPathGoal, SmoothPathResult, Spin, SpinFeedback, SpinGoal, SpinResult,
    UndockRobot, UndockRobotFeedback, UndockRobotGoal, UndockRobotResult, Wait, WaitFeedback, WaitGoal,
    WaitResult,
};

impl ActionType for AssistedTeleop {
    type Wire = wire::AssistedTeleop::Action;
}
convert!(AssistedTeleopGoal = wire::AssistedTeleop::Goal { time_allowance });
convert!(
    AssistedTeleopResult = wire::AssistedTeleop::Result {
        total_elapsed_time,
        error_code,
        error_msg
    }
);
convert!(
    AssistedTeleopFeedback = wire::AssistedTeleop::Feedback {
        current_teleop_duration
    }
);

impl ActionType for BackUp {
    type Wire = wire::BackUp::Action;
}
convert!(
    BackUpGoal = wire::BackUp::Goal {
        target,
        speed,
        time_allowance
    }
);
convert!(
    BackUpResult = wire::BackUp::Result {
        total_elapsed_time,
        error_code,
        error_msg
    }
);
convert!(BackUpFeedback = wire::BackUp::Feedback { distance_traveled });

impl ActionType for ComputeAndTrackRoute {
    type Wire = wire::ComputeAndTrackRoute::Action;
}
convert!(
    ComputeAndTrackRouteGoal = wire::ComputeAndTrackRoute::Goal {
        start_id,
        start,
        goal_id,
        goal,
        use_start,
        use_poses
    }
);
convert!(
    ComputeAndTrackRouteResult = wire::ComputeAndTrackRoute::Result {
        execution_duration,
        error_code
    }
);
convert!(
    ComputeAndTrackRouteFeedback = wire::ComputeAndTrackRoute::Feedback {
        last_node_id,
        next_node_id,
        current_edge_id,
        route,
        path,
        operations_triggered,
        rerouted
    }
);

impl ActionType for ComputePathThroughPoses {
    type Wire = wire::ComputePathThroughPoses::Action;
}
convert!(
    ComputePathThroughPosesGoal = wire::ComputePathThroughPoses::Goal {
        goals,
        start,
        planner_id,
        use_start
    }
);
convert!(
    ComputePathThroughPosesResult = wire::ComputePathThroughPoses::Result {
        path,
        planning_time,
        error_code,
        error_msg
    }
);
convert!(ComputePathThroughPosesFeedback = wire::ComputePathThroughPoses::Feedback {});

impl ActionType for ComputePathToPose {
    type Wire = wire::ComputePathToPose::Action;
}
convert!(
    ComputePathToPoseGoal = wire::ComputePathToPose::Goal {
        goal,
        start,
        planner_id,
        use_start
    }
);
convert!(
    ComputePathToPoseResult = wire::ComputePathToPose::Result {
        path,
        planning_time,
        error_code,
        error_msg
    }
);
convert!(ComputePathToPoseFeedback = wire::ComputePathToPose::Feedback {});

impl ActionType for ComputeRoute {
    type Wire = wire::ComputeRoute::Action;
}
convert!(
    ComputeRouteGoal = wire::ComputeRoute::Goal {
        start_id,
        start,
        goal_id,
        goal,
        use_start,
        use_poses
    }
);
convert!(
    ComputeRouteResult = wire::ComputeRoute::Result {
        planning_time,
        path,
        route,
        error_code
    }
);
convert!(ComputeRouteFeedback = wire::ComputeRoute::Feedback {});

impl ActionType for DockRobot {
    type Wire = wire::DockRobot::Action;
}
convert!(
    DockRobotGoal = wire::DockRobot::Goal {
        use_dock_id,
        dock_id,
        dock_pose,
        dock_type,
        max_staging_time,
        navigate_to_staging_pose
    }
);
convert!(
    DockRobotResult = wire::DockRobot::Result {
        success,
        error_code,
        num_retries,
        error_msg
    }
);
convert!(
    DockRobotFeedback = wire::DockRobot::Feedback {
        state,
        docking_time,
        num_retries
    }
);

impl ActionType for DriveOnHeading {
    type Wire = wire::DriveOnHeading::Action;
}
convert!(
    DriveOnHeadingGoal = wire::DriveOnHeading::Goal {
        target,
        speed,
        time_allowance
    }
);
convert!(
    DriveOnHeadingResult = wire::DriveOnHeading::Result {
        total_elapsed_time,
        error_code,
        error_msg
    }
);
convert!(DriveOnHeadingFeedback = wire::DriveOnHeading::Feedback { distance_traveled });

impl ActionType for FollowObject {
    type Wire = wire::FollowObject::Action;
}
convert!(
    FollowObjectGoal = wire::FollowObject::Goal {
        pose_topic,
        tracked_frame,
        max_duration
    }
);
convert!(
    FollowObjectResult = wire::FollowObject::Result {
        total_elapsed_time,
        error_code,
        num_retries,
        error_msg
    }
);
convert!(
    FollowObjectFeedback = wire::FollowObject::Feedback {
        state,
        following_time,
        num_retries
    }
);

impl ActionType for FollowPath {
    type Wire = wire::FollowPath::Action;
}
convert!(
    FollowPathGoal = wire::FollowPath::Goal {
        path,
        controller_id,
        goal_checker_id,
        progress_checker_id
    }
);
convert!(FollowPathResult = wire::FollowPath::Result { error_code, error_msg } plus { result: std_msgs::msg::Empty {} });
convert!(
    FollowPathFeedback = wire::FollowPath::Feedback {
        distance_to_goal,
        speed
    }
);

impl ActionType for NavigateThroughPoses {
    type Wire = wire::NavigateThroughPoses::Action;
}
convert!(NavigateThroughPosesGoal = wire::NavigateThroughPoses::Goal { poses, behavior_tree });
convert!(
    NavigateThroughPosesResult = wire::NavigateThroughPoses::Result {
        error_code,
        error_msg
    }
);
convert!(
    NavigateThroughPosesFeedback = wire::NavigateThroughPoses::Feedback {
        current_pose,
        navigation_time,
        estimated_time_remaining,
        number_of_recoveries,
        distance_remaining,
        number_of_poses_remaining
    }
);

impl ActionType for NavigateToPose {
    type Wire = wire::NavigateToPose::Action;
}
convert!(NavigateToPoseGoal = wire::NavigateToPose::Goal { pose, behavior_tree });
convert!(
    NavigateToPoseResult = wire::NavigateToPose::Result {
        error_code,
        error_msg
    }
);
convert!(
    NavigateToPoseFeedback = wire::NavigateToPose::Feedback {
        current_pose,
        navigation_time,
        estimated_time_remaining,
        number_of_recoveries,
        distance_remaining
    }
);

impl ActionType for SmoothPath {
    type Wire = wire::SmoothPath::Action;
}
convert!(
    SmoothPathGoal = wire::SmoothPath::Goal {
        path,
        smoother_id,
        max_smoothing_duration,
        check_for_collisions
    }
);
convert!(
    SmoothPathResult = wire::SmoothPath::Result {
        path,
        smoothing_duration,
        was_completed,
        error_code,
        error_msg
    }
);
convert!(SmoothPathFeedback = wire::SmoothPath::Feedback {});

impl ActionType for Spin {
    type Wire = wire::Spin::Action;
}
convert!(
    SpinGoal = wire::Spin::Goal {
        target_yaw,
        time_allowance
    }
);
convert!(
    SpinResult = wire::Spin::Result {
        total_elapsed_time,
        error_code,
        error_msg
    }
);
convert!(
    SpinFeedback = wire::Spin::Feedback {
        angular_distance_traveled
    }
);

impl ActionType for UndockRobot {
    type Wire = wire::UndockRobot::Action;
}
convert!(
    UndockRobotGoal = wire::UndockRobot::Goal {
        dock_type,
        max_undocking_time
    }
);
convert!(
    UndockRobotResult = wire::UndockRobot::Result {
        success,
        error_code,
        error_msg
    }
);
convert!(UndockRobotFeedback = wire::UndockRobot::Feedback {});

impl ActionType for Wait {
    type Wire = wire::Wait::Action;
}
convert!(WaitGoal = wire::Wait::Goal { time });
convert!(
    WaitResult = wire::Wait::Result {
        total_elapsed_time,
        error_code,
        error_msg
    }
);
convert!(WaitFeedback = wire::Wait::Feedback { time_left });

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Convert;
    use super::*;
    use crate::msg::{Header, Path, Pose};

    #[test]
    fn a_goal_comes_back() {
        let goal = FollowPathGoal {
            path: Arc::new(Path::through(
                Header::in_frame("map"),
                [Pose::planar(1.0, 2.0, 0.5)],
            )),
            controller_id: "FollowPath".into(),
            ..FollowPathGoal::default()
        };
        assert_eq!(FollowPathGoal::from_wire(goal.to_wire()), goal);
    }
}
