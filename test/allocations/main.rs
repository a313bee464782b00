//! Nothing is allocated in a steady tick: every built-in node is run with ports read and written, and the allocator
//! counts.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

#[path = "../../benches/robot.rs"]
mod robot;

use navtree::bt::builder::{NodeBuilder, forest, leaf, node, subtree, tree};
use navtree::bt::{Dialect, List, NodeStatus, Queue, Registry, Text, Time, Tree, Value, compile};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came; counting touches a thread's own cell only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns each status in turn, so that every way through its parents is gone.
fn registry() -> Registry {
    const TURNS: [NodeStatus; 7] = [
        NodeStatus::Success,
        NodeStatus::Running,
        NodeStatus::Running,
        NodeStatus::Success,
        NodeStatus::Failure,
        NodeStatus::Running,
        NodeStatus::Failure,
    ];
    let mut registry = Registry::builtin();
    registry
        .action("Turns", |cx| {
            let turn = cx.memory().count as usize;
            cx.memory().count += 1;
            Ok(TURNS[turn % TURNS.len()])
        })
        .unwrap();
    registry.action("Holds", |_| Ok(NodeStatus::Success)).unwrap();
    registry
}

fn turns() -> NodeBuilder {
    leaf("Turns")
}

fn children(count: usize) -> Vec<NodeBuilder> {
    (0..count).map(|_| turns()).collect()
}

