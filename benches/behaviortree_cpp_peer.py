"""BehaviorTree.CPP under the same measure as the engine's benches: one line a figure, for scripts/bench.

The trees have only nodes of BehaviorTree.CPP itself, so each visit runs in C++: `AlwaysSuccess` is the condition, and a
`Sleep` of an hour is the running action. Python starts each tick, which is included.
"""

import time

from behaviortreepy import BehaviorTreeFactory, NodeStatus

HOUR = "<Sleep msec='3600000'/>"
SCRIPT = "<ScriptCondition code='x == 1'/>"


def tree(root):
    """The tree with a root element."""
    return f"<root BTCPP_format='4' main_tree_to_execute='T'><BehaviorTree ID='T'>{root}</BehaviorTree></root>"


def inverters(count):
    return "<Inverter>" * count + "<AlwaysSuccess/>" + "</Inverter>" * count


#: Name, visits per tick, root element, status.
CASES = [
    ("sequence_100", 101, f"<Sequence>{'<AlwaysSuccess/>' * 100}</Sequence>", NodeStatus.SUCCESS),
    (
        "reactive_20_and_running",
        22,
        f"<ReactiveSequence>{'<AlwaysSuccess/>' * 20}{HOUR}</ReactiveSequence>",
        NodeStatus.RUNNING,
    ),
    ("inverters_50", 51, inverters(50), NodeStatus.SUCCESS),
    (
        "script_conditions_100",
        102,
        f"<Sequence><Script code='x := 1'/>{SCRIPT * 100}</Sequence>",
        NodeStatus.SUCCESS,
    ),
]

SAMPLES, TICKS = 20, 200


def nanoseconds(xml, status):
    """The least time of a tick."""
    running = BehaviorTreeFactory().create_tree_from_text(tree(xml))
    tick = running.tick_exactly_once
    assert tick() == status, xml
    samples = []
    for _ in range(SAMPLES):
        begin = time.perf_counter_ns()
        for _ in range(TICKS):
            tick()
        samples.append((time.perf_counter_ns() - begin) / TICKS)
    running.halt_tree()
    return min(samples)


for name, visits, xml, status in CASES:
    print(f"BehaviorTree.CPP:{name} {nanoseconds(xml, status) / visits:.2f} ns/visit")
