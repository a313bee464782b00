//! What the page is told about the node besides the run.

use serde::{Deserialize, Serialize};

use super::node_counters::NodeCounters;

/// The state of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::monitor) struct NodeReport {
    /// The page may act on the robot.
    pub(in crate::monitor) acts: bool,
    /// The tree is not ticked.
    pub(in crate::monitor) paused: bool,
    /// A navigation runs.
    pub(in crate::monitor) running: bool,
    /// The ID of its goal, which a cancel names.
    pub(in crate::monitor) goal: Option<String>,
    /// The goals that still stop after their leaf was halted.
    pub(in crate::monitor) goals: Vec<StoppingGoal>,
    /// What has happened since the start of the node.
    pub(in crate::monitor) counters: NodeCounters,
}

impl NodeReport {
    /// The node has not told the state of its tick thread yet. It does so soon after a client has connected.
    pub(in crate::monitor) fn is_incomplete(&self) -> bool {
        self.acts && self.counters.ticks.is_none()
    }
}

/// A goal without a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::monitor) struct StoppingGoal {
    /// The name of the leaf that started it.
    pub(in crate::monitor) leaf: String,
    pub(in crate::monitor) server: String,
    /// Its state, and why its leaf was halted.
    pub(in crate::monitor) state: String,
}
