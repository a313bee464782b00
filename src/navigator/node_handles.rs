//! What monitors may see of the node.

use std::sync::Arc;

use super::{Handle, Heartbeat, TreeLibrary};
use crate::ros::{Clock, GoalTrackerHandle, RosHandle};

/// The ways to the parts of a node that runs, for whoever shows it: monitors stand above this room, so they are handed
/// this and not called by name. Cheap to clone.
#[derive(Clone)]
pub struct NodeHandles {
    /// The node itself.
    pub ros: RosHandle,
    /// Its clock.
    pub clock: Clock,
    /// Its goals on servers.
    pub goal_tracker: GoalTrackerHandle,
    /// Its tick thread.
    pub ticks: Handle,
    /// What that thread is at.
    pub heartbeat: Heartbeat,
    /// Its trees.
    pub library: Arc<TreeLibrary>,
}

impl std::fmt::Debug for NodeHandles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NodeHandles")
    }
}
