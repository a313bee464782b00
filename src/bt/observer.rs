//! Observes a run. Without an observer there is no cost.

use super::definition::{NodeIndex, TreeDef};
use super::{HaltReason, NodeStatus, Time};

/// Receives every change in order, on the tick thread. Must return at once: pass longer work to another thread.
pub trait Observer: Send {
    /// A stored status changed, including changes to idle.
    fn changed(&mut self, def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, now: Time);

    /// A running node was halted. Its change to idle was reported just before.
    fn halted(&mut self, _def: &TreeDef, _node: NodeIndex, _reason: HaltReason, _now: Time) {}

    /// A node returned [`NodeStatus::Skipped`], which is not stored.
    fn skipped(&mut self, _def: &TreeDef, _node: NodeIndex, _now: Time) {}
}
