"""G6: a server that is absent, refuses, aborts or dies is a failure with a code within a bound, and the node lives."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.fixtures import tree
from support.graph import wait_for
from support.servers import Behaviour

BOUND = 3.0


def failed_within_bound(stack, goal):
    started = time.monotonic()
    status, result = goal.result(20.0)
    assert status == "ABORTED"
    assert time.monotonic() - started < BOUND
    assert stack.node.running()
    return result


def test_g6_absent_server(stack_factory):
    stack = stack_factory()
    stack.robot.planner.destroy()
    result = failed_within_bound(stack, stack.navigation.send(1.0, 0.0))
    assert result.error_code != 0
    assert result.error_msg


def test_g6_refusing_server(stack):
    stack.robot.planner.behaviour.accept = False
    result = failed_within_bound(stack, stack.navigation.send(1.0, 0.0))
    assert result.error_code != 0
    stack.robot.planner.behaviour.accept = True
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_g6_aborting_server_passes_its_code_on(stack):
    stack.robot.planner.behaviour.error_code = 208
    assert failed_within_bound(stack, stack.navigation.send(1.0, 0.0)).error_code == 208


def test_g6_silent_server(stack_factory):
    # What was never answered may yet be taken: that is waited for before the client is told.
    stack = stack_factory({"stop_timeout": 500})
    stack.robot.planner.behaviour.accept_delay = 5.0
    result = failed_within_bound(stack, stack.navigation.send(1.0, 0.0))
    assert result.error_code not in (0, 9003)
    assert "compute_path_to_pose" in result.error_msg and "not answered" in result.error_msg


def test_g1_silent_server_holds_up_no_tick(stack_factory):
    stack = stack_factory({"default_server_timeout": 3000})
    stack.robot.planner.behaviour.accept_delay = 2.0
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(lambda: stack.robot.planner.seen("requested"), 10, "the goal request at the planner")
    before = len(goal.feedback)
    # Feedback is sent by the thread that ticks, twenty times a second.
    wait_for(lambda: len(goal.feedback) - before >= 10, 1.5, "ten feedbacks while the planner is silent")
    assert not stack.robot.planner.seen("accepted")
    assert goal.result()[0] == "SUCCEEDED"


def test_g6_server_that_dies_while_executing(stack_factory, ros_domain):
    # The new process has to be discovered first, which takes seconds on a busy machine.
    stack = stack_factory({"default_server_timeout": 10000})
    stack.robot.controller.destroy()
    script = Path(__file__).parent / "support" / "lone_server.py"
    environment = os.environ | {"ROS_DOMAIN_ID": str(ros_domain)}
    server = subprocess.Popen(
        [sys.executable, str(script), "follow_path", "60"], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout.readline().strip() == "ready"
        goal = stack.navigation.send(1.0, 0.0)
        assert server.stdout.readline().strip() == "executing"
        wait_for(lambda: goal.feedback, 10, "feedback")
        server.send_signal(signal.SIGKILL)
        # A killed process says no farewell: the middleware notices by its lease, within seconds.
        status, result = goal.result(40.0)
        assert status == "ABORTED"
        assert result.error_code != 0
        assert stack.node.running()
    finally:
        server.kill()
        server.wait(5.0)


def test_g6_recovery_branch_is_taken_and_the_node_lives(stack_factory):
    stack = stack_factory({"default_nav_to_pose_bt_xml": tree("navigate_to_pose.xml")})
    stack.robot.planner.behaviour = Behaviour(
        result=stack.robot.planner.behaviour.result, error_code=208, abort_first=2
    )
    status, result = stack.navigation.send(2.0, 0.0).result()
    assert status == "SUCCEEDED", result.error_msg
    assert "global" in stack.robot.clears
    assert len(stack.robot.planner.requests()) == 3
