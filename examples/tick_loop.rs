//! A custom loop: ticks the tree at a fixed rate, prints its state, emits events from outside, and halts it.
//!
//! The engine has no clock and no thread: the caller passes the time of each tick. The loop is free between ticks; a
//! running action continues until it completes or is halted.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use navtree::bt::{Ended, HaltReason, Hooks, NodeIndex, NodeStatus, Registry, Resource, Time, Tree, Value};
use navtree::monitor::live::LiveTree;
use navtree::navigator::Schedule;
use navtree::xml::Loader;

const TREE: &str = r#"
<root BTCPP_format="4">
  <BehaviorTree ID="Main">
    <Parallel success_count="1" failure_count="2">
      <Signal pattern="button.*" else="RUNNING" event="{button}"><AlwaysSuccess name="stop"/></Signal>
      <Patrol/>
    </Parallel>
  </BehaviorTree>
</root>"#;

/// The data of the leaves of this robot. It is no global variable: each tree has its own.
#[derive(Default)]
struct Robot {
    driven: Duration,
}

impl Resource for Robot {
    fn as_any_mut(&mut self) -> &mut dyn std::any::Any {
        self
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut registry = Registry::builtin();
    registry.action("Patrol", |cx| {
        // The context of a tick: its number, the time since the previous tick, and the user's data.
        let (number, passed) = (cx.tick_number(), cx.since_last_tick());
        if let Some(robot) = cx.resource::<Robot>() {
            robot.driven += passed;
            println!("tick {number}: {:?} on patrol", robot.driven);
        }
        Ok(NodeStatus::Running)
    })?;
    let def = Loader::new(&registry)
        .load_text("loop", TREE, ".".as_ref(), None)?
        .def;

    // A traversal of the tree, down and up again.
    let outline = std::cell::RefCell::new(String::new());
    def.walk(
        NodeIndex::ROOT,
        &mut |_, info| {
            outline.borrow_mut().push_str(&info.id);
            outline.borrow_mut().push('(');
        },
        &mut |_, _| outline.borrow_mut().push(')'),
    );
    assert_eq!(outline.into_inner(), "Parallel(Signal(AlwaysSuccess())Patrol())");

    // Hooks for the start and the end of each activation.
    let live = Arc::new(Mutex::new(LiveTree::new(&def)));
    let mut tree = Tree::new(Arc::clone(&def));
    let (begun, ended) = (Arc::clone(&live), Arc::clone(&live));
    tree.set_observer(Some(Box::new(
        Hooks::new()
            .on_enter(move |_, node, _| show(&begun, node, NodeStatus::Running))
            .on_terminate(move |_, node, how, _| match how {
                Ended::Completed(status) => show(&ended, node, status),
                Ended::Halted(_) => show(&ended, node, NodeStatus::Idle),
            }),
    )));
    tree.insert_resource(Robot::default());

    let begin = Instant::now();
    let now = || Time::ZERO + begin.elapsed();
    let mut schedule = Schedule::new(now(), Duration::from_millis(2));
    let status = loop {
        let status = tree.tick(now())?;
        if let Ok(live) = live.lock() {
            println!("{}", live.lines(&def, false).join("\n"));
        }
        schedule.ticked(now(), None);
        if status != NodeStatus::Running {
            break status;
        }
        // An external event is seen by the next tick.
        if tree.ticks() == 5 {
            tree.emit("button.red", Value::Int(1));
        }
        std::thread::sleep(schedule.due().since(now()));
    };
    assert_eq!((status, tree.ticks()), (NodeStatus::Success, 6));
    assert_eq!(tree.get("button"), Some(&Value::text("button.red")));
    // Halt the tree to stop before it completes: each running node is halted once.
    tree.tick(now())?;
    tree.halt(HaltReason::ShuttingDown, now());
    assert_eq!(tree.root_status(), NodeStatus::Idle);
    Ok(())
}

fn show(live: &Mutex<LiveTree>, node: NodeIndex, status: NodeStatus) {
    if let Ok(mut live) = live.lock() {
        live.change(node.uid(), status);
    }
}

#[test]
fn runs() {
    main().unwrap();
}
