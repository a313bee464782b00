//! `WhileDoElse`: evaluates a condition at every tick and ticks the matching branch.

use crate::bt::{Behavior, Context, Dialect, HaltReason, Node, NodeKind, NodeStatus, Ports, Tick};

/// Switches branches when its condition changes.
#[derive(Debug)]
pub struct WhileDoElse;

impl Node for WhileDoElse {
    const ID: &'static str = "WhileDoElse";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str = "Ticks its first child at every tick. While it succeeds, ticks the second child; \
        while it fails, the third. When the condition changes, the running branch is halted before the other \
        starts. Without a third child, the result is FAILURE if the condition fails. Version 3 files need \
        exactly three children.";
    const CHILDREN: (usize, usize) = (2, 3);

    fn bind(ports: &mut Ports<'_>) -> Self {
        if ports.dialect() == Dialect::V3 && ports.children() == 2 {
            ports.problem("`WhileDoElse` takes exactly 3 children in version 3 and has 2");
        }
        Self
    }
}

impl Behavior for WhileDoElse {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        let has_else = cx.child_count() == 3;
        let status = match cx.tick_child(0)? {
            // The running branch is neither ticked nor halted while the condition is running.
            NodeStatus::Running => return Ok(NodeStatus::Running),
            NodeStatus::Success => {
                if has_else {
                    cx.halt_child(2, HaltReason::Preempted);
                }
                cx.tick_child(1)?
            }
            NodeStatus::Failure if has_else => {
                cx.halt_child(1, HaltReason::Preempted);
                cx.tick_child(2)?
            }
            NodeStatus::Failure => NodeStatus::Failure,
            NodeStatus::Skipped | NodeStatus::Idle => {
                cx.halt_children(HaltReason::Preempted);
                return Err(cx.throw("the condition was skipped, so no branch can be chosen; make the condition return SUCCESS or FAILURE"));
            }
        };
        if status != NodeStatus::Running {
            cx.halt_children(HaltReason::Preempted);
        }
        Ok(status)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::while_do_else;
    use crate::bt::testing::{Running, Scene, leaf};

    #[test]
    fn the_condition_is_ticked_at_every_tick_and_its_change_halts_the_other_branch() {
        Scene::new(while_do_else([
            leaf("while", "SSFFS"),
            leaf("do", "R"),
            leaf("else", "R"),
        ]))
        .check(
            "= while do else
             R S R .
             R S R .
             R F . R !do
             R F . R
             R S R . !else",
        );
    }

    #[test]
    fn a_completed_branch_gives_the_result() {
        Scene::new(while_do_else([
            leaf("while", "SF"),
            leaf("do", "S"),
            leaf("else", "F"),
        ]))
        .check(
            "= while do else
             S S S .
             F F . F",
        );
    }

    #[test]
    fn without_a_third_child_a_failed_condition_fails() {
        Scene::new(while_do_else([leaf("while", "SFR"), leaf("do", "R")])).check(
            "= while do
             R S R
             F F . !do
             R R .",
        );
    }

    #[test]
    fn a_skipped_condition_is_an_error() {
        let tree = Scene::new(while_do_else([leaf("while", "-"), leaf("do", "S")]));
        let mut run = Running::new(tree.compile().unwrap(), false);
        run.check(
            "= while do
             E - .",
        );
        assert!(run.error.contains("condition was skipped"), "{}", run.error);
    }

    #[test]
    fn version_3_needs_three_children() {
        let tree = while_do_else([leaf("while", "S"), leaf("do", "S")]);
        assert_eq!(
            Scene::new(tree).v3().refused(),
            "`WhileDoElse` takes exactly 3 children in version 3 and has 2"
        );
    }
}
