//! BehaviorTree.CPP's node types and navtree's additions: one file a node, one skeleton for all: its ports, its
//! documentation, its behaviour, its tests.

mod action;
mod code;
mod condition;
mod control;
mod decorator;
mod watch;

pub use action::*;
pub use condition::*;
pub use control::*;
pub use decorator::*;

use super::registry::{Registry, RegistryError};

/// Registers every built-in node type.
pub(crate) fn register(registry: &mut Registry) {
    let mut outcome = || -> Result<(), RegistryError> {
        control::register(registry)?;
        decorator::register(registry)?;
        action::register(registry)?;
        condition::register(registry)
    };
    let outcome = outcome();
    debug_assert_eq!(outcome, Ok(()), "built-in IDs are distinct");
}
