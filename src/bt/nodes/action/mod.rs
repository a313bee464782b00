//! Leaves with effects.

mod always;
mod emit;
mod queue;
mod script;
mod set_blackboard;
mod sleep;
mod test_node;
mod unset_blackboard;
mod was_entry_updated;

pub use test_node::{Complete, TestNode, TestNodeConfig};

use super::table::nodes;

nodes! {
    always: AlwaysFailure, AlwaysSuccess;
    emit: Emit;
    queue: PopFromQueue, QueueSize;
    script: ScriptAction;
    set_blackboard: SetBlackboard;
    sleep: Sleep;
    unset_blackboard: UnsetBlackboard;
    was_entry_updated: WasEntryUpdated;
}
