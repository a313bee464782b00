//! `SingleTrigger`: lets its child have one result.

use crate::bt::{Behavior, Context, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks its child until it has completed once.
///
/// Memory: `index` is whether it has.
#[derive(Debug)]
pub struct SingleTrigger;

impl Node for SingleTrigger {
    const ID: &'static str = "SingleTrigger";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Ticks its child until it has completed once, and returns that; then FAILURE, until its \
        parent resets it.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for SingleTrigger {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.is_fresh() {
            cx.memory().index = 0;
        }
        cx.set_status(NodeStatus::Running);
        if cx.memory().index == 1 {
            return Ok(NodeStatus::Failure);
        }
        let status = cx.tick_child(0)?;
        cx.memory().index = u32::from(status.is_completed());
        Ok(status)
    }
}
