//! `IfThenElse`: evaluates a condition once, then ticks one of two branches.

use crate::bt::{Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};

/// Chooses a branch and keeps it.
#[derive(Debug)]
pub struct IfThenElse;

impl Node for IfThenElse {
    const ID: &'static str = "IfThenElse";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its first child. If it succeeds, ticks the second child until it completes; \
        if it fails, the third. Without a third child, the result is FAILURE. The first child is not ticked \
        again while a branch is running.";
    const CHILDREN: (usize, usize) = (2, 3);

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for IfThenElse {
    /// `memory.index` is the current branch, 0 if there is none.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        if cx.memory().index == 0 {
            let branch = match cx.tick_child(0)? {
                NodeStatus::Running => return Ok(NodeStatus::Running),
                NodeStatus::Success => 1,
                // As in BehaviorTree.CPP, the condition is not reset here and keeps its FAILURE.
                NodeStatus::Failure if cx.child_count() == 2 => return Ok(NodeStatus::Failure),
                NodeStatus::Failure => 2,
                NodeStatus::Skipped | NodeStatus::Idle => {
                    return Err(cx.throw("the condition was skipped, so no branch can be chosen; make the condition return SUCCESS or FAILURE"));
                }
            };
            cx.memory().index = branch;
        }
        let branch = cx.memory().index as usize;
        let status = cx.tick_child(branch)?;
        if status != NodeStatus::Running {
            cx.reset_children();
            cx.memory().index = 0;
        }
        Ok(status)
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().index = 0;
        cx.halt_children(reason);
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{if_then_else, reactive_sequence};
    use crate::bt::testing::{Running, Scene, leaf};

    #[test]
    fn the_condition_selects_a_branch_once() {
        Scene::new(if_then_else([
            leaf("if", "SF"),
            leaf("then", "RS"),
            leaf("else", "RF"),
        ]))
        .check(
            "= if then else
             R S R .
             S . S .
             R F . R
             F . . F",
        );
    }

    #[test]
    fn without_a_third_child_a_failed_condition_fails() {
        Scene::new(if_then_else([leaf("if", "FRS"), leaf("then", "F")])).check(
            "= if then
             F F .
             R R .
             F S F",
        );
    }

    #[test]
    fn a_skipped_branch_skips_the_node_and_a_skipped_condition_is_an_error() {
        Scene::new(if_then_else([leaf("if", "S"), leaf("then", "-")])).check(
            "= if then
             - S -",
        );
        let tree = Scene::new(if_then_else([leaf("if", "-"), leaf("then", "S")]));
        let mut run = Running::new(tree.compile().unwrap(), false);
        run.check(
            "= if then
             E - .",
        );
        assert!(run.error.contains("condition was skipped"), "{}", run.error);
    }

    #[test]
    fn a_halt_stops_the_branch_and_the_condition_is_ticked_again() {
        let inner = if_then_else([leaf("if", "SF"), leaf("then", "R"), leaf("else", "R")]);
        Scene::new(reactive_sequence([leaf("ok", "SFS"), inner])).check(
            "= ok if then else
             R S S R .
             F F . . . !then
             R S F . R",
        );
    }

    #[test]
    fn it_needs_two_or_three_children() {
        let refused = Scene::new(if_then_else([leaf("if", "S")])).refused();
        assert_eq!(refused, "`IfThenElse` takes 2 to 3 children and has 1");
        let refused = Scene::new(if_then_else([leaf("if", "S"), leaf("a", "S").priority("2")])).refused();
        assert_eq!(refused, "`IfThenElse` does not visit its children by priority");
    }
}
