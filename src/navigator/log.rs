//! The status changes of a tick, for the topic `behavior_tree_log`.

use std::sync::{Arc, Mutex};

use crate::bt::{NodeIndex, NodeStatus, Observer, Time, TreeDef};
use crate::msg::{BehaviorTreeLog, BehaviorTreeStatusChange, Stamp};

/// A status change of one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    pub(crate) node: NodeIndex,
    pub(crate) from: NodeStatus,
    pub(crate) to: NodeStatus,
}

/// Collects the changes during ticks. Observer and navigator are on the same thread, so the lock has no contention and
/// is not held across a tick.
#[derive(Clone, Default)]
pub(crate) struct ChangeLog {
    changes: Arc<Mutex<Vec<Change>>>,
}

impl ChangeLog {
    /// An observer that adds to this log.
    pub(crate) fn observer(&self) -> impl Observer + use<> {
        Collector(Arc::clone(&self.changes))
    }

    /// Takes the collected changes as a message; `None` if nothing has changed.
    pub(crate) fn take(
        &self,
        def: &TreeDef,
        stamp: Stamp,
        idle_transitions: bool,
    ) -> Option<BehaviorTreeLog> {
        let Ok(mut changes) = self.changes.lock() else {
            return None;
        };
        let event_log: Vec<_> = changes
            .drain(..)
            .filter(|change| idle_transitions || change.to != NodeStatus::Idle)
            .map(|change| BehaviorTreeStatusChange {
                timestamp: stamp,
                node_name: def.node(change.node).name.to_string(),
                uid: change.node.uid(),
                previous_status: change.from.name().to_owned(),
                current_status: change.to.name().to_owned(),
            })
            .collect();
        (!event_log.is_empty()).then_some(BehaviorTreeLog {
            timestamp: stamp,
            event_log,
        })
    }
}

struct Collector(Arc<Mutex<Vec<Change>>>);

impl Observer for Collector {
    fn changed(&mut self, _def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, _now: Time) {
        if let Ok(mut changes) = self.0.lock() {
            changes.push(Change { node, from, to });
        }
    }
}
