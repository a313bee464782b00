"""Halts over ROS: cancel, preemption by a condition, late acceptance."""

import threading
import time

import pytest
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from nav2_msgs.action import FollowPath
from sensor_msgs.msg import BatteryState
from support.fixtures import limited_drive, tree
from support.graph import wait_for
from support.raw_action_server import EventLoop, RawActionServer, reply
from support.servers import Behaviour

PERIOD = 0.010

BATTERY_TREE = """
<root BTCPP_format="4"><BehaviorTree ID="GuardedDrive">
  <Sequence>
    <ComputePathToPose goal="{goal}" path="{path}"/>
    <ReactiveFallback>
      <ReactiveSequence>
        <Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>
        <FollowPath path="{path}"/>
      </ReactiveSequence>
      <Wait wait_duration="0.1"/>
    </ReactiveFallback>
  </Sequence>
</BehaviorTree></root>
"""

CHARGED_TREE = """
<root BTCPP_format="4"><BehaviorTree ID="Charged">
  <Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>
</BehaviorTree></root>
"""


def test_g3_no_goal_executes_after_a_cancel_during_follow_path(stack):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    answer = goal.cancel()
    assert answer.return_code == 0
    assert [bytes(info.goal_id.uuid) for info in answer.goals_canceling] == [bytes(goal.handle.goal_id.uuid)]
    status, result = goal.result()
    assert (status, result.error_code) == ("CANCELED", 0), result.error_msg
    # CANCELED is reported after the motion stopped.
    assert stack.robot.executing() == 0
    assert len(controller.cancelled()) == 1
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]


def test_g3_canceled_is_reported_when_the_motion_has_stopped(stack):
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.stop_delay = None, 0.6
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    asked = time.monotonic()
    goal.cancel()
    status, _ = goal.result()
    assert status == "CANCELED"
    assert time.monotonic() - asked > 0.5
    assert stack.robot.executing() == 0


def test_g3_failure_of_a_tree_is_reported_when_the_motion_has_stopped(stack_factory, tmp_path):
    path = limited_drive(tmp_path, 500)
    stack = stack_factory({"default_nav_to_pose_bt_xml": path})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.stop_delay = None, 0.6
    status, result = stack.navigation.send(2.0, 0.0).result()
    assert (status, result.error_code) == ("ABORTED", 0), result.error_msg
    assert result.error_msg == "the tree failed without an error code"
    assert stack.robot.executing() == 0
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]


def test_g3_result_of_a_failed_tree_names_the_goal_that_does_not_stop(stack_factory, tmp_path):
    path = limited_drive(tmp_path, 500)
    stack = stack_factory({"default_nav_to_pose_bt_xml": path, "stop_timeout": 500})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    status, result = stack.navigation.send(2.0, 0.0).result()
    assert (status, result.error_code) == ("ABORTED", 9003)
    assert "the tree failed" in result.error_msg and "follow_path" in result.error_msg
    controller.behaviour.accept_cancel = True
    wait_for(lambda: stack.robot.executing() == 0, 10, "the goal to be cancelled")


def test_g3_result_names_a_goal_that_was_given_up(stack_factory):
    stack = stack_factory({"default_cancel_timeout": 200, "give_up_timeout": 600, "stop_timeout": 5000})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    goal.cancel()
    status, result = goal.result()
    assert (status, result.error_code) == ("CANCELED", 9003)
    assert "follow_path" in result.error_msg and "given up" in result.error_msg
    controller.behaviour.duration = 0.0


def test_stop_timeout_of_zero_reports_canceled_at_once(stack_factory):
    stack = stack_factory({"stop_timeout": 0})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.stop_delay = None, 600.0
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    goal.cancel()
    status, result = goal.result()
    assert (status, result.error_code, result.error_msg) == ("CANCELED", 0, "")
    assert stack.robot.executing() == 1
    controller.behaviour.stop_delay = 0.0
    wait_for(lambda: stack.robot.executing() == 0, 10, "the goal to be cancelled")


