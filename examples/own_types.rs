//! A custom type on the blackboard.
//!
//! Large values are shared, never copied: a port of type `Arc<T>` reads the same object that another node wrote.

use std::sync::Arc;

use navtree::bt::{
    Behavior, Context, Input, Node, NodeKind, NodeStatus, Output, Ports, Registry, Tick, Time, Tree, Value,
};
use navtree::xml::Loader;

/// A place in the warehouse.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    aisle: u32,
    level: u32,
}

/// Its text in a file: `aisle;level`.
fn parse(text: &str) -> Result<Place, String> {
    let numbers: Vec<u32> = text
        .split(';')
        .map(|part| part.parse().map_err(|_| format!("'{part}' is not a number")))
        .collect::<Result<_, _>>()?;
    match numbers.as_slice() {
        [aisle, level] => Ok(Place {
            aisle: *aisle,
            level: *level,
        }),
        _ => Err("a place is 'aisle;level'".to_owned()),
    }
}

// Its name, its name in C++ (for Groot), its parser, and its text for monitors.
navtree::object!(Place, "Place", "warehouse::Place", parse, |place| {
    serde_json::json!({"aisle": place.aisle, "level": place.level})
});

/// Computes the place above.
struct Above {
    place: Input<Arc<Place>>,
    above: Output<Arc<Place>>,
}

impl Node for Above {
    const ID: &'static str = "Above";
    const KIND: NodeKind = NodeKind::Action;
    const DOC: &'static str = "The place one level up.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            place: ports.input("place").required().doc("a place: aisle;level").bind(),
            above: ports.output("above").doc("the one above it").bind(),
        }
    }
}

impl Behavior for Above {
    fn tick(&self, cx: &mut Context<'_>) -> Tick {
        let place = self.place.require(cx)?;
        let above = Place {
            level: place.level + 1,
            ..*place
        };
        self.above.set(cx, Arc::new(above))?;
        Ok(NodeStatus::Success)
    }
}

const TREE: &str = r#"
<root BTCPP_format="4">
  <BehaviorTree ID="Main">
    <Sequence>
      <Above place="7;1" above="{place}"/>
      <Above place="{place}" above="{place}"/>
    </Sequence>
  </BehaviorTree>
</root>"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.register::<Above>()?;
    let loaded = Loader::new(&registry).load_text("places", TREE, ".".as_ref(), None)?;
    let mut tree = Tree::new(loaded.def);
    assert_eq!(tree.tick(Time::ZERO)?, NodeStatus::Success);
    let place = tree.get("place").and_then(Value::downcast::<Place>);
    assert_eq!(place.as_deref(), Some(&Place { aisle: 7, level: 3 }));

    // Literals are parsed when the tree is loaded, so an error is found before the robot moves.
    let wrong = TREE.replace("7;1", "7");
    let refused = Loader::new(&registry).load_text("wrong", &wrong, ".".as_ref(), None);
    println!("{}", refused.err().ok_or("it should not load")?);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
