//! Actions that complete within one tick or need no server; one file per node.

mod append_goal_pose_to_goals;
mod check_stop_status;
mod concatenate_paths;
mod controller_selector;
mod extract_route_nodes_as_goals;
mod get_current_pose;
mod get_next_few_goals;
mod get_pose_from_path;
mod goal_checker_selector;
mod path_handler_selector;
mod planner_selector;
mod progress_checker_selector;
mod remove_passed_goals;
mod smoother_selector;
mod truncate_path;
mod truncate_path_local;

pub use append_goal_pose_to_goals::AppendGoalPoseToGoals;
pub use check_stop_status::CheckStopStatus;
pub use concatenate_paths::ConcatenatePaths;
pub use controller_selector::ControllerSelector;
pub use extract_route_nodes_as_goals::ExtractRouteNodesAsGoals;
pub use get_current_pose::GetCurrentPose;
pub use get_next_few_goals::GetNextFewGoals;
pub use get_pose_from_path::GetPoseFromPath;
pub use goal_checker_selector::GoalCheckerSelector;
pub use path_handler_selector::PathHandlerSelector;
pub use planner_selector::PlannerSelector;
pub use progress_checker_selector::ProgressCheckerSelector;
pub use remove_passed_goals::RemovePassedGoals;
pub use smoother_selector::SmootherSelector;
pub use truncate_path::TruncatePath;
pub use truncate_path_local::TruncatePathLocal;

use super::selector::Selector;
use crate::bt::{Registry, RegistryError};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<AppendGoalPoseToGoals>()?;
    registry.register::<CheckStopStatus>()?;
    // The name in Kilted.
    registry.register_as::<CheckStopStatus>("IsStopped")?;
    registry.register::<ConcatenatePaths>()?;
    registry.register::<Selector<ControllerSelector>>()?;
    registry.register::<ExtractRouteNodesAsGoals>()?;
    registry.register::<GetCurrentPose>()?;
    registry.register::<GetNextFewGoals>()?;
    registry.register::<GetPoseFromPath>()?;
    registry.register::<Selector<GoalCheckerSelector>>()?;
    registry.register::<Selector<PathHandlerSelector>>()?;
    registry.register::<Selector<PlannerSelector>>()?;
    registry.register::<Selector<ProgressCheckerSelector>>()?;
    registry.register::<RemovePassedGoals>()?;
    registry.register::<Selector<SmootherSelector>>()?;
    registry.register::<TruncatePath>()?;
    registry.register::<TruncatePathLocal>()
}
