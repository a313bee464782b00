"""G8: a leaf that panics or hangs ends only its goal: the robot stops, and the node continues or shuts down."""

import pytest
from lifecycle_msgs.msg import Transition
from std_msgs.msg import Empty
from support.fixtures import tree
from support.graph import wait_for
from support.lifecycle import LifecycleClient

FAULTY = """<root BTCPP_format="4">
  <BehaviorTree ID="Faulty">
    <Sequence>
      <ComputePathToPose goal="{{goal}}" path="{{path}}"/>
      <Parallel success_count="2" failure_count="1">
        <FollowPath path="{{path}}"/>
        <Sequence><RosSubscribe topic_name="/go" message_type="std_msgs/msg/Empty" mode="fresh"/><{leaf} name="arm"/></Sequence>
      </Parallel>
    </Sequence>
  </BehaviorTree>
</root>
"""


@pytest.fixture
def faulty(stack_factory, tmp_path):
    """A navigation whose controller executes when the leaf starts to fail."""

    def start(leaf, prepare=lambda stack: None, **parameters):
        path = tmp_path / "faulty.xml"
        path.write_text(FAULTY.format(leaf=leaf))
        stack = stack_factory(parameters={"watchdog_timeout": 0.5, **parameters}, program="examples/faulty_leaves")
        stack.robot.controller.behaviour.duration = None
        go = stack.graph.node.create_publisher(Empty, "/go", 10)
        goal = stack.navigation.send(1.0, 0.0, tree=path)
        wait_for(stack.robot.controller.executing, 10, "the controller to execute")
        wait_for(go.get_subscription_count, 10, "the tree to subscribe")
        prepare(stack)
        go.publish(Empty())
        return stack, goal

    return start


def assert_stopped(stack):
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")
    assert len(stack.robot.controller.cancelled()) == 1


def test_g8_leaf_that_panics_fails_its_tree_and_the_node_survives(faulty):
    stack, goal = faulty("Panics")
    status, result = goal.result()
    assert status == "ABORTED"
    assert "faulty.xml:7:" in result.error_msg and "`arm`" in result.error_msg, result.error_msg
    assert "the gripper has no fingers" in result.error_msg
    assert_stopped(stack)
    stack.robot.controller.behaviour.duration = 0.1
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    path = str(tree("plan_and_follow.xml"))
    assert stack.navigation.send(1.0, 0.0, tree=path).result()[0] == "SUCCEEDED"


def test_g8_leaf_that_panics_fails_its_tree_while_nobody_reads_the_console(faulty):
    stack, goal = faulty("Panics", prepare=lambda stack: stack.node.block_output())
    status, result = goal.result()
    assert status == "ABORTED"
    assert "the gripper has no fingers" in result.error_msg
    assert_stopped(stack)
    stack.node.unblock_output()
    stack.node.wait_for_line("panicked at")


@pytest.mark.alone
def test_g8_hanging_leaf_is_reported_and_delays_no_shutdown(faulty):
    stack, goal = faulty("Hangs")
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread for")
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0
    assert_stopped(stack)
    assert goal.result()[0] == "ABORTED"


@pytest.mark.alone
def test_g8_client_learns_at_a_shutdown_with_a_hanging_leaf_that_the_robot_has_not_stopped(faulty):
    stack, goal = faulty("Hangs")
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread for")
    stack.robot.controller.behaviour.stop_delay = 5.0
    stack.node.interrupt()
    status, result = goal.result(5.0)
    assert (status, result.error_code) == ("ABORTED", 9003), result.error_msg
    assert "before its tick thread had answered: a leaf may block it; not known to have stopped in time: " in result.error_msg
    assert "follow_path: goal of FollowPath" in result.error_msg
    assert stack.robot.controller.executing() == 1
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")


@pytest.mark.alone
def test_g8_client_gets_its_result_at_a_deactivation_although_a_leaf_hangs(faulty):
    stack, goal = faulty("Hangs")
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread for")
    node = LifecycleClient(stack)
    assert node.change(Transition.TRANSITION_DEACTIVATE)
    status, result = goal.result(5.0)
    assert status == "ABORTED"
    assert result.error_msg == "the node was deactivated before its tick thread had answered: a leaf may block it"
    assert_stopped(stack)
    # A goal would wait without end.
    assert not node.change(Transition.TRANSITION_ACTIVATE)
    stack.node.wait_for_line("not activated: the tick thread has not ended the last deactivation")


def test_node_is_active_again_when_the_leaf_that_blocked_its_deactivation_has_returned(faulty):
    stack, goal = faulty("Dawdles")
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread for")
    node = LifecycleClient(stack)
    assert node.change(Transition.TRANSITION_DEACTIVATE)
    assert goal.result()[0] == "ABORTED"
    assert_stopped(stack)
    assert node.change(Transition.TRANSITION_ACTIVATE)
    stack.robot.controller.behaviour.duration = 0.1
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_goal_is_cancelled_although_a_leaf_hangs(faulty):
    stack, goal = faulty("Hangs")
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread for")
    goal.cancel()
    assert_stopped(stack)


def test_g6_cancel_of_a_queued_goal_does_not_stop_a_blocked_goal(faulty):
    stack, goal = faulty("Dawdles")
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread for")
    before = len(stack.node.lines)
    other = stack.navigation.send_through([(1.0, 0.0)])
    other.cancel()
    stack.node.wait_for_line("tick thread responds again after", after=before)
    assert other.result()[0] in ("ABORTED", "CANCELED")
    controller = stack.robot.controller
    assert controller.executing() == 1 and not controller.seen("cancel")
    assert "the watchdog cancels all goals" not in stack.node.output
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    assert_stopped(stack)


def test_g6_next_goal_runs_after_the_watchdog_cancelled_a_goal(faulty, tmp_path):
    stack, goal = faulty("Dawdles")
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread for")
    # The second goal waits for the first one in the same tree.
    second = stack.navigation.send(2.0, 0.0, tree=tmp_path / "faulty.xml")
    goal.cancel()
    controller = stack.robot.controller
    wait_for(lambda: controller.seen("ended"), 10, "the first goal's motion to end")
    assert len(controller.cancelled()) == 1
    assert goal.result()[0] == "CANCELED"
    wait_for(controller.executing, 10, "the second goal's motion")
    second.cancel()
    assert second.result()[0] == "CANCELED"
    wait_for(lambda: stack.robot.executing() == 0, 10.0, "every goal to end")


@pytest.mark.alone
def test_g8_hanging_job_is_reported_and_delays_no_shutdown(faulty):
    stack, goal = faulty("HangsInItsJob")
    wait_for(lambda: any("job" in name for name in stack.node.thread_names()), 10, "the job")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    stack.node.wait_for_line("job of leaf `arm` still runs")
    assert_stopped(stack)
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0


@pytest.mark.alone
@pytest.mark.parametrize("stop_timeout", [3000, 0])
def test_g8_shutdown_waits_for_a_job_that_cleans_up(faulty, stop_timeout):
    stack, _goal = faulty("CleansUpInItsJob", stop_timeout=stop_timeout)
    wait_for(lambda: any("job" in name for name in stack.node.thread_names()), 10, "the job")
    stack.node.interrupt()
    code, seconds = stack.node.wait(10.0)
    assert code == 0, stack.node.output
    assert seconds < 3.0
    assert "CleansUpInItsJob has cleaned up" in stack.node.output
    assert_stopped(stack)
