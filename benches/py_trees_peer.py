"""py_trees under the same measure as the engine's benches: one line a figure, for scripts/bench.

A node's own tick is what is timed; the tree manager would double it. Neither ports nor files: py_trees has none. Nav2's
tree is as near as it goes: a recovery node is a selector, a pipeline a sequence without memory, a rate controller a
condition that reads the clock.
"""

import gc
import sys
import time

import py_trees
from py_trees.common import Status
from py_trees.composites import Selector, Sequence
from py_trees.decorators import Inverter

py_trees.logging.level = py_trees.logging.Level.ERROR


class Leaf(py_trees.behaviour.Behaviour):
    """Gives its answers in turn."""

    def __init__(self, *answers):
        super().__init__("leaf")
        self.answers = answers
        self.count = 0

    def update(self):
        self.count += 1
        return self.answers[self.count % len(self.answers)]


class NotDue(py_trees.behaviour.Behaviour):
    """Succeeds until a period has passed."""

    def __init__(self, period):
        super().__init__("due")
        self.period = period
        self.due = time.monotonic() + period

    def update(self):
        now = time.monotonic()
        if now < self.due:
            return Status.SUCCESS
        self.due = now + self.period
        return Status.FAILURE


def holds():
    return Leaf(Status.SUCCESS)


def fails():
    return Leaf(Status.FAILURE)


def goes_on():
    return Leaf(Status.RUNNING)


def sequence(children, memory=True):
    return Sequence("sequence", memory, children=children)


def selector(children, memory=True):
    return Selector("selector", memory, children=children)


def inverters(count):
    node = holds()
    for _ in range(count):
        node = Inverter("inverter", node)
    return node


def nav2(period):
    def recovery(what):
        return selector([what, sequence([fails(), fails()])])

    good = sequence([Inverter("inverter", fails()), fails(), fails(), fails()], memory=False)
    plan = recovery(selector([good, holds()]))
    pipeline = [holds() for _ in range(5)] + [selector([NotDue(period), plan]), recovery(goes_on())]
    clear = sequence([fails(), fails()])
    recover = selector([fails(), selector([clear, fails(), fails(), fails()])], memory=False)
    return selector([
        sequence(pipeline, memory=False),
        sequence([selector([fails(), fails()]), recover]),
    ])


def least_time(work):
    """Nanoseconds an iteration: the least of 10 samples."""
    count = 1

    def sample():
        start = time.perf_counter_ns()
        for _ in range(count):
            work()
        return time.perf_counter_ns() - start

    while sample() < 20_000_000:
        count *= 2
    return min(sample() for _ in range(10)) / count


def tell(case, value, unit):
    print(f"{'py_trees:' + case:<34} {value:>12.2f} {unit}", flush=True)


def main():
    cases = [
        ("sequence_100", 101, "ns/visit", sequence([holds() for _ in range(100)])),
        ("reactive_20_and_running", 22, "ns/visit", sequence([holds() for _ in range(20)] + [goes_on()], memory=False)),
        ("inverters_50", 51, "ns/visit", inverters(50)),
        (
            "fallback_start_and_halt",
            1,
            "ns/tick",
            selector([Leaf(Status.SUCCESS, Status.FAILURE), goes_on()], memory=False),
        ),
        ("cruising", 1, "ns/tick", nav2(3600.0)),
        ("replanning", 1, "ns/tick", nav2(0.0)),
    ]
    for case, visits, unit, root in cases:
        tell(case, least_time(root.tick_once) / visits, unit)
    gc.collect()
    tell("instance_time", least_time(lambda: nav2(3600.0)), "ns")


if __name__ == "__main__":
    sys.exit(main())
