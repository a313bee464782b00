//! `nav2_msgs/BehaviorTreeLog`: the status changes of a tree, as a navigator publishes them.

use serde::{Deserialize, Serialize};

use super::header::Stamp;

/// The status changes of one tick.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BehaviorTreeLog {
    /// The time of sending.
    pub timestamp: Stamp,
    /// The changes, in order.
    pub event_log: Vec<BehaviorTreeStatusChange>,
}

/// One status change of a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BehaviorTreeStatusChange {
    /// The time of the change.
    pub timestamp: Stamp,
    /// The name of the node's instance.
    pub node_name: String,
    /// The number of the node in the tree.
    pub uid: u16,
    /// `IDLE`, `RUNNING`, `SUCCESS`, `FAILURE` or `SKIPPED`.
    pub previous_status: String,
    /// The status after the change, in the same form.
    pub current_status: String,
}
