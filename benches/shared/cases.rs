//! The trees of the table in `docs/performance.md` that need only the engine.

use std::sync::Arc;

use navtree::bt::builder::{NodeBuilder, forest, leaf, node, tree};
use navtree::bt::{Compiled, NodeStatus, Registry, TreeDef, compile};

/// Name, visits per tick (the last case is measured per tick), definition.
pub(crate) fn cases() -> Vec<(&'static str, u32, Arc<TreeDef>)> {
    let conditions = |count: usize| (0..count).map(|_| leaf("Holds"));
    let reactive = conditions(20).chain([leaf("GoesOn")]);
    let inverters = (0..50).fold(leaf("Holds"), |inner, _| node("Inverter").child(inner));
    let script_conditions = std::iter::once(leaf("Script").port("code", "x := 1"))
        .chain((0..100).map(|_| leaf("ScriptCondition").port("code", "x == 1")));
    vec![
        (
            "sequence_100",
            101,
            define(node("Sequence").children(conditions(100))),
        ),
        (
            "reactive_20_and_running",
            22,
            define(node("ReactiveSequence").children(reactive)),
        ),
        ("inverters_50", 51, define(inverters)),
        (
            "script_conditions_100",
            102,
            define(node("Sequence").children(script_conditions)),
        ),
        (
            "fallback_start_and_halt",
            1,
            define(node("ReactiveFallback").children([leaf("Alternates"), leaf("GoesOn")])),
        ),
    ]
}

#[allow(clippy::panic)] // without a valid tree there is nothing to measure
fn define(root: NodeBuilder) -> Arc<TreeDef> {
    let mut registry = Registry::builtin();
    let registered = registry
        .condition("Holds", |cx| {
            cx.memory().count = cx.memory().count.wrapping_add(1);
            NodeStatus::Success
        })
        .and_then(|()| registry.action("GoesOn", |_| Ok(NodeStatus::Running)))
        .and_then(|()| {
            registry.condition("Alternates", |cx| {
                cx.memory().count ^= 1;
                if cx.memory().count == 0 {
                    NodeStatus::Success
                } else {
                    NodeStatus::Failure
                }
            })
        });
    assert!(registered.is_ok(), "the IDs are free");
    match compile(&forest([tree("Main", root)]), "Main", &registry) {
        Ok(Compiled { def, .. }) => def,
        Err(problems) => panic!("{problems:?}"),
    }
}
