"""G8: after each signal the node halts its tree, cancels the goals, sends the results and exits with its code."""

import signal

import pytest
from support.graph import wait_for

# The times are measured: two seconds for the node, one of them for the robot to stop.
pytestmark = pytest.mark.alone


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_g8_signal_while_navigating(stack, how):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    stack.node.process.send_signal(how)
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0
    assert len(controller.cancelled()) == 1
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "the goal to end")
    status, result = goal.result()
    assert (status, result.error_msg) == ("ABORTED", "the navigator was stopped: shutting down")


def test_sighup_ignored_at_the_start_stays_ignored(stack_factory):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        # Like nohup.
        stack = stack_factory()
    finally:
        signal.signal(signal.SIGHUP, before)
    stack.node.process.send_signal(signal.SIGHUP)
    status, result = stack.navigation.send(1.0, 0.0).result()
    assert status == "SUCCEEDED", result.error_msg
    assert stack.node.running()


def test_g8_signal_while_idle(stack):
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0


SLOW_STOP = {"stop_delay": 1.6}
REJECTING = {"accept_cancel": False}


@pytest.mark.parametrize("how", [SLOW_STOP, REJECTING], ids=["slow", "rejecting"])
def test_g8_result_names_a_controller_that_does_not_stop(stack, how):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    for name, value in how.items():
        setattr(controller.behaviour, name, value)
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0
    status, result = goal.result()
    assert (status, result.error_code) == ("ABORTED", 9003)
    assert "not known to have stopped in time: follow_path: goal of FollowPath" in result.error_msg


def test_g8_goal_whose_tree_is_loading_at_shutdown_is_aborted(stack_factory, tmp_path):
    path, never = tmp_path / "slow.xml", tmp_path / "never"
    path.write_text(f'<root BTCPP_format="4"><BehaviorTree ID="Slow"><IsMadeLate until="{never}"/></BehaviorTree></root>')
    stack = stack_factory(program="examples/faulty_leaves")
    goal = stack.navigation.send(1.0, 0.0, tree=path)
    stack.node.wait_for_line(f"IsMadeLate waits for {never}")
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0
    status, result = goal.result()
    assert (status, result.error_msg) == ("ABORTED", "the node stopped accepting goals before this goal started")
