//! BehaviorTree.CPP's node types and navtree's additions: one file a node, one skeleton for all: its ports, its
//! documentation, its behaviour, its test.

use super::registry::{Registry, RegistryError};

mod sequence;
mod subtree;

pub use sequence::Sequence;
pub use subtree::SubTree;

/// Registers every built-in node type.
pub(crate) fn register(registry: &mut Registry) {
    let outcome = || -> Result<(), RegistryError> {
        registry.register::<Sequence>()?;
        Ok(())
    };
    let mut outcome = outcome;
    debug_assert_eq!(outcome(), Ok(()), "built-in IDs are distinct");
}
