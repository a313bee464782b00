//! Conditions; one file per node.

mod are_error_codes_present;
mod are_poses_near;
mod distance_traveled;
mod global_updated_goal;
mod goal_reached;
mod goal_updated;
mod initial_pose_received;
mod is_battery_charging;
mod is_battery_low;
mod is_goal_nearby;
mod is_stuck;
mod is_within_path_tracking_bounds;
mod path_expiring_timer;
pub mod recovery_help;
mod time_expired;
mod transform_available;

pub(super) use is_goal_nearby::{Progress, end_within};
pub(super) use is_stuck::open_odometry;

use super::table::nodes;
use crate::bt::NodeStatus;

nodes! {
    are_error_codes_present: AreErrorCodesPresent,
    are_poses_near: ArePosesNear,
    distance_traveled: DistanceTraveled,
    global_updated_goal: GlobalUpdatedGoal,
    goal_reached: GoalReached,
    goal_updated: GoalUpdated,
    initial_pose_received: InitialPoseReceived,
    is_battery_charging: IsBatteryCharging,
    is_battery_low: IsBatteryLow,
    is_goal_nearby: IsGoalNearby,
    is_stuck: IsStuck,
    is_within_path_tracking_bounds: IsWithinPathTrackingBounds,
    path_expiring_timer: PathExpiringTimer,
    time_expired: TimeExpired,
    transform_available: TransformAvailable,
}

/// SUCCESS or FAILURE.
fn verdict(holds: bool) -> NodeStatus {
    if holds {
        NodeStatus::Success
    } else {
        NodeStatus::Failure
    }
}