/// One tree for each node type, by its ID; a type without one fails the test.
fn cases(id: &str) -> Option<Vec<NodeBuilder>> {
    let decorated = |ports: &[(&'static str, &'static str)]| {
        let node = ports.iter().fold(node(id.to_owned()), |node, (name, value)| {
            node.port(*name, *value)
        });
        vec![node.child(turns())]
    };
    let single = |ports: &[(&'static str, &'static str)]| {
        let leaf = ports.iter().fold(leaf(id.to_owned()), |leaf, (name, value)| {
            leaf.port(*name, *value)
        });
        vec![leaf]
    };
    Some(match id {
        "Sequence" | "AsyncSequence" | "SequenceWithMemory" | "SequenceStar" | "Fallback"
        | "AsyncFallback" | "ReactiveSequence" | "ReactiveFallback" | "ParallelAll" | "ParallelMajority"
        | "Random" | "RandomSelector" | "StatefulSequence" | "StatefulSelector" | "StatefulParallel"
        | "MemSequence" | "MemSelector" | "Selector" | "Switch" | "StatefulSwitch" => {
            let plain = node(id.to_owned()).children(children(4));
            let by_priority = children(30).into_iter().map(|child| child.priority("double + 1"));
            vec![plain, node(id.to_owned()).children(by_priority)]
        }
        "TryCatch" => vec![node(id.to_owned()).children(children(4))],
        "Parallel" => vec![node(id.to_owned()).children(children(70))],
        "ParallelMofN" => vec![node(id.to_owned()).port("m", 2).children(children(3))],
        "IfThenElse" | "WhileDoElse" => vec![node(id.to_owned()).children(children(3))],
        "Switch2" | "Switch3" | "Switch4" | "Switch5" | "Switch6" => {
            let cases: usize = id[6..].parse().ok()?;
            vec![
                node(id.to_owned())
                    .port("variable", "{int}")
                    .port("case_1", "other")
                    .port("case_2", "7")
                    .children(children(cases + 1)),
                node(id.to_owned())
                    .port("variable", "{text}")
                    .port("case_1", "{int}")
                    .children(children(cases + 1)),
            ]
        }
        "Inverter" | "Invert" | "ForceSuccess" | "ForceFailure" | "KeepRunningUntilFailure" | "RunOnce" => {
            decorated(&[])
        }
        "Repeat" | "Repeater" | "Loop" => decorated(&[("num_cycles", "{int}")]),
        "RetryUntilSuccessful" | "RetryUntilSuccesful" => decorated(&[("num_attempts", "3")]),
        "Retry" => decorated(&[("num_attempts", "3"), ("interval_msec", "20")]),
        "Timeout" => decorated(&[("msec", "{int}")]),
        "MaxTime" => decorated(&[("msec", "30"), ("at_end", "SUCCESS")]),
        "Delay" => decorated(&[("delay_msec", "20")]),
        "Precondition" => decorated(&[("if", "int > 3 && text == 'seven'")]),
        "If" | "ConditionalRun" | "Case" => decorated(&[("condition", "{program}")]),
        "LoopInt" | "LoopDouble" => {
            let mut cases = decorated(&[("queue", "1;2;3"), ("value", "{out}")]);
            cases.extend(decorated(&[("queue", "{list}"), ("value", "{out}")]));
            cases
        }
        "LoopBool" => decorated(&[("queue", "true;false"), ("value", "{out}")]),
        "LoopString" => decorated(&[("queue", "{texts}"), ("value", "{out}")]),
        "SkipUnlessUpdated" | "WaitValueUpdate" => decorated(&[("entry", "{int}")]),
        "Signal" => decorated(&[("pattern", "a.*"), ("data", "{out}"), ("event", "{name}")]),
        "BlackboardCheckInt" => decorated(&[("value_A", "{int}"), ("value_B", "7")]),
        "BlackboardCheckDouble" => decorated(&[("value_A", "{double}"), ("value_B", "0.5")]),
        "BlackboardCheckString" => decorated(&[("value_A", "{text}"), ("value_B", "seven")]),
        "BlackboardCheckBool" => decorated(&[("value_A", "{flag}"), ("value_B", "true")]),
        "AlwaysSuccess" | "AlwaysFailure" => single(&[]),
        "Emit" => single(&[("event", "a.b"), ("data", "{int}")]),
        "Script" => {
            let mut cases = single(&[("code", "out := int * 2 + 1; other := text")]);
            cases.extend(single(&[("code", "{program}")]));
            cases
        }
        "ScriptCondition" => single(&[("code", "int == 7 ? true : false")]),
        "SetBlackboard" => {
            let mut cases = single(&[("value", "text"), ("output_key", "out")]);
            cases.extend(single(&[("value", "12"), ("output_key", "int")]));
            cases.extend(single(&[("value", "{list}"), ("output_key", "out")]));
            cases
        }
        "UnsetBlackboard" => single(&[("key", "out")]),
        "Sleep" => single(&[("msec", "20")]),
        "WasEntryUpdated" => single(&[("entry", "{int}")]),
        "PopFromQueue" => single(&[("queue", "{queue}"), ("popped_item", "{out}")]),
        "QueueSize" => single(&[("queue", "{queue}"), ("size", "{out}")]),
        _ => return None,
    })
}

/// Allocations in 300 ticks, after 300 in which everything came to its size.
fn allocations(root: NodeBuilder, dialect: Dialect) -> u64 {
    let mut main = tree("Main", root);
    main.dialect = dialect;
    let inner = tree("Inner", leaf("Holds"));
    let compiled = compile(&forest([main, inner]), "Main", &registry());
    let mut tree = Tree::new(compiled.unwrap_or_else(|problems| panic!("{problems:#?}")).def);
    tree.set("int", 7_i32).unwrap();
    tree.set("double", 0.5).unwrap();
    tree.set("flag", true).unwrap();
    tree.set::<Text>("text", "seven".into()).unwrap();
    tree.set::<Text>("texts", "a;b;c".into()).unwrap();
    tree.set::<Text>("program", "int > 3".into()).unwrap();
    tree.set("list", Arc::new(List(vec![1_i64, 2, 3]))).unwrap();
    tree.set("queue", Arc::new(Queue::from_iter((0..400).map(Value::Int))))
        .unwrap();
    let event: Arc<str> = "a.b".into();
    let mut run = |from: u64| {
        let before = COUNT.get();
        for tick in from..from + 300 {
            if tick % 3 == 0 {
                tree.emit(Arc::clone(&event), Value::Int(7));
            }
            // An error allocates its words, and no tree here has any.
            tree.tick(Time::from_millis(tick * 10)).unwrap();
            if tick % 50 == 0 {
                tree.halt(
                    navtree::bt::HaltReason::GoalCanceled,
                    Time::from_millis(tick * 10),
                );
            }
        }
        COUNT.get() - before
    };
    run(0);
    run(300)
}

