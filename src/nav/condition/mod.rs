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
mod time_expired;
mod transform_available;
mod would_a_controller_recovery_help;
mod would_a_planner_recovery_help;
mod would_a_route_recovery_help;
mod would_a_smoother_recovery_help;

pub use are_error_codes_present::AreErrorCodesPresent;
pub use are_poses_near::ArePosesNear;
pub use distance_traveled::DistanceTraveled;
pub use global_updated_goal::GlobalUpdatedGoal;
pub use goal_reached::GoalReached;
pub use goal_updated::GoalUpdated;
pub use initial_pose_received::InitialPoseReceived;
pub use is_battery_charging::IsBatteryCharging;
pub use is_battery_low::IsBatteryLow;
pub use is_goal_nearby::IsGoalNearby;
pub(super) use is_goal_nearby::{Progress, end_within};
pub use is_stuck::IsStuck;
pub(super) use is_stuck::open_odometry;
pub use is_within_path_tracking_bounds::IsWithinPathTrackingBounds;
pub use path_expiring_timer::PathExpiringTimer;
pub use time_expired::TimeExpired;
pub use transform_available::TransformAvailable;
pub use would_a_controller_recovery_help::WouldAControllerRecoveryHelp;
pub use would_a_planner_recovery_help::WouldAPlannerRecoveryHelp;
pub use would_a_route_recovery_help::WouldARouteRecoveryHelp;
pub use would_a_smoother_recovery_help::WouldASmootherRecoveryHelp;

use crate::bt::{NodeStatus, Registry, RegistryError};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<AreErrorCodesPresent>()?;
    registry.register::<ArePosesNear>()?;
    registry.register::<DistanceTraveled>()?;
    registry.register::<GlobalUpdatedGoal>()?;
    registry.register::<GoalReached>()?;
    registry.register::<GoalUpdated>()?;
    registry.register::<InitialPoseReceived>()?;
    registry.register::<IsBatteryCharging>()?;
    registry.register::<IsBatteryLow>()?;
    registry.register::<IsGoalNearby>()?;
    registry.register::<IsStuck>()?;
    registry.register::<IsWithinPathTrackingBounds>()?;
    registry.register::<PathExpiringTimer>()?;
    registry.register::<TimeExpired>()?;
    registry.register::<TransformAvailable>()?;
    registry.register::<WouldAControllerRecoveryHelp>()?;
    registry.register::<WouldAPlannerRecoveryHelp>()?;
    registry.register::<WouldARouteRecoveryHelp>()?;
    registry.register::<WouldASmootherRecoveryHelp>()
}

/// SUCCESS or FAILURE.
fn verdict(holds: bool) -> NodeStatus {
    if holds {
        NodeStatus::Success
    } else {
        NodeStatus::Failure
    }
}
