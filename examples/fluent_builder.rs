//! A tree in Rust instead of XML: nested functions in the shape of the tree.
//!
//! It is compiled and checked like a file. Custom functions extend the notation.

use navtree::bt::builder::{
    NodeBuilder, fallback, forest, inverter, leaf, reactive_sequence, retry, sequence, subtree, timeout, tree,
};
use navtree::bt::{NodeStatus, Registry, Time, Tree, compile};

/// A custom function: drives to a place, with one retry, for a minute at most.
fn drive_to(place: &str) -> NodeBuilder {
    timeout(
        60_000,
        retry(2, leaf("Drive").name(format!("drive to the {place}"))),
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.condition("BatteryLow", |_| NodeStatus::Failure)?;
    registry.action("Drive", |cx| {
        println!("{}", cx.path());
        Ok(NodeStatus::Success)
    })?;
    registry.provide_key("visits");

    let forest = forest([
        tree(
            "Patrol",
            fallback([
                reactive_sequence([
                    inverter(leaf("BatteryLow")),
                    sequence([
                        drive_to("gate"),
                        drive_to("yard"),
                        leaf("Script").port("code", "visits += 1"),
                    ]),
                ]),
                subtree("Recharge").port("_autoremap", true),
            ]),
        ),
        tree("Recharge", drive_to("dock").on_success("visits := 0")),
    ]);
    let compiled = compile(&forest, "Patrol", &registry).map_err(|problems| format!("{problems:?}"))?;
    assert!(compiled.warnings.is_empty(), "{:?}", compiled.warnings);

    let mut tree = Tree::new(compiled.def);
    tree.set("visits", 0_i32)?;
    assert_eq!(tree.tick(Time::ZERO)?, NodeStatus::Success);
    assert_eq!(tree.get("visits"), Some(&navtree::bt::Value::Int(1)));
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
