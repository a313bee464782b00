//! `SequenceWithMemory` and version 3's `SequenceStar`: a sequence that goes on where it failed.

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
    const DOC: &'static str = "Ticks its children in order and never ticks one again that has succeeded: after a \
        FAILURE, and after a halt, the next activation goes on with the same child. It starts over when the last \
        child has succeeded, and with each run of the whole tree. Between children that succeed within one tick it \
        lets the tree react.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for SequenceWithMemory {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        tick::<true>(cx)
    }

    /// The place is one within a run: in BehaviorTree.CPP a navigation goes on where an earlier one failed.
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

/// Version 3's form of it.
#[derive(Debug)]
pub struct SequenceStar;

impl Node for SequenceStar {
    const ID: &'static str = "SequenceStar";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in order and never ticks one again that has succeeded: after a \
        FAILURE the next activation goes on with the child that failed. A halt starts it over.";

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

    /// BehaviorTree.CPP halts every node when a run ends, failed ones too.
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

/// `memory.index` is the child at work, `memory.count` the skipped ones of this activation.
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
    fn it_goes_on_where_it_failed() {
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
    fn a_halt_does_not_forget_the_place() {
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
    fn a_halt_of_version_3s_starts_over() {
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
    fn the_end_of_a_run_starts_it_over_even_where_it_failed() {
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
    fn the_end_of_a_run_in_which_a_child_runs_starts_it_over() {
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
