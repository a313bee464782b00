//! `Precondition`: ticks the child if a script is true.

use crate::bt::nodes::code::Code;
use crate::bt::nodes::outcomes_of;
use crate::bt::script::ScriptResult;
use crate::bt::{Behavior, Context, Input, Node, NodeEffects, NodeKind, NodeStatus, Ports, Tick};

/// Evaluates a script before it starts its child.
#[derive(Debug)]
pub struct Precondition {
    condition: Code,
    otherwise: Input<NodeStatus>,
}

impl Node for Precondition {
    const ID: &'static str = "Precondition";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Evaluates a script before its child starts. Ticks the child if the script is \
        true; returns the status of 'else' if it is false. The script is not evaluated again until the child has \
        completed or another run of the whole tree begins. If evaluates it at every tick.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            condition: Code::bind(ports, "if", ScriptResult::Truth, "Script that must be true."),
            otherwise: ports
                .input::<NodeStatus>("else")
                .default("FAILURE")
                .doc("Result if the script is false.")
                .bind(),
        }
    }
}

impl Behavior for Precondition {
    fn resets_child(&self) -> bool {
        true
    }

    /// `memory.index` is 1 from the time the script was true until the child completes or the run ends. As in
    /// BehaviorTree.CPP, a halt within the run or a skipped child does not clear it.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let otherwise = self.otherwise.require(cx)?;
        if cx.memory().index == 0 {
            if !self.condition.test(cx)? {
                return Ok(otherwise);
            }
            cx.memory().index = 1;
        }
        let status = cx.tick_only_child()?;
        if status.is_completed() {
            cx.memory().index = 0;
        }
        Ok(status)
    }

    /// BehaviorTree.CPP does not evaluate the script in a navigation that follows a cancelled one.
    fn rewind(&self, cx: &mut Context<'_>) {
        cx.memory().index = 0;
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        let otherwise = outcomes_of(&self.otherwise);
        NodeEffects::around(children, |child| child | otherwise).at_times()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{node, reactive_sequence};
    use crate::bt::testing::{Running, Scene, condition, leaf};

    #[test]
    fn the_script_is_evaluated_only_before_the_child_starts() {
        let tree = node("Precondition").port("if", "go == 1").port("else", "RUNNING");
        let scene = Scene::new(tree.child(leaf("a", "RRS"))).set("go", 0_i32);
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check(
            "= a
             R .",
        );
        run.tree.set("go", 1_i32).unwrap();
        run.check(
            "= a
             R R",
        );
        run.tree.set("go", 0_i32).unwrap();
        run.check(
            "= a
             R R
             S S
             R .",
        );
    }

    #[test]
    fn the_script_is_evaluated_again_in_the_next_run() {
        let tree = node("Precondition").port("if", "go == 1");
        let scene = Scene::new(tree.child(leaf("a", "R"))).set("go", 1_i32);
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check(
            "= a
             R R
             halt !a",
        );
        run.tree.set("go", 0_i32).unwrap();
        run.check(
            "= a
             F .",
        );
    }

    #[test]
    fn the_script_is_not_evaluated_again_after_a_halt_within_a_run() {
        let guarded = node("Precondition").port("if", "go == 1").child(leaf("a", "R"));
        let tree = reactive_sequence([condition("ok", "SFS"), guarded]);
        let mut run = Running::new(Scene::new(tree).set("go", 1_i32).compile().unwrap(), false);
        run.check(
            "= ok a
             R S R
             F F . !a",
        );
        run.tree.set("go", 0_i32).unwrap();
        run.check(
            "= ok a
             R S R",
        );
    }

    #[test]
    fn the_script_may_be_on_the_blackboard() {
        let tree = || node("Precondition").port("if", "{script}").child(leaf("a", "S"));
        Scene::new(tree()).text("script", "1 < 2").check(
            "= a
             S S",
        );
        Scene::new(tree()).text("script", "1 > 2").check(
            "= a
             F .",
        );
        let mut run = Running::new(Scene::new(tree()).text("script", "1 <").compile().unwrap(), false);
        run.check(
            "= a
             E .",
        );
    }
}
