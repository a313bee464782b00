//! The parts of the node for monitors.

use std::sync::Arc;

use super::{Handle, Heartbeat, TreeLibrary};
use crate::job::JobRegistry;
use crate::record::Totals;
use crate::record::stream::Subscribe;
use crate::ros::{Clock, GoalTrackerHandle, RosHandle};

/// Handles of a running node, for monitors. Room `monitor` is above this room, so the node passes these handles to it.
/// Cheap to clone.
#[derive(Clone)]
pub struct NodeHandles {
    /// The ROS node.
    pub ros: RosHandle,
    /// The clock.
    pub clock: Clock,
    /// The goals on servers.
    pub goal_tracker: GoalTrackerHandle,
    /// The tick thread.
    pub ticks: Handle,
    /// The heartbeat of the tick thread.
    pub heartbeat: Heartbeat,
    /// The jobs of the trees.
    pub jobs: JobRegistry,
    /// The trees.
    pub library: Arc<TreeLibrary>,
    /// Makes readers of the event stream, and counts its records; `None` if nothing is recorded and the web page is off.
    pub records: Option<(Subscribe, Totals)>,
}

impl std::fmt::Debug for NodeHandles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NodeHandles")
    }
}
