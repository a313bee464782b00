"""G8: every way to end a process ends the same way: tree halted, goals cancelled, result delivered, exit code."""

import signal

import pytest
from support.graph import wait_for


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_g8_signal_while_navigating(stack, how):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    stack.node.process.send_signal(how)
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0
    assert len(controller.seen("cancel")) == 1
    wait_for(lambda: stack.robot.executing() == 0, 2.0, "the goal to end")
    status, result = goal.result(2.0)
    assert (status, result.error_msg) == ("ABORTED", "the navigator stopped: shutting down")


def test_g8_signal_while_idle(stack):
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0
