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

pub use check_pose_occupancy::CheckPoseOccupancy;
pub use clear_costmap_around_pose::ClearCostmapAroundPose;
pub use clear_costmap_around_robot::ClearCostmapAroundRobot;
pub use clear_costmap_except_region::ClearCostmapExceptRegion;
pub use clear_entire_costmap::ClearEntireCostmap;
pub use is_path_valid::IsPathValid;
pub use reinitialize_global_localization::ReinitializeGlobalLocalization;
pub use remove_in_collision_goals::RemoveInCollisionGoals;
pub use toggle_collision_monitor::ToggleCollisionMonitor;
pub use validate_path::ValidatePath;

use std::sync::Arc;

use super::service_leaf::ServiceLeaf;
use crate::bt::{List, Ports, Registry, RegistryError};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<ServiceLeaf<CheckPoseOccupancy>>()?;
    registry.register::<ServiceLeaf<ClearCostmapAroundPose>>()?;
    registry.register::<ServiceLeaf<ClearCostmapAroundRobot>>()?;
    registry.register::<ServiceLeaf<ClearCostmapExceptRegion>>()?;
    registry.register::<ServiceLeaf<ClearEntireCostmap>>()?;
    registry.register::<ServiceLeaf<IsPathValid>>()?;
    registry.register::<ServiceLeaf<ReinitializeGlobalLocalization>>()?;
    registry.register::<ServiceLeaf<RemoveInCollisionGoals>>()?;
    registry.register::<ServiceLeaf<ToggleCollisionMonitor>>()?;
    registry.register::<ServiceLeaf<ValidatePath>>()
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
