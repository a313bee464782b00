//! Many trees with one definition: a file is read and compiled once, and each robot has its own run.
//!
//! The creation of a run reads and parses nothing; a run contains the statuses of its nodes and its blackboard.

use std::sync::Arc;

use navtree::bt::{NodeStatus, Registry, ScopeId, Time, Tree};
use navtree::xml::Loader;

const TREE: &str = r#"
<root BTCPP_format="4">
  <BehaviorTree ID="Main">
    <Sequence>
      <Script code="trips := 0"/>
      <Repeat num_cycles="{rounds}">
        <Sequence>
          <Sleep msec="10"/>
          <Script code="trips += 1"/>
        </Sequence>
      </Repeat>
    </Sequence>
  </BehaviorTree>
</root>"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.provide_key("rounds");
    let loaded = Loader::new(&registry).load_text("fleet", TREE, ".".as_ref(), None)?;

    let mut fleet = Vec::new();
    for robot in 0..1000 {
        let mut tree = Tree::new(Arc::clone(&loaded.def));
        tree.set("rounds", robot % 5)?;
        fleet.push(tree);
    }
    // A sweep ticks each of them once; the caller passes the time.
    let mut now = Time::ZERO;
    let mut running = fleet.len();
    while running > 0 {
        running = 0;
        for tree in &mut fleet {
            // So many runs do not fit in the processor's cache: `preload` loads all parts of a run at once.
            tree.preload();
            if tree.root_status() != NodeStatus::Success && tree.tick(now)? == NodeStatus::Running {
                running += 1;
            }
        }
        now = now + std::time::Duration::from_millis(10);
    }
    for (robot, tree) in (0..).zip(&fleet) {
        assert_eq!(
            tree.export(ScopeId::ROOT)["trips"].as_f64(),
            Some(f64::from(robot % 5))
        );
    }
    println!("1000 robots in {} ms", now.as_nanos() / 1_000_000);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
