//! Service clients; one file per node, common code in [`ServiceLeaf`].

mod check_pose_occupancy;
mod clear_costmap_around_pose;
mod clear_costmap_around_robot;
mod clear_costmap_except_region;
mod clear_entire_costmap;
mod is_path_valid;
mod reinitialize_global_localization;
mod remove_in_collision_goals;
mod toggle_collision_monitor;
mod validate_path;

use std::sync::Arc;

use super::service_leaf::ServiceLeaf;
use super::table::nodes;
use crate::bt::{List, Ports};

nodes! {
    check_pose_occupancy: CheckPoseOccupancy in ServiceLeaf,
    clear_costmap_around_pose: ClearCostmapAroundPose in ServiceLeaf,
    clear_costmap_around_robot: ClearCostmapAroundRobot in ServiceLeaf,
    clear_costmap_except_region: ClearCostmapExceptRegion in ServiceLeaf,
    clear_entire_costmap: ClearEntireCostmap in ServiceLeaf,
    is_path_valid: IsPathValid in ServiceLeaf,
    reinitialize_global_localization: ReinitializeGlobalLocalization in ServiceLeaf,
    remove_in_collision_goals: RemoveInCollisionGoals in ServiceLeaf,
    toggle_collision_monitor: ToggleCollisionMonitor in ServiceLeaf,
    validate_path: ValidatePath in ServiceLeaf,
}

/// The port `plugins` of Nav2's main branch.
fn warn_of_plugins(ports: &mut Ports<'_>) {
    let port = ports
        .input::<Arc<List<String>>>("plugins")
        .doc("Nav2 main: layers to clear, all by default. Jazzy's costmaps clear all layers.")
        .bind();
    let is_empty = port.literal().is_some_and(|list| list.0.is_empty());
    if port.is_set() && !is_empty {
        ports.warn_of(
            "plugins",
            "plugins has no effect: the services of Jazzy have no such field, and clear all layers",
        );
    }
}
