//! behaviortree-rs: reads BehaviorTree.CPP's files, every tick is a future. One executor runs the whole loop.

use std::cell::Cell;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use behaviortree_rs::basic_types::PortsList;
use behaviortree_rs::macros::{define_ports, input_port, output_port, register_action_node};
use behaviortree_rs::nodes::{NodeResult, NodeStatus};
use behaviortree_rs::tree::{AsyncTree, Factory};
use behaviortree_rs::{Blackboard, bt_node};
use futures::executor::block_on;

use crate::{least_time, many, tell_of};

const PEER: &str = "behaviortree-rs";

/// Reads in one tick.
const READS: u32 = 1000;

thread_local! {
    /// How long the condition that stands for the rate controller holds.
    static PERIOD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

#[bt_node(SyncActionNode)]
struct Holds {
    #[bt(default)]
    count: u64,
}

#[bt_node(SyncActionNode, tick = tick)]
impl Holds {
    async fn tick(&mut self) -> NodeResult {
        self.count = self.count.wrapping_add(1);
        Ok(NodeStatus::Success)
    }
}

#[bt_node(SyncActionNode)]
struct Fails {
    #[bt(default)]
    count: u64,
}

#[bt_node(SyncActionNode, tick = tick)]
impl Fails {
    async fn tick(&mut self) -> NodeResult {
        self.count = self.count.wrapping_add(1);
        Ok(NodeStatus::Failure)
    }
}

#[bt_node(SyncActionNode)]
struct Alternates {
    #[bt(default)]
    count: u64,
}

#[bt_node(SyncActionNode, tick = tick)]
impl Alternates {
    async fn tick(&mut self) -> NodeResult {
        self.count ^= 1;
        if self.count == 0 {
            Ok(NodeStatus::Success)
        } else {
            Ok(NodeStatus::Failure)
        }
    }
}

#[bt_node(SyncActionNode)]
struct NotDue {
    #[bt(default)]
    due: Option<Instant>,
}

#[bt_node(SyncActionNode, tick = tick)]
impl NotDue {
    async fn tick(&mut self) -> NodeResult {
        let now = Instant::now();
        if self.due.is_some_and(|due| now < due) {
            return Ok(NodeStatus::Success);
        }
        self.due = Some(now + PERIOD.get());
        Ok(NodeStatus::Failure)
    }
}

#[bt_node(StatefulActionNode)]
struct GoesOn {
    #[bt(default)]
    count: u64,
}

#[bt_node(StatefulActionNode, on_start = on_start, on_running = on_running)]
impl GoesOn {
    async fn on_start(&mut self) -> NodeResult {
        self.count = self.count.wrapping_add(1);
        Ok(NodeStatus::Running)
    }

    async fn on_running(&mut self) -> NodeResult {
        self.count = self.count.wrapping_add(1);
        Ok(NodeStatus::Running)
    }
}

#[bt_node(SyncActionNode)]
struct ReadsInt {}

#[bt_node(SyncActionNode, ports = ports, tick = tick)]
impl ReadsInt {
    async fn tick(&mut self) -> NodeResult {
        for _ in 0..READS {
            black_box(node_.config.get_input::<i32>("from")?);
        }
        Ok(NodeStatus::Success)
    }

    fn ports() -> PortsList {
        define_ports!(input_port!("from"))
    }
}

#[bt_node(SyncActionNode)]
struct ReadsText {}

#[bt_node(SyncActionNode, ports = ports, tick = tick)]
impl ReadsText {
    async fn tick(&mut self) -> NodeResult {
        for _ in 0..READS {
            black_box(node_.config.get_input::<String>("from")?);
        }
        Ok(NodeStatus::Success)
    }

    fn ports() -> PortsList {
        define_ports!(input_port!("from"))
    }
}

#[bt_node(SyncActionNode)]
struct Ported {}

#[bt_node(SyncActionNode, ports = ports, tick = tick)]
impl Ported {
    async fn tick(&mut self) -> NodeResult {
        Ok(NodeStatus::Success)
    }

    fn ports() -> PortsList {
        define_ports!(input_port!("x"), output_port!("y"))
    }
}

fn factory(body: &str) -> Factory {
    let mut factory = Factory::new();
    register_action_node!(factory, "Holds", Holds);
    register_action_node!(factory, "Fails", Fails);
    register_action_node!(factory, "Alternates", Alternates);
    register_action_node!(factory, "NotDue", NotDue);
    register_action_node!(factory, "GoesOn", GoesOn);
    register_action_node!(factory, "ReadsInt", ReadsInt);
    register_action_node!(factory, "ReadsText", ReadsText);
    register_action_node!(factory, "Ported", Ported);
    let text = format!("<root><BehaviorTree ID=\"main\">{body}</BehaviorTree></root>");
    if let Err(error) = factory.register_bt_from_text(text) {
        panic!("{error}");
    }
    factory
}

fn make(factory: &mut Factory, board: &Blackboard) -> AsyncTree {
    match block_on(factory.instantiate_async_tree(board, "main")) {
        Ok(tree) => tree,
        Err(error) => panic!("{error}"),
    }
}

async fn tick(tree: &mut AsyncTree) {
    let status = tree.tick_exactly_once().await;
    assert!(black_box(status).is_ok(), "the tree runs");
}

fn time_of(tree: &mut AsyncTree) -> f64 {
    least_time(|count| {
        block_on(async {
            for _ in 0..count {
                tick(tree).await;
            }
        });
    })
}

/// Nav2's default tree, as near as it goes.
fn nav2() -> String {
    let recovery = |what: &str| format!("<Fallback>{what}<Sequence><Fails/><Fails/></Sequence></Fallback>");
    let plan = recovery(
        "<Fallback><ReactiveSequence><Inverter><Fails/></Inverter><Fails/><Fails/><Fails/></ReactiveSequence><Holds/></Fallback>",
    );
    let follow = recovery("<GoesOn/>");
    format!(
        "<Fallback><ReactiveSequence>{}<Fallback><NotDue/>{plan}</Fallback>{follow}</ReactiveSequence>\
         <Sequence><Fallback><Fails/><Fails/></Fallback><ReactiveFallback><Fails/><Fallback>\
         <Sequence><Fails/><Fails/></Sequence><Fails/><Fails/><Fails/></Fallback></ReactiveFallback></Sequence></Fallback>",
        "<Holds/>".repeat(5)
    )
}

/// A file of ten thousand nodes, as `benches/load.rs` writes it, without names.
fn file() -> String {
    let mut body = String::from("<Sequence>");
    let leaf = |body: &mut String, number: usize| {
        let result = if number % 3 == 0 {
            write!(body, "<Holds/>")
        } else {
            write!(
                body,
                "<Ported x=\"{{k{}}}\" y=\"{{k{}}}\"/>",
                number % 50,
                (number + 7) % 50
            )
        };
        assert!(result.is_ok(), "a string takes any text");
    };
    for section in 0..1000 {
        body.push_str("<Sequence>");
        (0..4).for_each(|place| leaf(&mut body, section * 10 + place));
        body.push_str("<Fallback>");
        (4..8).for_each(|place| leaf(&mut body, section * 10 + place));
        body.push_str("</Fallback></Sequence>");
    }
    body + "</Sequence>"
}

pub fn run() {
    let hour = Duration::from_secs(3600);
    let conditions = |count| "<Holds/>".repeat(count);
    let inverters = format!("{}<Holds/>{}", "<Inverter>".repeat(50), "</Inverter>".repeat(50));
    for (case, visits, unit, body, period) in [
        (
            "sequence_100",
            101.0,
            "ns/visit",
            format!("<Sequence>{}</Sequence>", conditions(100)),
            hour,
        ),
        (
            "reactive_20_and_running",
            22.0,
            "ns/visit",
            format!("<ReactiveSequence>{}<GoesOn/></ReactiveSequence>", conditions(20)),
            hour,
        ),
        ("inverters_50", 51.0, "ns/visit", inverters, hour),
        (
            "fallback_start_and_halt",
            1.0,
            "ns/tick",
            "<ReactiveFallback><Alternates/><GoesOn/></ReactiveFallback>".to_owned(),
            hour,
        ),
        ("cruising", 1.0, "ns/tick", nav2(), hour),
        ("replanning", 1.0, "ns/tick", nav2(), Duration::ZERO),
    ] {
        PERIOD.set(period);
        let mut tree = make(&mut factory(&body), &Blackboard::create());
        tell_of(PEER, case, time_of(&mut tree) / visits, unit);
    }
    for (case, node) in [
        ("port_int", "<ReadsInt from=\"{int}\"/>"),
        ("port_text_64", "<ReadsText from=\"{text}\"/>"),
    ] {
        let mut board = Blackboard::create();
        board.set("int", 7_i32);
        board.set("text", "x".repeat(64));
        let mut tree = make(&mut factory(&format!("<Sequence>{node}</Sequence>")), &board);
        tell_of(PEER, case, time_of(&mut tree) / f64::from(READS), "ns/read");
    }
    PERIOD.set(hour);
    let mut nav2 = factory(&nav2());
    many(
        PEER,
        || make(&mut nav2, &Blackboard::create()),
        |tree| block_on(tick(tree)),
    );
    let body = file();
    let least = (0..20)
        .map(|_| {
            let start = Instant::now();
            let mut factory = factory(&body);
            let tree = make(&mut factory, &Blackboard::create());
            let time = start.elapsed();
            drop(tree);
            time
        })
        .min()
        .unwrap_or_default();
    tell_of(PEER, "load_10000", least.as_secs_f64() * 1e3, "ms");
}
