//! `Script`: runs a script.

use crate::bt::nodes::code::Code;
use crate::bt::script::ScriptResult;
use crate::bt::{Behavior, Context, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Tick};

/// Runs a script.
#[derive(Debug)]
pub struct ScriptAction {
    code: Code,
}

impl Node for ScriptAction {
    const ID: &'static str = "Script";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Runs a script and returns SUCCESS, whatever its value is. A script that fails is \
        an error of the tree.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            code: Code::bind(ports, "code", ScriptResult::Ignored, "Script to run."),
        }
    }
}

impl Behavior for ScriptAction {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        self.code.run(cx)?;
        Ok(NodeStatus::Success)
    }

    fn node_effects(&self, _kind: NodeKind, _children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::always(Outcomes::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use crate::bt::builder::leaf;
    use crate::bt::testing::{Running, Scene};

    #[test]
    fn it_writes_the_blackboard_and_succeeds() {
        Scene::new(leaf("Script").port("code", "x := 1; y := x + 1")).check(
            "=
             S x=1 y=2.0",
        );
        Scene::new(leaf("Script").port("code", "false")).check("=\n S");
    }

    #[test]
    fn only_the_empty_script_is_refused() {
        Scene::new(leaf("Script").port("code", "")).check("=\n S");
        for node in [
            leaf("Script").port("code", " "),
            leaf("Script").port("code", ";"),
            leaf("ScriptCondition").port("code", ""),
            leaf("AlwaysSuccess").port("_onSuccess", ""),
        ] {
            let refused = Scene::new(node.clone()).refused();
            assert!(refused.contains("script in"), "{node:?}: {refused}");
        }
    }

    #[test]
    fn a_script_that_fails_is_an_error() {
        let tree = Scene::new(leaf("Script").port("code", "x := missing"))
            .compile()
            .unwrap();
        let mut run = Running::new(tree, false);
        run.check("=\n E");
        assert!(run.error.contains("missing"), "{}", run.error);
        assert!(Scene::new(leaf("Script").port("code", "x :=")).compile().is_err());
        assert!(
            Scene::new(leaf("Script"))
                .refused()
                .contains("needs the port `code`")
        );
    }

    #[test]
    fn the_script_may_be_on_the_blackboard() {
        let scene = Scene::new(leaf("Script").port("code", "{program}")).text("program", "x := 1");
        let mut run = Running::new(scene.compile().unwrap(), false);
        run.check("=\n S x=1");
        run.tree
            .set::<crate::bt::Text>("program", "x := 2".into())
            .unwrap();
        run.check("=\n S x=2");
    }
}
