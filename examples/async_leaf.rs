//! A leaf whose work is an `async fn`, with a cancellation token.
//!
//! The future runs on an executor of your choice: here a separate thread, in a program with tokio the runtime's handle.
//! The tick only polls the result. A halt cancels the token and returns at once; the future cannot change the tree any
//! more. The leaf does not start its next job before this one has ended.

use std::time::{Duration, Instant};

use navtree::bt::{
    Context, HaltReason, Input, NodeStatus, Output, Ports, Registry, Text, Thrown, Tick, Time, Tree, Value,
};
use navtree::job::{self, AsyncNode, CancellationToken, Threads};
use navtree::xml::Loader;

/// Fetches an order from a store.
struct FetchOrder {
    shelf: Input<Text>,
    order: Output<Text>,
}

impl AsyncNode for FetchOrder {
    /// The inputs of the job, by value: the job never reads the blackboard.
    type Input = Text;
    /// The result.
    type Output = Result<String, String>;
    const ID: &'static str = "FetchOrder";
    const DOC: &'static str = "Asks the store for the next order from a shelf.";

    fn bind(ports: &mut Ports<'_>) -> Self {
        Self {
            shelf: ports.input("shelf").required().doc("which shelf").bind(),
            order: ports.output("order").doc("the order").bind(),
        }
    }

    fn input(&self, cx: &mut Context<'_>) -> Result<Text, Thrown> {
        self.shelf.require(cx)
    }

    async fn run(shelf: Text, cancel: CancellationToken) -> Result<String, String> {
        match cancel.run(ask_the_store(&shelf)).await {
            Some(order) => order,
            // Notify the store here that the order is no longer needed.
            None => Err("cancelled".to_owned()),
        }
    }

    fn output(&self, cx: &mut Context<'_>, order: Result<String, String>) -> Tick {
        match order {
            Ok(order) => {
                self.order.set(cx, order.into())?;
                Ok(NodeStatus::Success)
            }
            Err(_) => Ok(NodeStatus::Failure),
        }
    }
}

/// Simulates a request on the network.
async fn ask_the_store(shelf: &str) -> Result<String, String> {
    match shelf {
        "closed" => std::future::pending().await,
        _ => Ok(format!("two boxes from {shelf}")),
    }
}

const TREE: &str = r#"
<root BTCPP_format="4">
  <BehaviorTree ID="Main">
    <FetchOrder shelf="{shelf}" order="{order}"/>
  </BehaviorTree>
</root>"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    job::register::<FetchOrder>(&mut registry, Threads)?;
    // Without ports, a function that returns a future is enough.
    job::register_function(&mut registry, "Ping", Threads, |_cancel| async {
        NodeStatus::Success
    })?;

    let loaded = Loader::new(&registry).load_text("orders", TREE, ".".as_ref(), None)?;
    let mut tree = Tree::new(loaded.def);
    tree.set::<Text>("shelf", "A7".into())?;
    let start = Instant::now();
    let status = loop {
        match tree.tick(Time::ZERO)? {
            NodeStatus::Running if start.elapsed() < Duration::from_secs(10) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            status => break status,
        }
    };
    assert_eq!(status, NodeStatus::Success);
    assert_eq!(tree.get("order"), Some(&Value::text("two boxes from A7")));

    // A store that never answers: the halt returns at once, and the future ends.
    tree.set::<Text>("shelf", "closed".into())?;
    assert_eq!(tree.tick(Time::ZERO)?, NodeStatus::Running);
    tree.halt(HaltReason::GoalCanceled, Time::ZERO);
    assert_eq!(tree.root_status(), NodeStatus::Idle);
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
