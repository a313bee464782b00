//! Leaves that check something.

mod script_condition;

pub use script_condition::ScriptCondition;

use crate::bt::registry::{Registry, RegistryError};

pub(super) fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    registry.register::<ScriptCondition>()?;
    Ok(())
}
