//! What monitors may see of the node.

use std::sync::Arc;

use super::{Handle, Pulse, TreeLibrary};
use crate::ros::{Clock, CustodianHandle, RosHandle};

/// The ways to the parts of a node that runs, for whoever shows it: monitors stand above this room, so they are handed
/// this and not called by name. Cheap to clone.
#[derive(Clone)]
pub struct Insight {
    /// The node itself.
    pub ros: RosHandle,
    /// Its clock.
    pub clock: Clock,
    /// Its goals on servers.
    pub custodian: CustodianHandle,
    /// Its tick thread.
    pub ticks: Handle,
    /// What that thread is at.
    pub pulse: Pulse,
    /// Its trees.
    pub library: Arc<TreeLibrary>,
}

impl std::fmt::Debug for Insight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Insight")
    }
}
