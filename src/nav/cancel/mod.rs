//! Nodes that cancel all goals of an action server; one file per node, common code in [`CancelLeaf`].

mod assisted_teleop;
mod back_up;
mod compute_and_track_route;
mod control;
mod drive_on_heading;
mod follow_object;
mod spin;
mod wait;

pub use assisted_teleop::CancelAssistedTeleop;
pub use back_up::CancelBackUp;
pub use compute_and_track_route::CancelComputeAndTrackRoute;
pub use control::CancelControl;
pub use drive_on_heading::CancelDriveOnHeading;
pub use follow_object::CancelFollowObject;
pub use spin::CancelSpin;
pub use wait::CancelWait;

use super::cancel_leaf::CancelLeaf;
use crate::bt::{Registry, RegistryError};

/// Registers every node of this folder.
pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<CancelLeaf<CancelAssistedTeleop>>()?;
    registry.register::<CancelLeaf<CancelBackUp>>()?;
    registry.register::<CancelLeaf<CancelComputeAndTrackRoute>>()?;
    registry.register::<CancelLeaf<CancelControl>>()?;
    registry.register::<CancelLeaf<CancelDriveOnHeading>>()?;
    registry.register::<CancelLeaf<CancelFollowObject>>()?;
    registry.register::<CancelLeaf<CancelSpin>>()?;
    registry.register::<CancelLeaf<CancelWait>>()
}
