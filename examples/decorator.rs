//! A decorator: a node with one child.
//!
//! This one ticks its child a limited number of times in a run, and skips it from then on.

use navtree::bt::builder::{forest, leaf, node, sequence, tree};
use navtree::bt::{
    Behavior, Context, HaltReason, Input, Node, NodeEffects, NodeKind, NodeStatus, Outcomes, Ports, Registry,
    Tick, Time, Tree, compile,
};

/// Lets its child complete at most `times` times.
struct AtMost {
    times: Input<u32>,
}

impl Node for AtMost {
    const ID: &'static str = "AtMost";
    const KIND: NodeKind = NodeKind::Decorator;
    const DOC: &'static str = "Its child, until that has completed so often; then SKIPPED.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            times: ports.input("times").required().doc("how often").bind(),
        }
    }
}

impl Behavior for AtMost {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        // `memory` is zero when the tree starts and belongs to this node.
        if cx.memory().count >= self.times.require(cx)? {
            return Ok(NodeStatus::Skipped);
        }
        cx.set_status(NodeStatus::Running);
        let status = cx.tick_child(0)?;
        if status.is_completed() {
            cx.memory().count += 1;
            // Reset a completed child, so that it starts again next time.
            cx.halt_child(0, HaltReason::ParentFinished);
        }
        Ok(status)
    }

    // `halt` is not needed: its default halts the child, and the count must survive a halt.

    /// The possible results, for the warnings of `navtree check`: those of its child, or SKIPPED.
    fn node_effects(&self, _kind: NodeKind, children: &[NodeEffects]) -> NodeEffects {
        NodeEffects::around(children, |child| child | Outcomes::SKIPPED).at_times()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.register::<AtMost>()?;
    registry.action("Greet", |_| {
        println!("hello");
        Ok(NodeStatus::Success)
    })?;

    let greet_twice = node("AtMost").port("times", 2).child(leaf("Greet"));
    let forest = forest([tree("Main", sequence([greet_twice]))]);
    let compiled = compile(&forest, "Main", &registry).map_err(|problems| format!("{problems:?}"))?;
    let mut tree = Tree::new(compiled.def);
    for expected in [NodeStatus::Success, NodeStatus::Success, NodeStatus::Skipped] {
        assert_eq!(tree.tick(Time::ZERO)?, expected);
    }
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
