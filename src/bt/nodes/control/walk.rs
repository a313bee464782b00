//! The ways through children: what a sequence and a fallback have in common is written once, because each is the other
//! with success and failure changed places.

use crate::bt::{Context, HaltReason, Memory, NodeStatus, Thrown, Tick};

/// Which result of a child leads on to the next one, and which one ends the walk.
pub(super) trait Course {
    /// Also the result of the whole when no child is left.
    const ON: NodeStatus;
    /// The result of the whole as soon as a child has it.
    const END: NodeStatus;
}

/// The course of sequences.
pub(super) struct WhileSuccess;

impl Course for WhileSuccess {
    const ON: NodeStatus = NodeStatus::Success;
    const END: NodeStatus = NodeStatus::Failure;
}

/// The course of fallbacks.
pub(super) struct WhileFailure;

impl Course for WhileFailure {
    const ON: NodeStatus = NodeStatus::Failure;
    const END: NodeStatus = NodeStatus::Success;
}

/// From the child that was at work. `memory.index` is that child, `memory.count` the skipped ones of this activation.
/// Where it yields, the rest of the tree is let to react after each child that ends within one tick.
#[inline]
pub(super) fn on_from_the_last<C: Course, const YIELDS: bool>(cx: &mut Context<'_>) -> Tick {
    let Memory {
        mut index,
        count: skipped,
        mark,
    } = *cx.memory();
    let mut skipped = if cx.is_fresh() { 0 } else { skipped };
    cx.set_status(NodeStatus::Running);
    if index == 0 {
        cx.order_children()?;
    }
    let children = cx.children();
    let count = children.len() as u32;
    let result = loop {
        if index >= count {
            cx.reset_children();
            let all_skipped = skipped == count;
            (index, skipped) = (0, 0);
            break Ok(if all_skipped { NodeStatus::Skipped } else { C::ON });
        }
        let at_rest = YIELDS && cx.child_status(index as usize) == NodeStatus::Idle;
        match cx.tick_node(children.at(index as usize, cx)) {
            Ok(status) if status == C::ON => {
                index += 1;
                if at_rest && index < count {
                    cx.wake();
                    break Ok(NodeStatus::Running);
                }
            }
            Ok(NodeStatus::Skipped) => {
                index += 1;
                skipped += 1;
            }
            Ok(status) if status == C::END => {
                cx.reset_children();
                index = 0;
                break Ok(C::END);
            }
            // After an error the place stays: whoever ticks on without halting first comes back to the same child.
            other => break other,
        }
    };
    *cx.memory() = Memory {
        index,
        count: skipped,
        mark,
    };
    result
}

/// From the first child in every tick. What ran before is halted when another one runs, and at the end.
#[inline]
pub(super) fn from_the_first<C: Course>(cx: &mut Context<'_>) -> Tick {
    cx.set_status(NodeStatus::Running);
    cx.order_children()?;
    let children = cx.children();
    let mut all_skipped = true;
    for position in 0..children.len() {
        match cx.tick_node(children.at(position, cx))? {
            NodeStatus::Skipped => cx.halt_child(position, HaltReason::Preempted),
            NodeStatus::Running => {
                halt_others(cx, position);
                return Ok(NodeStatus::Running);
            }
            status if status == C::END => {
                cx.halt_children(HaltReason::Preempted);
                return Ok(C::END);
            }
            _ => all_skipped = false,
        }
    }
    cx.reset_children();
    Ok(if all_skipped { NodeStatus::Skipped } else { C::ON })
}

/// Stops whatever ran before the child that runs now. The child was ticked first, because only its result tells who
/// wins; what both asked of the world leaves at the end of the tick, cancels first (guarantee G2).
#[inline]
fn halt_others(cx: &mut Context<'_>, running: usize) {
    let children = cx.children();
    for position in 0..children.len() {
        if position != running {
            cx.halt_or_reset(children.at(position, cx), HaltReason::Preempted);
        }
    }
}

/// The same where completed children keep their result.
pub(super) fn halt_running_others(cx: &mut Context<'_>, running: usize) {
    for position in 0..cx.child_count() {
        if position != running && cx.child_status(position) == NodeStatus::Running {
            cx.halt_child(position, HaltReason::Preempted);
        }
    }
}

/// An error leaves the place as it is: whoever ticks on without halting first comes back to the same child.
#[cold]
pub(super) fn keep(cx: &mut Context<'_>, memory: Memory, thrown: Thrown) -> Tick {
    *cx.memory() = memory;
    Err(thrown)
}
