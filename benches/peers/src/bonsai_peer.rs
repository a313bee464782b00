//! bonsai-bt: no ports, no files, no own nodes. A tree that has completed has to be reset, which is part of its tick.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bonsai_bt::{
    Action, BT, Behavior, Event, Failure, Invert, Running, Select, Sequence, Success, UpdateArgs,
};

use crate::{least_time, many, tell_of};

const PEER: &str = "bonsai-bt";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaf {
    Holds,
    Fails,
    GoesOn,
    Alternates,
    /// Succeeds while replanning is not due.
    NotDue,
}

struct Board {
    count: u64,
    due: Instant,
    period: Duration,
}

type Tree = BT<Leaf, Board>;

fn tree(behavior: Behavior<Leaf>, period: Duration) -> Tree {
    let due = Instant::now() + period;
    BT::new(
        behavior,
        Board {
            count: 0,
            due,
            period,
        },
    )
}

fn tick(tree: &mut Tree) {
    let event: Event = UpdateArgs { dt: 0.0 }.into();
    let result = tree.tick(&event, &mut |arguments, board: &mut Board| {
        board.count = board.count.wrapping_add(1);
        let status = match arguments.action {
            Leaf::Holds => Success,
            Leaf::Fails => Failure,
            Leaf::GoesOn => Running,
            Leaf::Alternates if board.count % 3 == 0 => Success,
            Leaf::Alternates => Failure,
            Leaf::NotDue => {
                let now = Instant::now();
                if now < board.due {
                    Success
                } else {
                    board.due = now + board.period;
                    Failure
                }
            }
        };
        (status, arguments.dt)
    });
    black_box(&result);
    if tree.is_finished() {
        tree.reset_bt();
    }
}

fn leaf(leaf: Leaf) -> Behavior<Leaf> {
    Action(leaf)
}

/// Nav2's default tree, as near as it goes.
fn nav2() -> Behavior<Leaf> {
    let recovery =
        |what, leaf_after: Leaf| Select(vec![what, Sequence(vec![leaf(leaf_after), leaf(Leaf::Fails)])]);
    let still_good = Sequence(vec![
        Invert(Box::new(leaf(Leaf::Fails))),
        leaf(Leaf::Fails),
        leaf(Leaf::Fails),
        leaf(Leaf::Fails),
    ])
    .memory(false);
    let plan = recovery(Select(vec![still_good, leaf(Leaf::Holds)]), Leaf::Fails);
    let mut pipeline: Vec<_> = (0..5).map(|_| leaf(Leaf::Holds)).collect();
    pipeline.push(Select(vec![leaf(Leaf::NotDue), plan]));
    pipeline.push(recovery(leaf(Leaf::GoesOn), Leaf::Fails));
    let clear = Sequence(vec![leaf(Leaf::Fails), leaf(Leaf::Fails)]);
    let in_turn = Select(vec![
        clear,
        leaf(Leaf::Fails),
        leaf(Leaf::Fails),
        leaf(Leaf::Fails),
    ]);
    Select(vec![
        Sequence(pipeline).memory(false),
        Sequence(vec![
            Select(vec![leaf(Leaf::Fails), leaf(Leaf::Fails)]),
            Select(vec![leaf(Leaf::Fails), in_turn]).memory(false),
        ]),
    ])
}

pub fn run() {
    let hour = Duration::from_secs(3600);
    let conditions = |count: usize| (0..count).map(|_| leaf(Leaf::Holds)).collect::<Vec<_>>();
    let mut reactive = conditions(20);
    reactive.push(leaf(Leaf::GoesOn));
    let inverters = (0..50).fold(leaf(Leaf::Holds), |inner, _| Invert(Box::new(inner)));
    let toggling = Select(vec![leaf(Leaf::Alternates), leaf(Leaf::GoesOn)]).memory(false);
    for (case, visits, unit, behavior, period) in [
        ("sequence_100", 101.0, "ns/visit", Sequence(conditions(100)), hour),
        (
            "reactive_20_and_running",
            22.0,
            "ns/visit",
            Sequence(reactive).memory(false),
            hour,
        ),
        ("inverters_50", 51.0, "ns/visit", inverters, hour),
        ("fallback_start_and_halt", 1.0, "ns/tick", toggling, hour),
        ("cruising", 1.0, "ns/tick", nav2(), hour),
        ("replanning", 1.0, "ns/tick", nav2(), Duration::ZERO),
    ] {
        let mut tree = tree(behavior, period);
        let time = least_time(|count| (0..count).for_each(|_| tick(&mut tree)));
        tell_of(PEER, case, time / visits, unit);
    }
    let behavior = nav2();
    many(PEER, || tree(behavior.clone(), hour), tick);
}
