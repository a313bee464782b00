//! A loop of one's own: the tree is ticked at a fixed rate, shown as it runs, told what happens outside, and stopped.
//!
//! The engine has no clock and no thread: the time of each tick comes from whoever ticks. Between ticks the loop may do
//! what it likes; an action that runs goes on meanwhile, until it is done or halted.

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

/// What the leaves of this robot work on: no global variable, and each tree has its own.
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
        // The context of a tick: its number, the time since the one before, and what the user has put there.
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

    // Down through the tree and up again.
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

    // A function for every activation that begins, one for every one that ends.
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
        // What happens outside is an event of the next tick.
        if tree.ticks() == 5 {
            tree.emit("button.red", Value::Int(1));
        }
        std::thread::sleep(schedule.due().since(now()));
    };
    assert_eq!((status, tree.ticks()), (NodeStatus::Success, 6));
    assert_eq!(tree.get("button"), Some(&Value::text("button.red")));
    // Whoever stops before the tree is done says so: what runs is halted, once.
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
