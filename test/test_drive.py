"""G3, G8: `navtree drive` leaves no goal behind, and claims no end that it does not know."""

import signal
import time

import pytest
from support.executable import find
from support.graph import wait_for

REPLAN = """
<root BTCPP_format="4">
  <BehaviorTree ID="Replan">
    <PipelineSequence>
      <RateController hz="10"><ComputePathToPose goal="{goal}" path="{path}"/></RateController>
      <FollowPath path="{path}"/>
    </PipelineSequence>
  </BehaviorTree>
</root>
"""

HALTED_SPIN = """
<root BTCPP_format="4">
  <BehaviorTree ID="HaltedSpin">
    <ForceSuccess><Timeout msec="300"><Spin spin_dist="1.57"/></Timeout></ForceSuccess>
  </BehaviorTree>
</root>
"""


def drive(stack, start, *arguments):
    """Starts the command. The controller executes without end."""
    stack.robot.controller.behaviour.duration = None
    command = start(find("navtree"), "drive", "--goal", "1", "0", "0", *arguments)
    wait_for(stack.robot.controller.executing, 30, lambda: f"the controller to execute: {command.output}")
    return command


def result_of(command):
    return command.output.split("result: ")[-1]


def test_g8_a_hang_up_cancels_the_goal(stack, start):
    command = drive(stack, start)
    command.process.send_signal(signal.SIGHUP)
    wait_for(lambda: stack.robot.executing() == 0, 10.0, lambda: f"the goal to end: {command.output}")
    assert len(stack.robot.controller.cancelled()) == 1
    assert command.wait(10.0)[0] > 0, command.output
    assert stack.node.running()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("patience", [None, 3], ids=["signal", "patience"])
def test_g8_a_command_whose_output_nobody_reads_cancels_its_goal(stack, start, tmp_path, patience):
    tree = tmp_path / "replan.xml"
    tree.write_text(REPLAN)
    arguments = ["--tree", str(tree)] + (["--patience", str(patience)] if patience else [])
    command = drive(stack, start, *arguments)
    wait_for(lambda: "ComputePathToPose" in command.output, 10, lambda: f"a change of the tree: {command.output}")
    command.block_output()
    if not patience:
        command.interrupt()
    wait_for(lambda: stack.robot.controller.executing() == 0, 20, "the goal to be cancelled")
    assert command.wait(20.0)[0] > 0


@pytest.mark.parametrize(
    ("stop_timeout", "words"),
    [(20000, "NOT STOPPED"), (3000, "the node's log says whether the robot has stopped")],
    ids=["navigation goes on", "navigation ends before the robot stops"],
)
def test_g3_an_interrupted_command_does_not_say_that_a_moving_robot_has_stopped(
    stack_factory, start, stop_timeout, words
):
    stack = stack_factory({"stop_timeout": stop_timeout})
    stack.robot.controller.behaviour.accept_cancel = False
    command = drive(stack, start)
    command.interrupt()
    assert command.wait(10.0)[0] > 0
    assert words in result_of(command), command.output


@pytest.mark.timeout(90)
def test_g3_a_navigation_whose_node_left_the_graph_has_not_ended(stack, start):
    command = drive(stack, start)
    silent_since = time.monotonic()
    with stack.node.suspended(0.0):
        # The middleware drops a silent node after 20 s: while the command waits for the end of the goal.
        wait_for(lambda: time.monotonic() - silent_since > 17.5, 20, "the lease to end soon")
        command.interrupt()
        assert command.wait(10.0)[0] > 0
    assert result_of(command).startswith("NOT STOPPED"), command.output


def test_g3_a_success_with_an_error_code_is_shown(stack_factory, start, tmp_path):
    stack = stack_factory({"stop_timeout": 1000})
    tree = tmp_path / "halted_spin.xml"
    tree.write_text(HALTED_SPIN)
    stack.robot.spin.behaviour.duration = None
    stack.robot.spin.behaviour.accept_cancel = False
    command = start(find("navtree"), "drive", "--goal", "1", "0", "0", "--tree", str(tree))
    assert command.wait(30.0)[0] > 0
    assert result_of(command).startswith("SUCCEEDED 9003 not known to have stopped in time: spin"), command.output


def test_g3_no_goal_is_sent_after_an_interrupt(stack_factory, start):
    # The command asks the node `bt_navigator` for its default tree first.
    stack = stack_factory(remappings={"__node": "navigator"})
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(stack.robot.controller.executing, 10, "the controller to execute")
    command = start(find("navtree"), "drive", "--goal", "2", "0", "0")
    service = "/bt_navigator/get_parameters"
    wait_for(lambda: stack.graph.node.count_clients(service), 10, lambda: f"the question for the tree: {command.output}")
    command.interrupt()
    assert command.wait(10.0)[0] > 0
    assert "interrupted: no goal was sent" in command.output, command.output
    assert not goal.done(), stack.node.output


def test_feedback_is_shown(stack, start):
    command = drive(stack, start)
    command.wait_for_line("m remaining")
