//! Common code of sequences and fallbacks: a fallback is a sequence with success and failure exchanged.

use crate::bt::{Context, HaltReason, Memory, NodeStatus, Thrown, Tick};

/// The child result that continues with the next child, and the one that ends the node.
pub(super) trait Course {
    /// Continues with the next child; also the result of the node after the last child.
    const ON: NodeStatus;
    /// Ends the node and is its result.
    const END: NodeStatus;
}

/// The rule of sequences.
pub(super) struct WhileSuccess;

impl Course for WhileSuccess {
    const ON: NodeStatus = NodeStatus::Success;
    const END: NodeStatus = NodeStatus::Failure;
}

/// The rule of fallbacks.
pub(super) struct WhileFailure;

impl Course for WhileFailure {
    const ON: NodeStatus = NodeStatus::Failure;
    const END: NodeStatus = NodeStatus::Success;
}

/// Starts at the current child. `memory.index` is that child, `memory.count` the number of skipped children of this
/// activation. If `YIELDS`, the tree may react after each child that ends within one tick.
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
            // After an error the position stays. A further tick without a halt continues at the same child.
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

/// Starts at the first child in every tick. The child that was running is halted when another child starts to run, and
/// at the end.
#[inline]
pub(super) fn from_the_first<C: Course>(cx: &mut Context<'_>) -> Tick {
    cx.set_status(NodeStatus::Running);
    cx.order_children()?;
    let children = cx.children();
    // Version 3 may have no children. It has no SKIPPED either.
    let mut all_skipped = children.len() > 0;
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

/// Halts the children that were running before the current one. The current child was ticked first, because only its
/// result decides. The requests of both leave at the end of the tick, cancels first (guarantee G2).
#[inline]
fn halt_others(cx: &mut Context<'_>, running: usize) {
    let children = cx.children();
    for position in 0..children.len() {
        if position != running {
            cx.halt_or_reset(children.at(position, cx), HaltReason::Preempted);
        }
    }
}

/// Like `halt_others`, but completed children keep their result.
pub(super) fn halt_running_others(cx: &mut Context<'_>, running: usize) {
    for position in 0..cx.child_count() {
        if position != running && cx.child_status(position) == NodeStatus::Running {
            cx.halt_child(position, HaltReason::Preempted);
        }
    }
}

/// Keeps the position after an error. A further tick without a halt continues at the same child.
#[cold]
pub(super) fn keep(cx: &mut Context<'_>, memory: Memory, thrown: Thrown) -> Tick {
    *cx.memory() = memory;
    Err(thrown)
}
