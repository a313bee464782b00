//! Decorators; one file per node.

mod distance_controller;
mod goal_updated_controller;
mod goal_updater;
mod path_longer_on_approach;
mod rate_controller;
mod single_trigger;
mod speed_controller;

pub use distance_controller::DistanceController;
pub use goal_updated_controller::GoalUpdatedController;
pub use goal_updater::GoalUpdater;
pub use path_longer_on_approach::PathLongerOnApproach;
pub use rate_controller::RateController;
pub use single_trigger::SingleTrigger;
pub use speed_controller::SpeedController;

use crate::bt::{Registry, RegistryError};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<DistanceController>()?;
    registry.register::<GoalUpdatedController>()?;
    registry.register::<GoalUpdater>()?;
    registry.register::<PathLongerOnApproach>()?;
    registry.register::<RateController>()?;
    registry.register::<SingleTrigger>()?;
    registry.register::<SpeedController>()
}
