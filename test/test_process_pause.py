"""G3: what happened while the node's process was stopped is known before a deadline counts that ended meanwhile."""

import pytest
from action_msgs.srv import CancelGoal
from lifecycle_msgs.msg import Transition
from support.graph import wait_for
from support.lifecycle import LifecycleClient
from support.servers import Behaviour, straight_path

REPLAN = """
<root BTCPP_format="4">
  <BehaviorTree ID="Replan">
    <RecoveryNode number_of_retries="1">
      <PipelineSequence>
        <RateController hz="2"><ComputePathToPose goal="{goal}" path="{path}"/></RateController>
        <FollowPath path="{path}"/>
      </PipelineSequence>
      <Spin spin_dist="1.57"/>
    </RecoveryNode>
  </BehaviorTree>
</root>
"""


def drive(stack, stop_delay):
    """Sends a goal. Its controller executes without end, and takes some seconds to stop."""
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.stop_delay = None, stop_delay
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    return goal


def stop_while_the_process_is_stopped(stack, seconds):
    """The robot was told to stop, and stops meanwhile."""
    controller = stack.robot.controller
    wait_for(lambda: controller.seen("cancel"), 10, "the cancel")
    with stack.node.suspended(seconds):
        wait_for(lambda: not controller.executing(), 10, "the robot to stop")


def test_an_acceptance_in_time_counts(stack_factory):
    stack = stack_factory({"response_timeout": 1000})
    controller = stack.robot.controller
    controller.behaviour.accept_delay, controller.behaviour.duration = 0.3, 1.0
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(lambda: controller.seen("requested"), 10, "the controller's goal")
    with stack.node.suspended(2.0):
        wait_for(lambda: controller.seen("accepted"), 10, "the acceptance")
    assert goal.result()[0] == "SUCCEEDED", stack.node.output
    assert not controller.seen("cancel")
    stack.node.wait_for_line("the process did not run for 2")


def test_g3_no_recovery_moves_a_robot_that_another_client_has_stopped(stack_factory, tmp_path):
    path = tmp_path / "replan.xml"
    path.write_text(REPLAN)
    stack = stack_factory({"default_nav_to_pose_bt_xml": path, "response_timeout": 1000})
    robot, graph = stack.robot, stack.graph
    name = "follow_path/_action/cancel_goal"
    operator = graph.node.create_client(CancelGoal, name, callback_group=graph.group)
    wait_for(operator.service_is_ready, 10, "the controller's cancel service")
    robot.controller.behaviour = Behaviour(duration=None, preempts=True)
    robot.spin.behaviour = Behaviour(duration=None)
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(robot.controller.executing, 10, "the controller to execute")
    robot.planner.behaviour = Behaviour(result=straight_path, accept_delay=0.3)
    before = len(robot.planner.seen("requested"))
    wait_for(lambda: len(robot.planner.seen("requested")) > before, 10, "the next plan")
    with stack.node.suspended(1.6):
        assert graph.result(operator.call_async(CancelGoal.Request()), 5, "the cancel").goals_canceling
        wait_for(lambda: not robot.controller.executing(), 5, "the robot to stop")
        accepted = len(robot.controller.seen("accepted"))
    status, result = goal.result()
    assert (status, robot.spin.seen("requested")) == ("ABORTED", []), stack.node.output
    assert "another client cancelled the goal" in result.error_msg
    assert len(robot.controller.seen("accepted")) == accepted


def test_the_end_of_a_cancelled_goal_counts(stack_factory):
    stack = stack_factory({"stop_timeout": 2000})
    goal = drive(stack, stop_delay=0.5)
    goal.cancel()
    stop_while_the_process_is_stopped(stack, 4.0)
    status, result = goal.result()
    assert (status, result.error_code, result.error_msg) == ("CANCELED", 0, "")


@pytest.mark.timeout(60)
def test_no_leaf_is_blamed_for_a_deactivation_that_took_long(stack_factory):
    stack = stack_factory({"stop_timeout": 3000})
    node = LifecycleClient(stack)
    goal = drive(stack, stop_delay=0.8)
    deactivated = node.begin(Transition.TRANSITION_DEACTIVATE)
    stop_while_the_process_is_stopped(stack, 6.0)
    status, result = goal.result()
    assert (status, result.error_code) == ("ABORTED", 0), result.error_msg
    assert result.error_msg == "the node was deactivated: activate it and send the goal again"
    assert stack.graph.result(deactivated, 10, "the deactivation").success


@pytest.mark.timeout(60)
def test_no_leaf_is_blamed_for_a_shutdown_that_took_long(stack_factory):
    stack = stack_factory()
    goal = drive(stack, stop_delay=0.5)
    stack.node.interrupt()
    stop_while_the_process_is_stopped(stack, 6.0)
    status, result = goal.result()
    assert (status, result.error_code) == ("ABORTED", 0), result.error_msg
    assert result.error_msg == "the navigator was stopped: shutting down"
    assert stack.node.wait(10.0)[0] == 0, stack.node.output
