"""G8: after each signal the node halts its tree, cancels the goals, sends the results and exits with its code."""

import signal

import pytest
from support.executable import find
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


def test_g8_drive_cancels_its_goal_on_sighup(stack, start):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    drive = start(find("navtree"), "drive", "--goal", "1", "0", "0")
    wait_for(controller.executing, 30, lambda: f"the controller to execute: {drive.output}")
    drive.process.send_signal(signal.SIGHUP)
    wait_for(lambda: stack.robot.executing() == 0, 10.0, lambda: f"the goal to end: {drive.output}")
    assert len(controller.cancelled()) == 1
    assert drive.wait(10.0)[0] > 0, drive.output
    assert stack.node.running()


@pytest.mark.parametrize(
    ("stop_timeout", "words"),
    [(20000, "NOT STOPPED"), (3000, "the node's log says whether the robot has stopped")],
    ids=["navigation goes on", "navigation ends before the robot stops"],
)
def test_g3_drive_does_not_say_that_a_robot_has_stopped_that_moves(stack_factory, start, stop_timeout, words):
    stack = stack_factory({"stop_timeout": stop_timeout})
    controller = stack.robot.controller
    controller.behaviour.duration = None
    controller.behaviour.accept_cancel = False
    drive = start(find("navtree"), "drive", "--goal", "1", "0", "0")
    wait_for(controller.executing, 30, lambda: f"the controller to execute: {drive.output}")
    drive.interrupt()
    code, _ = drive.wait(10.0)
    assert code > 0
    assert words in drive.output.split("result: ")[-1], drive.output


def test_g3_drive_sends_no_goal_after_an_interrupt(stack_factory, start):
    # Drive asks the node `bt_navigator` for its default tree first.
    stack = stack_factory(remappings={"__node": "navigator"})
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(stack.robot.controller.executing, 10, "the controller to execute")
    drive = start(find("navtree"), "drive", "--goal", "2", "0", "0")
    service = "/bt_navigator/get_parameters"
    wait_for(lambda: stack.graph.node.count_clients(service), 10, lambda: f"the question for the tree: {drive.output}")
    drive.interrupt()
    code, _ = drive.wait(10.0)
    assert code > 0
    assert "interrupted: no goal was sent" in drive.output, drive.output
    assert not goal.done(), stack.node.output


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
