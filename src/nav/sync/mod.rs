//! Actions that complete within one tick or need no server; one file per node.

mod append_goal_pose_to_goals;
mod check_stop_status;
mod concatenate_paths;
mod extract_route_nodes_as_goals;
mod get_current_pose;
mod get_next_few_goals;
mod get_pose_from_path;
mod remove_passed_goals;
pub mod selectors;
mod truncate_path;
mod truncate_path_local;

use super::table::nodes;

nodes! {
    append_goal_pose_to_goals: AppendGoalPoseToGoals,
    // The second name is that of Kilted.
    check_stop_status: CheckStopStatus as "IsStopped",
    concatenate_paths: ConcatenatePaths,
    extract_route_nodes_as_goals: ExtractRouteNodesAsGoals,
    get_current_pose: GetCurrentPose,
    get_next_few_goals: GetNextFewGoals,
    get_pose_from_path: GetPoseFromPath,
    remove_passed_goals: RemovePassedGoals,
    truncate_path: TruncatePath,
    truncate_path_local: TruncatePathLocal,
}
