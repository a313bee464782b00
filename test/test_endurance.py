"""Many goals one after another: memory, threads and processor use do not grow."""

import time

import pytest
from support.graph import wait_for

# Measures the processor.
pytestmark = pytest.mark.alone


def idle_share(node, seconds=3.0):
    """The share of one core that the idle node uses."""
    before = node.processor_seconds()
    time.sleep(seconds)
    return (node.processor_seconds() - before) / seconds


def test_two_hundred_goals_in_a_row(stack):
    stack.robot.controller.behaviour.duration = 0.0
    # /rosout keeps the last 1,000 lines for late subscribers, two for each goal.
    for _ in range(510):
        assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    # The search for goals of an earlier run has a participant of its own, for half a minute.
    wait_for(lambda: "ros-search" not in stack.node.thread_names(), 40, "the search to end")
    idle_before = idle_share(stack.node)
    memory, threads = stack.node.own_kib(), stack.node.standing_threads()
    for _ in range(200):
        assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    wait_for(lambda: stack.node.standing_threads() == threads, 10, lambda: f"{threads} threads: {stack.node.thread_names()}")
    grown = stack.node.own_kib() - memory
    assert grown < 1024, f"memory grew by {grown} KiB"
    assert len(stack.robot.controller.requests()) == 710
    # With r2r's action server the node uses a whole core from ten seconds after the first goal on. This node must not.
    time.sleep(12.0)
    idle_after = idle_share(stack.node)
    assert idle_after < idle_before + 0.02, f"idle use of a core went from {idle_before:.3f} to {idle_after:.3f}"
    assert idle_after < 0.05