#[test]
fn no_built_in_node_allocates_in_a_steady_tick() {
    let registry = Registry::builtin();
    let v4 = registry.manifests().map(|manifest| (manifest, Dialect::V4));
    let v3 = registry.manifests_v3().map(|manifest| (manifest, Dialect::V3));
    let mut faults = Vec::new();
    for (manifest, dialect) in v4.chain(v3) {
        let Some(cases) = cases(&manifest.id) else {
            faults.push(format!("{}: there is no case for it in this test", manifest.id));
            continue;
        };
        for (number, case) in cases.into_iter().enumerate() {
            let case = if dialect == Dialect::V3 && manifest.id == "Parallel" {
                case.port("success_threshold", 2)
            } else {
                case
            };
            let count = allocations(case, dialect);
            if count > 0 {
                faults.push(format!("{} (case {number}, {dialect:?}): {count}", manifest.id));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn conditions_around_nodes_and_subtrees_do_not_allocate() {
    let guarded = turns()
        .while_true("int == 7")
        .skip_if("int == 8")
        .on_success("out := 1")
        .on_halted("out := 2");
    let root = node("Sequence").children([guarded, subtree("Inner").port("x", "{int}"), turns()]);
    assert_eq!(allocations(root, Dialect::V4), 0);
}

#[test]
fn a_navigation_tree_does_not_allocate_when_it_cruises_nor_when_it_replans() {
    for (name, mut tree) in robot::cases() {
        let mut now = 0;
        let mut run = || {
            let before = COUNT.get();
            for _ in 0..300 {
                robot::tick(&mut tree, &mut now);
            }
            COUNT.get() - before
        };
        run();
        assert_eq!(run(), 0, "{name}");
    }
}

#[test]
fn g1_a_recorded_tick_does_not_allocate() {
    let stream = navtree::record::Stream::default();
    let mut distributor = stream.distribute();
    for (name, mut tree) in robot::recorded_cases(&stream) {
        let mut now = 0;
        let mut run = || {
            let mut count = 0;
            for _ in 0..300 {
                let before = COUNT.get();
                robot::tick(&mut tree, &mut now);
                count += COUNT.get() - before;
                // Another thread does this in the node.
                distributor.distribute();
            }
            count
        };
        run();
        assert_eq!(run(), 0, "{name}");
    }
    assert_eq!(stream.lost(), 0);
}

/// Reading, checking and compiling allocate in proportion to the file.
#[test]
fn loading_makes_few_allocations_per_node() {
    use std::fmt::Write;

    let registry = Registry::builtin();
    let loader = navtree::xml::Loader::new(&registry);
    let count = |leaves: usize| {
        let mut text = String::from("<root BTCPP_format='4'><BehaviorTree ID='T'><Sequence>");
        for leaf in 0..leaves {
            let key = leaf % 50;
            write!(
                text,
                "<SetBlackboard value='{{k{key}}}' output_key='{{k{}}}'/>",
                (key + 7) % 50
            )
            .unwrap();
        }
        text += "</Sequence></BehaviorTree></root>";
        let before = COUNT.get();
        let loaded = loader.load_text("test.xml", &text, std::path::Path::new("."), None);
        assert_eq!(loaded.unwrap().def.len(), leaves + 1);
        (COUNT.get() - before) as f64
    };
    let [few, many] = [count(2_000), count(40_000)];
    assert!(many / 40_000.0 <= 5.0, "{} allocations a node", many / 40_000.0);
    assert!(many <= 20.0 * few, "{few} for 2,000 nodes, {many} for 40,000");
}
