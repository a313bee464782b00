//! Observes a run. Without an observer there is no cost.

use super::blackboard::{Blackboard, SlotId};
use super::definition::{NodeIndex, TreeDef};
use super::error::TickError;
use super::{HaltReason, NodeStatus, Time};

/// Receives every change in order, on the tick thread. Must return at once: pass longer work to another thread.
pub trait Observer: Send {
    /// A stored status changed, including changes to idle.
    fn changed(&mut self, def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, now: Time);

    /// A running node was halted. Its change to idle was reported just before.
    fn halted(&mut self, _def: &TreeDef, _node: NodeIndex, _reason: HaltReason, _now: Time) {}

    /// A node returned [`NodeStatus::Skipped`], which is not stored.
    fn skipped(&mut self, _def: &TreeDef, _node: NodeIndex, _now: Time) {}

    /// A tick of the tree begins.
    fn tick_begins(&mut self, _def: &TreeDef, _now: Time) {}

    /// A tick of the tree has ended.
    fn tick_ends(&mut self, _def: &TreeDef, _result: Result<NodeStatus, &TickError>, _now: Time) {}

    /// A halt of the whole tree begins.
    fn halt_begins(&mut self, _def: &TreeDef, _reason: HaltReason, _now: Time) {}

    /// A halt of the whole tree has ended.
    fn halt_ends(&mut self, _def: &TreeDef, _now: Time) {}

    /// An entry was written or removed, by a node or by the owner of the tree (`None`). The entries that one script
    /// writes are reported after the script, each once. Called only if [`Observer::watches_writes`] is true.
    fn wrote(
        &mut self,
        _def: &TreeDef,
        _blackboard: &Blackboard,
        _slot: SlotId,
        _by: Option<NodeIndex>,
        _now: Time,
    ) {
    }

    /// Whether [`Observer::wrote`] is called. Asked once, by [`Tree::set_observer`](super::Tree::set_observer).
    fn watches_writes(&self) -> bool {
        false
    }
}

/// Two observers of one run. The first one receives each change first.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn changed(&mut self, def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, now: Time) {
        self.0.changed(def, node, from, to, now);
        self.1.changed(def, node, from, to, now);
    }

    fn halted(&mut self, def: &TreeDef, node: NodeIndex, reason: HaltReason, now: Time) {
        self.0.halted(def, node, reason, now);
        self.1.halted(def, node, reason, now);
    }

    fn skipped(&mut self, def: &TreeDef, node: NodeIndex, now: Time) {
        self.0.skipped(def, node, now);
        self.1.skipped(def, node, now);
    }

    fn tick_begins(&mut self, def: &TreeDef, now: Time) {
        self.0.tick_begins(def, now);
        self.1.tick_begins(def, now);
    }

    fn tick_ends(&mut self, def: &TreeDef, result: Result<NodeStatus, &TickError>, now: Time) {
        self.0.tick_ends(def, result, now);
        self.1.tick_ends(def, result, now);
    }

    fn halt_begins(&mut self, def: &TreeDef, reason: HaltReason, now: Time) {
        self.0.halt_begins(def, reason, now);
        self.1.halt_begins(def, reason, now);
    }

    fn halt_ends(&mut self, def: &TreeDef, now: Time) {
        self.0.halt_ends(def, now);
        self.1.halt_ends(def, now);
    }

    fn wrote(
        &mut self,
        def: &TreeDef,
        blackboard: &Blackboard,
        slot: SlotId,
        by: Option<NodeIndex>,
        now: Time,
    ) {
        if self.0.watches_writes() {
            self.0.wrote(def, blackboard, slot, by, now);
        }
        if self.1.watches_writes() {
            self.1.wrote(def, blackboard, slot, by, now);
        }
    }

    fn watches_writes(&self) -> bool {
        self.0.watches_writes() || self.1.watches_writes()
    }
}
