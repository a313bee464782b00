//! `RoundRobin`: one child after the other, from one activation to the next.

use crate::bt::{Behavior, Context, HaltReason, Input, Memory, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks the child whose turn it is, and goes on to the next when it fails.
///
/// Memory: `index` is the child whose turn it is, `count` the failures of this activation.
#[derive(Debug)]
pub struct RoundRobin {
    wrap_around: Input<bool>,
}

impl Node for RoundRobin {
    const ID: &'static str = "RoundRobin";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in turn until one succeeds; the next activation goes on with the \
        child behind it. FAILURE when all have failed.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            wrap_around: ports
                .input("wrap_around")
                .default("true")
                .doc("Whether the first child follows the last within one activation.")
                .bind(),
        }
    }
}

impl Behavior for RoundRobin {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let wraps = self.wrap_around.require(cx)?;
        let count = cx.child_count();
        let mut skipped = 0;
        cx.set_status(NodeStatus::Running);
        while cx.memory().count as usize + skipped < count {
            let position = cx.memory().index as usize;
            let status = cx.tick_child(position)?;
            if status == NodeStatus::Running {
                return Ok(NodeStatus::Running);
            }
            let was_last = position + 1 == count;
            cx.memory().index = if was_last { 0 } else { position as u32 + 1 };
            match status {
                NodeStatus::Success => {
                    cx.memory().count = 0;
                    cx.reset_children();
                    return Ok(NodeStatus::Success);
                }
                NodeStatus::Skipped => skipped += 1,
                NodeStatus::Failure | NodeStatus::Idle | NodeStatus::Running => cx.memory().count += 1,
            }
            if was_last && !wraps {
                break;
            }
        }
        cx.reset_children();
        let failed = cx.memory().count;
        *cx.memory() = Memory::default();
        Ok(if failed == 0 {
            NodeStatus::Skipped
        } else {
            NodeStatus::Failure
        })
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
        *cx.memory() = Memory::default();
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.memory() = Memory::default();
    }
}
