//! `StatefulSequence`, `StatefulSelector`, `StatefulParallel`: start from the first child at every tick and leave out
//! children that are done.

use super::walk::halt_running_others;
use crate::bt::{Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};

/// Skips children that have succeeded.
#[derive(Debug)]
pub struct StatefulSequence;

impl Node for StatefulSequence {
    const ID: &'static str = "StatefulSequence";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "A ReactiveSequence that does not tick a succeeded child again until the whole \
        node ends. With priorities, the ticked child may change from tick to tick; the one that was running is \
        then halted.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for StatefulSequence {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        tick(cx, NodeStatus::Success, NodeStatus::Failure)
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

/// Skips children that have failed.
#[derive(Debug)]
pub struct StatefulSelector;

impl Node for StatefulSelector {
    const ID: &'static str = "StatefulSelector";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "A ReactiveFallback that does not tick a failed child again until the whole node \
        ends. With priorities, the ticked child may change from tick to tick; the one that was running is then \
        halted.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for StatefulSelector {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        tick(cx, NodeStatus::Failure, NodeStatus::Success)
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

/// Ticks every child that has not succeeded.
#[derive(Debug)]
pub struct StatefulParallel;

impl Node for StatefulParallel {
    const ID: &'static str = "StatefulParallel";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks all children that have not succeeded yet, at every tick. SUCCESS when all \
        have succeeded. FAILURE when one fails, after all were ticked; children that are still running are then \
        halted. SKIPPED when all were skipped.";

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for StatefulParallel {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let fresh = cx.is_fresh();
        cx.set_status(NodeStatus::Running);
        if fresh {
            cx.order_children()?;
        }
        let count = cx.child_count();
        let (mut succeeded, mut failed, mut skipped) = (0, 0, 0);
        for position in 0..count {
            let mut status = cx.child_status(position);
            if status != NodeStatus::Success {
                status = cx.tick_child(position)?;
            }
            match status {
                NodeStatus::Success => succeeded += 1,
                NodeStatus::Failure => failed += 1,
                NodeStatus::Skipped => {
                    cx.halt_child(position, HaltReason::Preempted);
                    skipped += 1;
                }
                NodeStatus::Running | NodeStatus::Idle => {}
            }
        }
        let outcome = if failed > 0 {
            NodeStatus::Failure
        } else if skipped == count {
            return Ok(NodeStatus::Skipped);
        } else if succeeded + skipped == count {
            NodeStatus::Success
        } else {
            return Ok(NodeStatus::Running);
        };
        cx.reset_children();
        Ok(outcome)
    }

    fn honours_priority(&self) -> bool {
        true
    }
}

/// `done` is the child result that continues with the next child; `end` is the one that ends the node.
fn tick(cx: &mut Context<'_>, done: NodeStatus, end: NodeStatus) -> Tick {
    cx.set_status(NodeStatus::Running);
    cx.order_children()?;
    let count = cx.child_count();
    let mut all_skipped = true;
    for position in 0..count {
        if cx.child_status(position) == done {
            all_skipped = false;
            continue;
        }
        let status = cx.tick_child(position)?;
        if status == done {
            all_skipped = false;
        } else if status == NodeStatus::Skipped {
            cx.halt_child(position, HaltReason::Preempted);
        } else if status == end {
            cx.halt_children(HaltReason::Preempted);
            return Ok(end);
        } else {
            halt_running_others(cx, position);
            return Ok(NodeStatus::Running);
        }
    }
    cx.reset_children();
    Ok(if all_skipped { NodeStatus::Skipped } else { done })
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{reactive_sequence, stateful_parallel, stateful_selector, stateful_sequence};
    use crate::bt::testing::{Running, Scene, leaf};

    #[test]
    fn a_sequence_does_not_tick_succeeded_children_again() {
        Scene::new(stateful_sequence([
            leaf("a", "S"),
            leaf("b", "RRS"),
            leaf("c", "S"),
        ]))
        .check(
            "= a b c
             R S R .
             R . R .
             S . S S
             R S R .",
        );
        Scene::new(stateful_sequence([leaf("a", "S"), leaf("b", "F")])).check(
            "= a b
             F S F
             F S F",
        );
    }

    #[test]
    fn a_selector_does_not_tick_failed_children_again() {
        Scene::new(stateful_selector([
            leaf("a", "F"),
            leaf("b", "RRS"),
            leaf("c", "S"),
        ]))
        .check(
            "= a b c
             R F R .
             R . R .
             S . S .
             R F R .",
        );
    }

    #[test]
    fn a_parallel_ticks_all_before_it_fails() {
        Scene::new(stateful_parallel([
            leaf("a", "S"),
            leaf("b", "RF"),
            leaf("c", "RR"),
        ]))
        .check(
            "= a b c
             R S R R
             F . F R !c
             R S R R",
        );
        Scene::new(stateful_parallel([
            leaf("a", "S"),
            leaf("b", "RS"),
            leaf("c", "-"),
        ]))
        .check(
            "= a b c
             R S R -
             S . S -",
        );
    }

    #[test]
    fn a_halt_resets_completed_children() {
        let inner = stateful_sequence([leaf("a", "S"), leaf("b", "R")]);
        Scene::new(reactive_sequence([leaf("ok", "SF"), inner])).check(
            "= ok a b
             R S S R
             F F . . !b
             R S S R",
        );
    }

    #[test]
    fn the_order_may_change_from_tick_to_tick() {
        let tree = stateful_selector([leaf("a", "R").priority("a"), leaf("b", "R").priority("b")]);
        let mut run = Running::new(
            Scene::new(tree).set("a", 2.0).set("b", 1.0).compile().unwrap(),
            false,
        );
        run.check(
            "= a b
             R R .",
        );
        run.tree.set("b", 3.0).unwrap();
        run.check(
            "= a b
             R . R !a",
        );
    }
}
