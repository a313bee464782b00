//! Leaves with effects.

mod always;
mod emit;
mod queue;
mod script;
mod set_blackboard;
mod sleep;
mod test_node;
mod unset_blackboard;
mod was_entry_updated;

pub use always::{AlwaysFailure, AlwaysSuccess};
pub use emit::Emit;
pub use queue::{PopFromQueue, QueueSize};
pub use script::ScriptAction;
pub use set_blackboard::SetBlackboard;
pub use sleep::Sleep;
pub use test_node::{Complete, TestNode, TestNodeConfig};
pub use unset_blackboard::UnsetBlackboard;
pub use was_entry_updated::WasEntryUpdated;

use crate::bt::registry::{Registry, RegistryError};

pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<AlwaysSuccess>()?;
    registry.register::<AlwaysFailure>()?;
    registry.register::<Emit>()?;
    registry.register::<ScriptAction>()?;
    registry.register::<SetBlackboard>()?;
    registry.register::<UnsetBlackboard>()?;
    registry.register::<Sleep>()?;
    registry.register::<WasEntryUpdated>()?;
    registry.register::<PopFromQueue>()?;
    registry.register::<QueueSize>()?;
    Ok(())
}
