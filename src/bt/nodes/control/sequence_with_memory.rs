//! `SequenceWithMemory` and version 3's `SequenceStar`: a sequence that continues at the child that failed.

use super::walk::keep;
use crate::bt::{
    Behavior, Context, HaltReason, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick,
};

/// A sequence that remembers the child that failed.
#[derive(Debug)]
pub struct SequenceWithMemory;

impl Node for SequenceWithMemory {
    const ID: &'static str = "SequenceWithMemory";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order and does not tick a succeeded child again. After a \
        FAILURE or a halt, the next activation continues with the same child. It restarts with the first child \
        when the last child has succeeded, and with each run of the whole tree. Between children that succeed \
        within one tick it lets the tree react.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for SequenceWithMemory {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        tick::<true>(cx)
    }

    /// The position is valid within one run. In BehaviorTree.CPP a navigation continues where an earlier one failed.
    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.memory() = Default::default();
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::SUCCESS, children).or(Outcomes::RUNNING)
    }
}

/// The form of version 3.
#[derive(Debug)]
pub struct SequenceStar;

impl Node for SequenceStar {
    const ID: &'static str = "SequenceStar";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order and does not tick a succeeded child again. After a \
        FAILURE, the next activation continues with the child that failed. A halt resets it to the first child.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for SequenceStar {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        tick::<false>(cx)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Default::default();
        cx.halt_children(reason);
    }

    /// BehaviorTree.CPP halts every node when a run ends, including failed nodes.
    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.memory() = Default::default();
    }

    fn honours_priority(&self) -> bool {
        true
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::in_order(Outcomes::SUCCESS, children)
    }
}

/// `memory.index` is the current child, `memory.count` the number of skipped children of this activation.
fn tick<const YIELDS: bool>(cx: &mut Context<'_>) -> Tick {
    if cx.is_fresh() {
        cx.memory().count = 0;
    }
    cx.set_status(NodeStatus::Running);
    let count = cx.child_count();
    let mut memory = *cx.memory();
    if memory.index == 0 {
        cx.order_children()?;
    }
    while (memory.index as usize) < count {
        let at_rest = YIELDS && cx.child_status(memory.index as usize) == NodeStatus::Idle;
        match cx.tick_child(memory.index as usize) {
            Ok(NodeStatus::Success | NodeStatus::Idle) => {
                memory.index += 1;
                if at_rest && (memory.index as usize) < count {
                    *cx.memory() = memory;
                    cx.wake();
                    return Ok(NodeStatus::Running);
                }
            }
            Ok(NodeStatus::Skipped) => {
                memory.index += 1;
                memory.count += 1;
            }
            Ok(NodeStatus::Running) => {
                *cx.memory() = memory;
                return Ok(NodeStatus::Running);
            }
            Ok(NodeStatus::Failure) => {
                for position in memory.index as usize..count {
                    cx.halt_child(position, HaltReason::ParentFinished);
                }
                *cx.memory() = memory;
                return Ok(NodeStatus::Failure);
            }
            Err(thrown) => return keep(cx, memory, thrown),
        }
    }
    let all_skipped = memory.count as usize == count;
    cx.reset_children();
    *cx.memory() = Default::default();
    Ok(if all_skipped {
        NodeStatus::Skipped
    } else {
        NodeStatus::Success
    })
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{node, reactive_sequence, sequence_with_memory};
    use crate::bt::testing::{Scene, condition, leaf};

    #[test]
    fn it_continues_at_the_failed_child() {
        Scene::new(sequence_with_memory([
            leaf("a", "S"),
            leaf("b", "FRS"),
            leaf("c", "S"),
        ]))
        .drain()
        .check(
            "= a b c
                 F S F .
                 R . R .
                 S . S S
                 F S F .",
        );
    }

    #[test]
    fn it_yields_between_children() {
        Scene::new(sequence_with_memory([leaf("a", "S"), leaf("b", "S")])).check(
            "= a b
             R* S .
             S . S",
        );
    }

    #[test]
    fn a_halt_keeps_the_position() {
        let patrol = sequence_with_memory([leaf("A", "S"), leaf("B", "RS"), leaf("C", "R")]);
        Scene::new(reactive_sequence([condition("battery", "SSFSS"), patrol]))
            .drain()
            .check(
                "= battery A B C
                 R SS S R .
                 F F . . . !B
                 R SS . S R",
            );
    }

    #[test]
    fn a_halt_resets_the_position_in_version_3() {
        let patrol = node("SequenceStar").children([leaf("A", "S"), leaf("B", "FR"), leaf("C", "S")]);
        Scene::new(reactive_sequence([condition("battery", "SSFS"), patrol]))
            .v3()
            .check(
                "= battery A B C
             F S S F .
             R S . R .
             F F . . . !B
             F S S F .",
            );
    }

    #[test]
    fn the_end_of_a_run_resets_the_position_after_a_failure() {
        let table = "= a b
             F S F
             halt
             F S F";
        let children = || [leaf("a", "S"), leaf("b", "F")];
        Scene::new(node("SequenceStar").children(children()))
            .v3()
            .check(table);
        Scene::new(sequence_with_memory(children())).drain().check(table);
    }

    #[test]
    fn the_end_of_a_run_resets_the_position_of_a_running_child() {
        Scene::new(sequence_with_memory([leaf("a", "S"), leaf("b", "R")]))
            .drain()
            .check(
                "= a b
                 R S R
                 halt !b
                 R S R",
            );
    }
}