def test_g3_result_names_a_goal_that_does_not_stop(stack_factory):
    stack = stack_factory({"stop_timeout": 500})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    goal.cancel()
    status, result = goal.result()
    assert status == "CANCELED"
    assert result.error_code == 9003
    assert "follow_path" in result.error_msg
    # The goal tracker continues: it cancels the goal as soon as the server accepts that.
    controller.behaviour.accept_cancel = True
    wait_for(lambda: stack.robot.executing() == 0, 10, "the goal to be cancelled")


SHORT_TIMEOUT_TREE = """
<root BTCPP_format="4"><BehaviorTree ID="ImpatientDrive">
  <Sequence>
    <ComputePathToPose goal="{goal}" path="{path}"/>
    <FollowPath path="{path}" server_timeout="200"/>
  </Sequence>
</BehaviorTree></root>
"""


def test_g3_lost_goal_request_of_an_earlier_goal_delays_no_cancel(stack_factory, tmp_path):
    path = tmp_path / "impatient.xml"
    path.write_text(SHORT_TIMEOUT_TREE)
    stack = stack_factory({"default_cancel_timeout": 400, "stop_timeout": 8000})
    controller = stack.robot.controller
    controller.behaviour = Behaviour(accept_delay=600.0)
    lost = stack.navigation.send(2.0, 0.0, tree=path)
    assert lost.result()[0] == "ABORTED"
    # The cancel timeout is over, but the goal is not given up: that takes a minute.
    stack.node.wait_for_line("goal not known to have stopped in time")
    controller.behaviour = Behaviour(duration=None)
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    asked = time.monotonic()
    goal.cancel()
    status, result = goal.result()
    # Without the guarantee the result would come after eight seconds and name the lost goal.
    assert (status, result.error_code) == ("CANCELED", 0), result.error_msg
    assert time.monotonic() - asked < 7.0
    assert stack.robot.executing() == 0


def test_g3_result_names_an_earlier_goal_that_still_executes(stack_factory):
    stack = stack_factory({"default_cancel_timeout": 400, "stop_timeout": 500})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    first = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    first.cancel()
    assert first.result()[1].error_code == 9003
    stack.robot.planner.behaviour.duration = None
    second = stack.navigation.send(2.0, 0.0)
    wait_for(stack.robot.planner.executing, 10, "the planner to plan")
    second.cancel()
    status, result = second.result()
    assert (status, result.error_code) == ("CANCELED", 9003)
    assert "follow_path" in result.error_msg
    controller.behaviour.accept_cancel = True
    wait_for(lambda: stack.robot.executing() == 0, 10, "the goal to be cancelled")


#: Number of measurements of a latency. The minimum counts: other processes add to the latency.
TRIALS = 5


def first_cancel(server):
    """The time of the first cancel request for the latest goal."""
    latest = server.seen("accepted")[-1].goal
    return min(event.time for event in server.seen("cancel") if event.goal == latest)


@pytest.mark.alone
def test_g2_false_condition_cancels_before_the_replacement_starts(stack_factory, tmp_path):
    path = tmp_path / "guarded.xml"
    path.write_text(BATTERY_TREE)
    stack = stack_factory({"default_nav_to_pose_bt_xml": path})
    battery = stack.graph.node.create_publisher(BatteryState, "/battery_status", 10)
    controller, wait = stack.robot.controller, stack.robot.wait
    controller.behaviour.duration = None
    wait_for(lambda: battery.get_subscription_count() > 0, 10, "the battery topic to be read")
    charged = tmp_path / "charged.xml"
    charged.write_text(CHARGED_TREE)
    latencies = []
    for trial in range(1, TRIALS + 1):
        battery.publish(BatteryState(percentage=0.9))
        battery_is_full = lambda: stack.navigation.send(2.0, 0.0, tree=charged).result()[0] == "SUCCEEDED"  # noqa: E731
        wait_for(battery_is_full, 30, "the node to receive a full battery")
        goal = stack.navigation.send(2.0, 0.0)
        wait_for(controller.executing, 10, "the controller to execute")
        stack.wait_for_ticks(goal)
        assert len(controller.cancelled()) == trial - 1, "a full battery stopped the robot"
        low = time.monotonic()
        battery.publish(BatteryState(percentage=0.1))
        status, result = goal.result()
        assert status == "SUCCEEDED", result.error_msg
        assert len(controller.cancelled()) == trial and len(wait.requests()) == trial
        cancel = first_cancel(controller)
        assert cancel < wait.seen("requested")[-1].time, "the replacement started before the cancel was sent"
        latencies.append(cancel - low)
    assert min(latencies) < PERIOD + 0.020, latencies


