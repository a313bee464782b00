"""Writes the engine's part of docs/performance.md from what the benches printed; scripts/bench calls it.

    table.py FIGURES LOAD [PAGE]

Figures are lines "case value unit", "case ns allocations" (cruise) and rows of numbers that begin with the nodes of a
file (load); of several for one case the least counts. Without a page the table goes to stdout.
"""

import os
import re
import subprocess
import sys

BEGIN, END = "<!-- engine:begin -->", "<!-- engine:end -->"

BENCH = "cargo bench --no-default-features --bench "

# Case, work, unit, decimals, limit, BehaviorTree.CPP 4.10, bt.cc 0.4.5, bench. The figures of the two engines in C++ were
# measured once, on another day on a machine of the same kind. `behaviortree_cpp_peer.py` measures BehaviorTree.CPP again
# in the cases that need none of its C++ interface.
ROWS = [
    ("sequence_100", "Sequence of 100 conditions, a visit", "ns", 1, 8, "204", "19", "visits"),
    ("reactive_20_and_running", "ReactiveSequence, 20 conditions and a running action, a visit", "ns", 1, 8, "192", "19", "visits"),
    ("inverters_50", "50 inverters, a visit", "ns", 1, 10, "301", "29", "visits"),
    ("script_conditions_100", "100 `ScriptCondition` with `x == 1`, a visit", "ns", 1, 12, "253", "–", "visits"),
    ("fallback_start_and_halt", "reactive fallback that starts and halts an action in turn, a tick", "ns", 0, 50, "507", "66 (no halt)", "visits"),
    ("cruising", "Nav2's default tree (38 nodes), a cruising tick, its ports read and written", "ns", 0, 150, "3,282", "505 (no ports)", "cruise"),
    ("cruising_with_clock", "that cruising tick, with the clock read of its caller", "ns", 0, 150, "–", "–", "cruise"),
    ("cruising allocations", "… allocations", "", 0, 0, "24", "0", "cruise"),
    ("replanning", "the same, replanning in that tick", "ns", 0, 300, "7,493", "733 (no ports)", "cruise"),
    ("replanning allocations", "… allocations", "", 0, 0, "42", "0", "cruise"),
    ("port_int", "port read: int", "ns", 1, 3, "106", "–", "ports"),
    ("port_text_64", "port read: text of 64 bytes", "ns", 1, 5, "194", "–", "ports"),
    ("port_path_10000", "port read: path of 10,000 poses", "ns", 1, 10, "a copy", "–", "ports"),
    ("instance_time", "new instance of that tree", "ns", 0, 1000, "138,000", "2,200", "instances"),
    ("instance_memory", "its memory, blackboard included", "bytes", 0, 2000, "122,350", "1,618 (no blackboard)", "instances"),
    ("sweep_in_order", "10,000 instances, a tick of each, in order", "ms", 1, 2, "74", "6.5", "instances"),
    ("sweep_shuffled", "10,000 instances, a tick of each, shuffled", "ms", 1, 5, "81", "14", "instances"),
    ("load_10000", "10,000 nodes from XML text to a ready tree, all checks", "ms", 1, 8, "27.7", "–", "load"),
]

PEERS = ["BehaviorTree.CPP", "bonsai-bt", "behaviortree-rs", "py_trees"]

# Figures that the table does not ask for, and what they say.
FURTHER = [
    ("nav2_cruising", "the tree of the instances, a cruising tick with the clock read of its caller", "ns", 0, "instances"),
    ("cruising_with_goals", "navtree's own default tree with its real leaves, cruising", "ns", 0, "cruise"),
    ("replanning_with_goals", "… every other tick sends a goal to the planner, the next hands its path to the controller", "ns", 0, "cruise"),
    ("stream_record", "event stream: a record (the tick thread's part)", "ns", 1, "record"),
    ("stream_value", "event stream: a record with a shared value", "ns", 1, "record"),
    ("stream_lost", "event stream: a record that finds no place", "ns", 1, "record"),
    ("stream_unread", "event stream: a record without a reader", "ns", 1, "record"),
    ("recorded_cruising", "Nav2's default tree, cruising and recorded", "ns", 0, "record"),
    ("recorded_replanning", "… replanning and recorded", "ns", 0, "record"),
    ("recorded_cruising_with_goals", "navtree's own default tree with its real leaves, cruising and recorded", "ns", 0, "record"),
    ("recorded_replanning_with_goals", "… replanning and recorded", "ns", 0, "record"),
    ("port_text_64_shared", "port read: the text, shared (its counter goes up and down)", "ns", 1, "ports"),
    ("port_path_10000_shared", "port read: the path, shared", "ns", 1, "ports"),
    ("sweep_in_order_preloaded", "10,000 instances in order, `Tree::preload` before each tick", "ms", 1, "instances"),
    ("sweep_shuffled_preloaded", "10,000 instances shuffled, the same", "ms", 1, "instances"),
    ("load_1000000", "1,000,000 nodes from XML text to a ready tree", "ms", 0, "load"),
]

