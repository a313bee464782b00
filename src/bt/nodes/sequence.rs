//! `Sequence`: children in order, until one fails.

use crate::bt::{Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks its children in order and remembers the one that runs.
pub struct Sequence;

impl Node for Sequence {
    const ID: &'static str = "Sequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order. A child that runs is ticked again, earlier ones are not; \
        a child that fails ends the sequence, and the next activation starts from the first child.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for Sequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if cx.is_fresh() {
            cx.memory().count = 0;
        }
        cx.set_status(NodeStatus::Running);
        let count = cx.child_count();
        // `index` is the child at work, `count` the skipped ones of this activation.
        let mut memory = *cx.memory();
        while (memory.index as usize) < count {
            match cx.tick_child(memory.index as usize)? {
                NodeStatus::Running => {
                    *cx.memory() = memory;
                    return Ok(NodeStatus::Running);
                }
                NodeStatus::Failure => {
                    cx.reset_children();
                    *cx.memory() = Default::default();
                    return Ok(NodeStatus::Failure);
                }
                NodeStatus::Skipped => memory.count += 1,
                NodeStatus::Success | NodeStatus::Idle => {}
            }
            memory.index += 1;
        }
        cx.reset_children();
        *cx.memory() = Default::default();
        Ok(if memory.count as usize == count {
            NodeStatus::Skipped
        } else {
            NodeStatus::Success
        })
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Default::default();
        cx.halt_children(reason);
    }
}