@pytest.mark.alone
def test_g3_goal_accepted_after_its_leaf_was_halted_is_cancelled_at_once(stack):
    controller = stack.robot.controller
    controller.behaviour.accept_delay, controller.behaviour.duration = 0.5, None
    latencies = []
    for trial in range(1, TRIALS + 1):
        goal = stack.navigation.send(2.0, 0.0)
        wait_for(lambda: len(controller.seen("requested")) == trial, 10, "the goal request at the controller")
        goal.cancel()
        status, _ = goal.result()
        assert status == "CANCELED"
        wait_for(lambda: len(controller.seen("ended")) == trial, 10, "the late goal to end")
        latencies.append(first_cancel(controller) - controller.seen("accepted")[-1].time)
        assert stack.robot.executing() == 0
    assert len(controller.cancelled()) == TRIALS
    assert min(latencies) < 0.1, latencies


def test_second_goal_preempts_the_first_without_stopping_the_robot(stack_factory):
    stack = stack_factory({"default_nav_to_pose_bt_xml": tree("navigate_to_pose.xml")})
    controller = stack.robot.controller
    # Like Nav2's controller. A server that executes both goals gets a cancel for the first after a while.
    controller.behaviour.duration, controller.behaviour.preempts = None, True
    first = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    second = stack.navigation.send(5.0, 0.0)
    status, result = first.result()
    assert status == "ABORTED"
    assert "replaced by a newer goal" in result.error_msg
    wait_for(
        lambda: controller.requests()[-1].path.poses[-1].pose.position.x == 5.0, 10, "a path to the second goal"
    )
    assert not controller.seen("cancel")
    second.cancel()
    assert second.result()[0] == "CANCELED"
    assert stack.robot.executing() == 0


def test_preempting_goal_is_planned_again_by_a_tree_that_plans_once(stack):
    # The tree plans only once: the controller ends at the first goal.
    controller = stack.robot.controller
    controller.behaviour.duration = None
    first = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    second = stack.navigation.send(5.0, 0.0)
    assert first.result()[0] == "ABORTED"
    controller.behaviour.duration = 0.0
    status, result = second.result()
    assert status == "SUCCEEDED", result.error_msg
    assert [p.goal.pose.position.x for p in stack.robot.planner.requests()] == [2.0, 5.0]
    assert [f.path.poses[-1].pose.position.x for f in controller.requests()] == [2.0, 5.0]
    assert not controller.seen("cancel")


def test_goal_with_another_tree_replaces_the_running_one(stack):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    first = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    # For the next goal; the running goal continues.
    controller.behaviour = Behaviour(duration=0.1)
    second = stack.navigation.send(5.0, 0.0, tree=tree("navigate_to_pose.xml"))
    assert first.result()[0] == "ABORTED"
    status, result = second.result()
    assert status == "SUCCEEDED", result.error_msg
    assert len(controller.cancelled()) == 1
    ended = [event for event in controller.seen("ended") if event.detail == "canceled"]
    assert ended[0].time < controller.seen("accepted")[1].time, "two goals were alive at once"


def test_cancel_of_finished_and_unknown_goals_returns_codes_of_rcl(stack):
    goal = stack.navigation.send(1.0, 0.0)
    assert goal.result()[0] == "SUCCEEDED"
    client = stack.graph.node.create_client(CancelGoal, "navigate_to_pose/_action/cancel_goal")
    request = CancelGoal.Request()
    request.goal_info.goal_id.uuid = goal.handle.goal_id.uuid
    assert stack.graph.call(client, request).return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED
    request.goal_info.goal_id.uuid = list(range(16))
    assert stack.graph.call(client, request).return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID


