//! `nav2_msgs/BehaviorTreeLog`: the status changes of a tree, as a navigator publishes them.

use super::declare::messages;
use super::header::Stamp;

messages! {
    nav2_msgs

    /// The status changes of one tick.
    #[derive(Eq)]
    struct BehaviorTreeLog {
        /// The time of sending.
        timestamp: Stamp,
        /// The changes, in order.
        event_log: Vec<BehaviorTreeStatusChange>,
    }

    /// One status change of a node.
    #[derive(Eq)]
    struct BehaviorTreeStatusChange {
        /// The time of the change.
        timestamp: Stamp,
        /// The name of the node's instance.
        node_name: String,
        /// The number of the node in the tree.
        uid: u16,
        /// `IDLE`, `RUNNING`, `SUCCESS`, `FAILURE` or `SKIPPED`.
        previous_status: String,
        /// The status after the change, in the same form.
        current_status: String,
    }
}
