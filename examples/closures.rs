//! Conditions and actions from closures: the shortest way to a custom node.
//!
//! A condition checks something and returns at once. An action from a closure ends within its tick; use a stateful leaf
//! (`stateful_leaf.rs`) or an asynchronous one (`async_leaf.rs`) for longer work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use navtree::bt::{NodeStatus, Registry, Time, Tree};
use navtree::xml::Loader;

const TREE: &str = r#"
<root BTCPP_format="4">
  <BehaviorTree ID="Main">
    <Fallback>
      <BatteryOk/>
      <Announce/>
    </Fallback>
  </BehaviorTree>
</root>"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Closures share data with the program as usual. They must not wait for it.
    let charge = Arc::new(AtomicU32::new(80));
    let announced = Arc::new(AtomicU32::new(0));

    let mut registry = Registry::builtin();
    let reading = Arc::clone(&charge);
    registry.condition("BatteryOk", move |_| {
        if reading.load(Ordering::Relaxed) > 20 {
            NodeStatus::Success
        } else {
            NodeStatus::Failure
        }
    })?;
    let counter = Arc::clone(&announced);
    registry.action("Announce", move |cx| {
        counter.fetch_add(1, Ordering::Relaxed);
        println!("{}: the battery is low", cx.path());
        Ok(NodeStatus::Success)
    })?;

    let loaded = Loader::new(&registry).load_text("closures", TREE, ".".as_ref(), None)?;
    let mut tree = Tree::new(loaded.def);
    assert_eq!(tree.tick(Time::ZERO)?, NodeStatus::Success);
    assert_eq!(announced.load(Ordering::Relaxed), 0);

    charge.store(10, Ordering::Relaxed);
    assert_eq!(tree.tick(Time::from_millis(10))?, NodeStatus::Success);
    assert_eq!(announced.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
