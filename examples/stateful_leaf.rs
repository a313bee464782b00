//! A leaf with ports that runs for more than one tick.
//!
//! The type contains the ports from the file and is shared by all runs of the tree. The state of one run is in
//! `cx.memory()` for a few counters, and in `cx.state::<T>()` for anything larger.

use navtree::bt::{
    Behavior, Context, HaltReason, Input, Node, NodeKind, NodeStatus, Output, Ports, Registry, Text, Tick,
    Time, Tree,
};
use navtree::xml::Loader;

/// Lifts the fork by a step in each tick.
struct Lift {
    height: Input<f64>,
    speed: Input<f64>,
    reached: Output<f64>,
    log: Output<Text>,
}

/// The state of one run.
#[derive(Default)]
struct Fork {
    height: f64,
}

impl Node for Lift {
    const ID: &'static str = "Lift";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "Lifts the fork. FAILURE where it cannot go that high.";

    /// Each port is declared and bound in one expression. The checks of files, the palette for Groot and the reference
    /// page use these declarations.
    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            height: ports.input("height").unit("m").required().doc("how high").bind(),
            speed: ports
                .input("speed")
                .unit("m")
                .default("0.1")
                .doc("how far in one tick")
                .bind(),
            reached: ports
                .output("reached")
                .unit("m")
                .doc("how high the fork is now")
                .bind(),
            log: ports.output("log").doc("what happened").bind(),
        }
    }
}

impl Behavior for Lift {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        // A port that cannot be read fails the tree, with a message that names the node, the port and the location.
        let height = self.height.require(cx)?;
        let speed = self.speed.require(cx)?;
        if height > 2.0 {
            self.log.set(cx, format!("{height} m is too high").into())?;
            return Ok(NodeStatus::Failure);
        }
        let fork = cx.state::<Fork>();
        fork.height = (fork.height + speed).min(height);
        let now = fork.height;
        self.reached.set(cx, now)?;
        Ok(if now < height {
            NodeStatus::Running
        } else {
            NodeStatus::Success
        })
    }

    /// Called exactly once for each halted activation. It must not wait.
    fn halt(&self, cx: &mut Context<'_>, _reason: HaltReason) {
        println!("{}: stopped at {:.1} m", cx.path(), cx.state::<Fork>().height);
    }
}

const TREE: &str = r#"
<root BTCPP_format="4">
  <BehaviorTree ID="Main">
    <ReactiveSequence>
      <ScriptCondition code="!stop"/>
      <Lift height="0.5" reached="{height}"/>
    </ReactiveSequence>
  </BehaviorTree>
</root>"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.register::<Lift>()?;

    // A wrong file is rejected as a whole, with all its errors and their locations.
    let wrong = TREE.replace("height=\"0.5\"", "hight=\"0.5\"");
    let refused = Loader::new(&registry).load_text("wrong", &wrong, ".".as_ref(), None);
    println!("{}", refused.err().ok_or("it should not load")?);

    let loaded = Loader::new(&registry).load_text("lift", TREE, ".".as_ref(), None)?;
    let mut tree = Tree::new(loaded.def);
    tree.set("stop", false)?;
    for tick in 0..3 {
        assert_eq!(tree.tick(Time::from_millis(tick * 10))?, NodeStatus::Running);
    }
    tree.set("stop", true)?;
    assert_eq!(tree.tick(Time::from_millis(30))?, NodeStatus::Failure);
    println!(
        "{}",
        serde_json::to_string(&tree.export(navtree::bt::ScopeId::ROOT))?
    );
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
