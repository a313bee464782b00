//! Watching a run. Nothing is paid for observers that are not attached.

use super::definition::{NodeIndex, TreeDef};
use super::{HaltReason, NodeStatus, Time};

/// Told of every change, on the thread that ticks, in the order in which they happen.
/// Must return at once: whatever takes longer belongs behind a channel.
pub trait Observer: Send {
    /// A stored status changed, also to idle.
    fn changed(&mut self, def: &TreeDef, node: NodeIndex, from: NodeStatus, to: NodeStatus, now: Time);

    /// A running node was halted; its change to idle was told just before.
    fn halted(&mut self, _def: &TreeDef, _node: NodeIndex, _reason: HaltReason, _now: Time) {}

    /// A node returned [`NodeStatus::Skipped`], which is not stored.
    fn skipped(&mut self, _def: &TreeDef, _node: NodeIndex, _now: Time) {}
}
