"""`tick_on_event`: what a tree waits for brings its next tick at once."""

import time

import pytest
from std_msgs.msg import Bool
from support.graph import PATIENCE, wait_for

#: The period of the ticks in ms: long, so a tick that an event brings is told from one of the schedule.
PERIOD = 3000


@pytest.mark.parametrize("tick_on_event", [True, False])
def test_acceptance_and_results_bring_ticks(stack_factory, tick_on_event):
    stack = stack_factory({"bt_loop_duration": PERIOD, "tick_on_event": tick_on_event})
    stack.robot.controller.behaviour.duration = 0.0
    began = time.monotonic()
    status, result = stack.navigation.send(2.0, 1.0).result()
    took = time.monotonic() - began
    assert status == "SUCCEEDED", result.error_msg
    # The result of the planner, and then the one of the controller, each take a tick.
    assert (took < PERIOD / 1000) == tick_on_event, took


def test_a_message_that_the_tree_reads_brings_a_tick(stack_factory, tmp_path):
    tree = tmp_path / "until.xml"
    tree.write_text(
        '<root BTCPP_format="4"><BehaviorTree ID="Until">'
        '<RosSubscribe topic_name="go_on" message_type="std_msgs/msg/Bool" mode="fresh"/></BehaviorTree></root>'
    )
    stack = stack_factory({"bt_loop_duration": PERIOD, "tick_on_event": True})
    publisher = stack.graph.node.create_publisher(Bool, "/go_on", 1)
    goal = stack.navigation.send(1.0, 0.0, tree=tree)
    wait_for(lambda: goal.feedback, PATIENCE, "the first tick")
    wait_for(publisher.get_subscription_count, PATIENCE, "the subscription of the tree")
    began = time.monotonic()
    publisher.publish(Bool(data=True))
    assert goal.result()[0] == "SUCCEEDED"
    assert time.monotonic() - began < PERIOD / 2000