YARDSTICKS = [
    ("yardstick:virtual_call", "a virtual call with one memory update", 3),
    ("yardstick:clock_read", "a read of the clock", 32),
    ("yardstick:mutex", "an uncontended mutex", 8),
]


def read(path):
    """The least figure of each case; instructions with their limits."""
    figures, instructions = {}, {}

    def keep(case, value):
        figures[case] = min(value, figures.get(case, value))

    number = r"([0-9]+(?:\.[0-9]+)?)"
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if found := re.match(rf"(\w+): {number} instructions of (\d+)", line):
                instructions[found[1]] = (float(found[2]), int(found[3]))
            elif found := re.fullmatch(rf"([\w:.-]+) +{number} (?:ns|ns/\w+|ms|bytes)\s*", line):
                keep(found[1], float(found[2]))
            elif found := re.fullmatch(rf"([a-z_]+) +{number} +{number}\s*", line):
                keep(found[1], float(found[2]))
                keep(found[1] + " allocations", float(found[3]))
            elif found := re.fullmatch(rf" *(\d+) +\d+ +{number}(?: +{number})*\s*", line):
                keep("load_" + found[1], float(found[2]))
    return figures, instructions


def show(value, decimals):
    return "–" if value is None else f"{value:,.{decimals}f}"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "an unknown processor")
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.split(" (")[0].strip()
    return f"{model}, {os.cpu_count()} processors; Linux {os.uname().machine}; {rustc}, one codegen unit, thin LTO"


def main_table(figures):
    yield "| work | unit | ours | must be at most | holds | " + " | ".join(PEERS) + " | best of these ÷ ours | BehaviorTree.CPP 4.10, another day | bt.cc 0.4.5, another day | bench |"
    yield "|---|---|--:|--:|---|" + "--:|" * len(PEERS) + "--:|--:|--:|---|"
    for case, work, unit, decimals, most, btcpp, btcc, bench in ROWS:
        ours = figures.get(case)
        theirs = [figures.get(f"{peer}:{case}") for peer in PEERS]
        known = [value for value in theirs if value is not None]
        ratio = f"{min(known) / ours:,.1f}" if known and ours else "–"
        holds = "not measured" if ours is None else "**no**" if is_over(case, most, figures) else "yes"
        cells = [work, unit, show(ours, decimals), f"{most:,}", holds]
        cells += [show(value, decimals) for value in theirs]
        yield "| " + " | ".join([*cells, ratio, btcpp, btcc, f"`{bench}`"]) + " |"


def is_over(case, most, figures):
    return figures.get(case) is not None and figures[case] > most


def page_part(figures, instructions, load):
    yield f"By `scripts/bench`, on: {machine()}. Load of the machine when it began: {load} (0 is idle)."
    yield ""
    yield from main_table(figures)
    yield ""
    for case, work, unit, decimals, most, *_ in ROWS:
        if is_over(case, most, figures):
            yield f"This limit does not hold: {work} (`{case}`): {show(figures[case], decimals)} {unit}, not {most:,}."
            yield ""
    yield "What counts is the ratio within one run: machines differ, and one and the same drifts. Its yardsticks in this run, and"
    yield "what they were where the limits were set:"
    yield ""
    yield "| primitive | ns here | ns there, another day |"
    yield "|---|--:|--:|"
    for case, what, there in YARDSTICKS:
        yield f"| {what} | {show(figures.get(case), 1)} | {there} |"
    yield ""
    if instructions:
        yield "Instructions, counted by valgrind (`scripts/test speed` fails above the limit, on any machine):"
        yield ""
        yield "| work | instructions | limit |"
        yield "|---|--:|--:|"
        for case, (count, most) in sorted(instructions.items()):
            yield f"| `{case}` | {count:,.0f} | {most:,} |"
        yield ""
    yield "Further figures of the same run:"
    yield ""
    yield "| work | unit | ours | bench |"
    yield "|---|---|--:|---|"
    for case, work, unit, decimals, bench in FURTHER:
        if case in figures:
            yield f"| {work} | {unit} | {show(figures[case], decimals)} | `{bench}` |"
    yield ""
    yield f"One bench by itself: `{BENCH}NAME`; the peers: `cargo run --release --manifest-path benches/peers/Cargo.toml`,"
    yield "`python benches/py_trees_peer.py`, `python benches/behaviortree_cpp_peer.py`. Each time is the least of many samples: on a shared machine only the minimum repeats."


def main():
    figures, instructions = read(sys.argv[1])
    part = "\n".join(page_part(figures, instructions, sys.argv[2]))
    if len(sys.argv) < 4:
        print(part)
        return
    path = sys.argv[3]
    with open(path, encoding="utf-8") as file:
        page = file.read()
    if BEGIN not in page or END not in page:
        sys.exit(f"{path} has no place for the engine's figures: {BEGIN} and {END}")
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{part}\n{END}{after}")


if __name__ == "__main__":
    main()
