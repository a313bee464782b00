//! A control: a node that ticks its children in a custom order.
//!
//! This one ticks its children in turn, one per tick, until one of them completes.

use navtree::bt::builder::{forest, leaf, node, tree};
use navtree::bt::{
    Behavior, Context, HaltReason, Node, NodeKind, NodeStatus, Ports, Registry, Tick, Time, Tree, compile,
};

/// Ticks its children in turn.
struct TakeTurns;

impl Node for TakeTurns {
    const ID: &'static str = "TakeTurns";
    const KIND: NodeKind = NodeKind::Control;
    const DOC: &'static str =
        "Ticks one child a tick, each in its turn, and returns what the first to complete returns.";
    /// The minimum and maximum number of children: a file with another number is rejected.
    const CHILDREN: (usize, usize) = (2, usize::MAX);

    fn bind(_ports: &mut Ports<'_>) -> Self {
        Self
    }
}

impl Behavior for TakeTurns {
    /// `memory.index` is the next child to tick.
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        cx.set_status(NodeStatus::Running);
        let turn = cx.memory().index;
        cx.memory().index = (turn + 1) % cx.child_count() as u32;
        let status = cx.tick_child(turn as usize)?;
        if status.is_completed() {
            cx.memory().index = 0;
            // The children that still run are halted, each once, in this tick.
            cx.halt_children(HaltReason::Preempted);
        }
        Ok(if status.is_completed() {
            status
        } else {
            NodeStatus::Running
        })
    }

    fn halt(&self, cx: &mut Context<'_>, reason: HaltReason) {
        cx.memory().index = 0;
        cx.halt_children(reason);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.register::<TakeTurns>()?;

    let race = node("TakeTurns").children([
        leaf("Sleep").name("slow").port("msec", 100),
        leaf("Sleep").name("fast").port("msec", 25),
    ]);
    let compiled = compile(&forest([tree("Main", race)]), "Main", &registry)
        .map_err(|problems| format!("{problems:?}"))?;
    let mut tree = Tree::new(compiled.def);
    let mut ticks = 1;
    while tree.tick(Time::from_millis(ticks * 10))? == NodeStatus::Running {
        ticks += 1;
    }
    // `fast` was ticked in every second tick: started at 20 ms, ended at 60 ms.
    assert_eq!(ticks, 6);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
