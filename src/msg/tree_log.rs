//! `nav2_msgs/BehaviorTreeLog`: what a navigator publishes about its tree.

use serde::{Deserialize, Serialize};

use super::header::Stamp;

/// The status changes of one tick.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BehaviorTreeLog {
    /// When it was sent.
    pub timestamp: Stamp,
    /// The changes, in order.
    pub event_log: Vec<BehaviorTreeStatusChange>,
}

/// One node changed its status.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BehaviorTreeStatusChange {
    /// When it did.
    pub timestamp: Stamp,
    /// The name of the node's instance.
    pub node_name: String,
    /// The number of the node in the tree.
    pub uid: u16,
    /// `IDLE`, `RUNNING`, `SUCCESS`, `FAILURE` or `SKIPPED`.
    pub previous_status: String,
    /// The same, after.
    pub current_status: String,
}
