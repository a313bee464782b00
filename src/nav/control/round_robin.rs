//! `RoundRobin`: ticks the next child in turn, across activations.

use crate::bt::{Behavior, Context, HaltReason, Input, Memory, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks the current child, and the next one when it fails.
///
/// Memory: `index` is the current child, `count` the number of failures of this activation.
#[derive(Debug)]
pub struct RoundRobin {
    wrap_around: Input<bool>,
}

impl Node for RoundRobin {
    const ID: &'static str = "RoundRobin";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its children in turn until one succeeds. The next activation continues with \
        the following child. FAILURE when all have failed.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            wrap_around: ports
                .input("wrap_around")
                .default("true")
                .doc("Whether the first child follows the last one within one activation.")
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
        if failed == 0 {
            // A skipped result is not stored, so the old status RUNNING would remain.
            cx.set_status(NodeStatus::Idle);
            return Ok(NodeStatus::Skipped);
        }
        Ok(NodeStatus::Failure)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.halt_children(reason);
        *cx.memory() = Memory::default();
    }

    fn rewind(&self, cx: &mut Context<'_>) {
        *cx.memory() = Memory::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bt::builder::node;
    use crate::bt::testing::{Scene, leaf};

    fn round(attributes: &[(&'static str, &str)], children: &[(&'static str, &str)]) -> Scene {
        let mut round = node(RoundRobin::ID);
        for (name, value) in attributes {
            round = round.port(*name, value);
        }
        for (name, outcomes) in children {
            round = round.child(leaf(name, outcomes));
        }
        Scene::new(round).registry(|registry| registry.register::<RoundRobin>().unwrap())
    }

    #[test]
    fn test_round_robin_node_failure_moves_on_within_the_tick() {
        round(&[], &[("a", "F"), ("b", "R")]).check("= a b\nR F R\nR . R");
        round(&[], &[("a", "F"), ("b", "F"), ("c", "F")]).check("= a b c\nF F F F\nF F F F");
        // Failures are kept while a child is running.
        round(&[], &[("a", "F"), ("b", "RF")]).check("= a b\nR F R\nF . F");
    }

    #[test]
    fn test_round_robin_node_the_next_activation_goes_on_with_the_next_child() {
        round(&[], &[("a", "S"), ("b", "S"), ("c", "S")]).check(
            "= a b c
             S S . .
             S . S .
             S . . S
             S S . .",
        );
        round(&[], &[("a", "F"), ("b", "SF")]).check("= a b\nS F S\nF F F");
        round(&[], &[("a", "SR"), ("b", "F")]).check("= a b\nS S .\nR R F");
    }

    #[test]
    fn test_round_robin_node_skipped_children() {
        round(&[], &[("a", "-"), ("b", "-"), ("c", "F")]).check("= a b c\nF - - F");
        round(&[], &[("a", "-"), ("b", "S")]).check("= a b\nS - S");
        round(&[], &[("a", "-"), ("b", "-")]).check("= a b\n- - -");
        // The previously running child is halted.
        round(&[], &[("a", "R-"), ("b", "-")]).check("= a b\nR R .\n- - - !a");
    }

    #[test]
    fn a_node_whose_children_are_all_skipped_is_idle() {
        round(&[], &[("a", "-R-"), ("b", "-")]).check_stored(&[
            (NodeStatus::Skipped, NodeStatus::Idle),
            (NodeStatus::Running, NodeStatus::Running),
            (NodeStatus::Skipped, NodeStatus::Idle),
        ]);
    }

    #[test]
    fn test_round_robin_node_without_wrapping_around() {
        let off = [("wrap_around", "false")];
        round(&off, &[("a", "F"), ("b", "F")]).check("= a b\nF F F");
        round(&off, &[("a", "-"), ("b", "-")]).check("= a b\n- - -");
        round(&off, &[("a", "SF"), ("b", "FS")]).check("= a b\nS S .\nF . F\nS F S");
    }

    #[test]
    fn a_halt_resets_the_position_and_a_success_does_not() {
        round(&[], &[("a", "S"), ("b", "RR"), ("c", "S")]).check(
            "= a b c
             S S . .
             R . R .
             halt !b
             S S . .",
        );
    }

    #[test]
    fn test_round_robin_node_a_child_that_returns_idle_is_an_error() {
        round(&[], &[("a", "I"), ("b", "S")]).check("= a b\nE I .");
        round(&[], &[("a", "F"), ("b", "I")]).check("= a b\nE F I");
    }
}
