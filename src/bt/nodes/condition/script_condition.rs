//! `ScriptCondition`: evaluates a script as a condition.

use crate::bt::nodes::code::Code;
use crate::bt::script::ScriptResult;
use crate::bt::{Behavior, Context, Node, NodeKind, NodeStatus, Ports, Tick};

/// Evaluates a script.
#[derive(Debug)]
pub struct ScriptCondition {
    code: Code,
}

impl Node for ScriptCondition {
    const ID: &'static str = "ScriptCondition";
    const KIND: NodeKind = NodeKind::Condition;
    const DOC: &'static str = "SUCCESS if a script is true, FAILURE if it is false. A value that is not a \
        boolean (a text, a negative number) is an error of the tree.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            code: Code::bind(ports, "code", ScriptResult::Truth, "Script to evaluate."),
        }
    }
}

impl Behavior for ScriptCondition {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        Ok(if self.code.test(cx)? {
            NodeStatus::Success
        } else {
            NodeStatus::Failure
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::leaf;
    use crate::bt::testing::{Running, Scene};

    #[test]
    fn the_script_is_evaluated_at_every_tick() {
        let scene = Scene::new(leaf("ScriptCondition").port("code", "x > 1 && x < 3")).set("x", 1_i32);
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check("=\n F");
        run.tree.set("x", 2_i32).unwrap();
        run.check("=\n S");
    }

    #[test]
    fn a_value_that_is_not_a_boolean_is_an_error() {
        Scene::new(leaf("ScriptCondition").port("code", "x"))
            .text("x", "text")
            .check("=\n E");
        Scene::new(leaf("ScriptCondition").port("code", "x"))
            .set("x", -1.0)
            .check("=\n E");
    }
}
