//! `If`: ticks the child while a script is true.

use crate::bt::nodes::code::Code;
use crate::bt::nodes::outcomes_of;
use crate::bt::script::ScriptResult;
use crate::bt::{Behavior, Context, HaltReason, Input, Node, NodeEffects, NodeKind, NodeStatus, Ports, Tick};

/// Evaluates a script at every tick.
#[derive(Debug)]
pub struct If {
    condition: Code,
    otherwise: Input<NodeStatus>,
}

impl Node for If {
    const ID: &'static str = "If";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Evaluates a script at every tick. Ticks the child while the script is true; \
        otherwise halts a running child and returns the status of 'else'. Precondition evaluates its script only \
        before the child starts.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            condition: Code::bind(
                ports,
                "condition",
                ScriptResult::Truth,
                "Script that must be true.",
            ),
            otherwise: ports
                .input::<NodeStatus>("else")
                .default("FAILURE")
                .doc("Result if the script is false.")
                .bind(),
        }
    }
}

impl Behavior for If {
    fn resets_child(&self) -> bool {
        true
    }

    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        if self.condition.test(cx)? {
            return cx.tick_only_child();
        }
        cx.halt_child(0, HaltReason::Preempted);
        self.otherwise.require(cx)
    }

    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | outcomes_of(&self.otherwise)).at_times()
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::{NodeBuilder, node};
    use crate::bt::testing::{Running, Scene, leaf};

    #[test]
    fn the_script_is_evaluated_while_the_child_runs() {
        let tree = node("If").port("condition", "go").child(leaf("a", "R"));
        let mut run = Running::new(Scene::new(tree).set("go", true).compile().unwrap(), false);
        run.check(
            "= a
             R R",
        );
        run.tree.set("go", false).unwrap();
        run.check(
            "= a
             F . !a
             F .",
        );
    }

    #[test]
    fn several_conditions_make_a_switch() {
        let case =
            |condition: &str, child: NodeBuilder| node("Case").port("condition", condition).child(child);
        let tree = node("Switch").children([
            case("it == 1", leaf("one", "R")),
            case("it == 2", leaf("two", "R")),
            leaf("other", "R"),
        ]);
        let mut run = Running::new(Scene::new(tree).set("it", 2_i32).compile().unwrap(), false);
        run.check(
            "= one two other
             R . R .",
        );
        run.tree.set("it", 1_i32).unwrap();
        run.check(
            "= one two other
             R R . . !two",
        );
        run.tree.set("it", 3_i32).unwrap();
        run.check(
            "= one two other
             R . . R !one",
        );
    }
}
