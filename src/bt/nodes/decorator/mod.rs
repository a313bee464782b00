//! Nodes with one child.

mod subtree;

pub use subtree::SubTree;

use crate::bt::registry::{Registry, RegistryError};

pub(super) fn register(_registry: &mut Registry) -> Result<(), RegistryError> {
    Ok(())
}
