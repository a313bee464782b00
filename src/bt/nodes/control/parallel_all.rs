//! `ParallelAll`: ticks all children until all have completed.

use super::parallel::{check, refuse, threshold};
use crate::bt::{Behavior, Context, HaltReason, Input, Memory, Node, NodeKind, NodeStatus, Ports, Tick};

/// Ticks all its children together until every one has completed.
#[derive(Debug)]
pub struct ParallelAll {
    max_failures: Input<i32>,
}

impl Node for ParallelAll {
    const ID: &'static str = "ParallelAll";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks all children that have not completed yet, at every tick, until all have \
        completed or are skipped. FAILURE if at least max_failures children failed, SUCCESS otherwise. SKIPPED \
        when all were skipped.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        let max_failures = ports
            .input::<i32>("max_failures")
            .default("1")
            .doc("Number of failed children that makes the node fail; -1: all.")
            .bind();
        check(ports, &max_failures);
        Self { max_failures }
    }
}

impl Behavior for ParallelAll {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let count = cx.child_count();
        let most = threshold(self.max_failures.require(cx)?, count);
        if most > count {
            return Err(refuse(cx, self.max_failures.name(), most, count));
        }
        let fresh = cx.is_fresh();
        cx.set_status(NodeStatus::Running);
        if fresh {
            cx.order_children()?;
        }
        let (mut skipped, mut completed, mut failed) = (0, 0, 0);
        for position in 0..count {
            let mut status = cx.child_status(position);
            if !status.is_completed() {
                status = cx.tick_child(position)?;
            }
            match status {
                NodeStatus::Success => completed += 1,
                NodeStatus::Failure => {
                    completed += 1;
                    failed += 1;
                }
                NodeStatus::Skipped => skipped += 1,
                NodeStatus::Running | NodeStatus::Idle => {}
            }
        }
        if skipped == count {
            return Ok(NodeStatus::Skipped);
        }
        if skipped + completed < count {
            return Ok(NodeStatus::Running);
        }
        cx.reset_children();
        Ok(if failed >= most {
            NodeStatus::Failure
        } else {
            NodeStatus::Success
        })
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        *cx.memory() = Memory::default();
        cx.halt_children(reason);
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{parallel_all, reactive_sequence};
    use crate::bt::testing::{Scene, leaf};

    #[test]
    fn every_child_completes() {
        Scene::new(parallel_all([leaf("a", "F"), leaf("b", "RS"), leaf("c", "RRS")])).check(
            "= a b c
             R F R R
             R . S R
             F . . S",
        );
        Scene::new(parallel_all([leaf("a", "F"), leaf("b", "RS")]).port("max_failures", 2)).check(
            "= a b
             R F R
             S . S",
        );
    }

    #[test]
    fn more_failures_than_children_are_refused() {
        let tree = parallel_all([leaf("a", "S"), leaf("b", "S")]).port("max_failures", 3);
        assert_eq!(
            Scene::new(tree).refused(),
            "max_failures is 3 and there are only 2 children: write at most 2"
        );
    }

    #[test]
    fn skipped_children_are_tried_again() {
        Scene::new(parallel_all([leaf("a", "-SS"), leaf("b", "RRS")])).check(
            "= a b
             R - R
             R S R
             S . S",
        );
        Scene::new(parallel_all([leaf("a", "-"), leaf("b", "-")])).check(
            "= a b
             - - -",
        );
    }

    #[test]
    fn a_halt_resets_completed_children() {
        let inner = parallel_all([leaf("a", "S"), leaf("b", "R")]);
        Scene::new(reactive_sequence([leaf("ok", "SFS"), inner])).check(
            "= ok a b
             R S S R
             F F . . !b
             R S S R",
        );
    }
}