CANCEL_NODE_TREE = """
<root BTCPP_format="4"><BehaviorTree ID="StopDriving">
  <Sequence>
    <ComputePathToPose goal="{goal}" path="{path}"/>
    <Fallback>
      <Parallel success_count="2" failure_count="1">
        <FollowPath path="{path}"/>
        <Delay delay_msec="300"><CancelControl/></Delay>
      </Parallel>
      <AlwaysSuccess/>
    </Fallback>
    <Wait wait_duration="0.1"/>
  </Sequence>
</BehaviorTree></root>
"""


@pytest.mark.parametrize("stop_delay", [0.0, 0.5])
def test_g3_tree_whose_cancel_node_stops_a_goal_goes_on(stack, tmp_path, stop_delay):
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.stop_delay = None, stop_delay
    path = tmp_path / "stop.xml"
    path.write_text(CANCEL_NODE_TREE)
    status, result = stack.navigation.send(2.0, 0.0, tree=path).result()
    assert (status, result.error_msg) == ("SUCCEEDED", "")
    assert len(controller.cancelled()) == 1
    assert stack.robot.executing() == 0


class StoppedServer(RawActionServer):
    """A server on which another client cancels the second goal shortly before the first cancel of the node arrives. Its status
    list comes too late. ``order`` has the answers to that cancel (c) and to the result request (r)."""

    def __init__(self, loop, name, order):
        super().__init__(loop, name, FollowPath)
        self.order, self.asked, self.goals, self.cancels = order, None, 0, 0

    def on_goal(self, request, header):
        self.goals += 1
        reply(self.send_goal, FollowPath.Impl.SendGoalService.Response(accepted=True, stamp=self.now()), header)

    def on_result(self, request, header):
        self.asked = header
        if self.goals == 1:
            succeeded = FollowPath.Impl.GetResultService.Response(status=GoalStatus.STATUS_SUCCEEDED)
            reply(self.get_result, succeeded, header)

    def on_cancel(self, request, header):
        self.cancels += 1
        terminated = CancelGoal.Response(return_code=CancelGoal.Response.ERROR_GOAL_TERMINATED)
        canceled = FollowPath.Impl.GetResultService.Response(status=GoalStatus.STATUS_CANCELED)
        answers = {"c": (self.cancel_goal, terminated, header), "r": (self.get_result, canceled, self.asked)}
        for number, name in enumerate(self.order):
            self.loop.later(0.02 * number, reply, *answers[name])


HALTED_TREE = """
<root BTCPP_format="4"><BehaviorTree ID="HaltedDrive">
  <Sequence>
    <ComputePathToPose goal="{goal}" path="{path}"/>
    <FollowPath path="{path}" server_name="stopped_follow_path"/>
    <Fallback>
      <Timeout msec="300"><FollowPath path="{path}" server_name="stopped_follow_path"/></Timeout>
      <Sleep msec="20000"/>
    </Fallback>
  </Sequence>
</BehaviorTree></root>
"""


@pytest.mark.parametrize("order", ["cr", "rc"])
def test_g3_cancel_of_another_client_before_that_of_a_halt_ends_the_navigation(stack, ros_domain, tmp_path, order):
    loop = EventLoop(ros_domain, "stopped_server")
    server = StoppedServer(loop, "stopped_follow_path", order)
    is_over = threading.Event()

    def run():
        while not is_over.is_set():
            loop.run_once(0.1)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        path = tmp_path / "halted.xml"
        path.write_text(HALTED_TREE)
        status, result = stack.navigation.send(2.0, 0.0, tree=path).result()
    finally:
        is_over.set()
        thread.join()
        loop.close()
    assert status == "ABORTED" and "another client cancelled the goal" in result.error_msg, result.error_msg
    assert (server.goals, server.cancels) == (2, 1)
    assert stack.robot.executing() == 0
