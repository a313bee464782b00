"""G8 after SIGKILL: the next node cancels the goals of the killed one.

Without a guardian, as if both were killed together. test_guardian.py tests the other case.
"""

import time

import pytest
from lifecycle_msgs.msg import Transition
from std_msgs.msg import Int32, String
from support.executable import Executable, ProcessStack
from support.fixtures import DEFAULTS
from support.graph import PATIENCE, Graph, wait_for
from support.lifecycle import LifecycleClient
from support.servers import Behaviour

#: Uses only the planner, so a goal on the controller is not affected.
PLAN = """
<root BTCPP_format="4"><BehaviorTree ID="Plan"><ComputePathToPose goal="{goal}" path="{path}"/></BehaviorTree></root>
"""


@pytest.fixture
def stack(stack_factory):
    return stack_factory({"guardian": False})


def kill_while_navigating(stack):
    """Kills the node while a goal executes on the controller."""
    controller = stack.robot.controller
    controller.behaviour.duration = None
    stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    stack.node.kill()
    assert controller.executing() == 1
    return controller


def restarted(stack, request, folder, parameters=None):
    node = Executable("navtree", stack.domain, DEFAULTS | (parameters or {}))
    request.addfinalizer(node.close)
    node.wait_for_line("goals are accepted")
    # Endpoints of the dead node are still known. Goals are lost until the new node answers.
    stack.navigation.warm_up(tries=10)
    path = folder / "plan.xml"
    path.write_text(PLAN)

    def plans():
        """The node rejects goals until it has transforms."""
        return stack.navigation.send(1.0, 0.0, tree=path).result()[0] == "SUCCEEDED"

    wait_for(plans, PATIENCE, lambda: f"a path to be planned: {node.output}")
    return node


def test_g3_next_node_cancels_the_goal_of_a_killed_one_and_accepts_goals(stack, request, tmp_path):
    controller = kill_while_navigating(stack)
    node = restarted(stack, request, tmp_path)
    wait_for(lambda: not controller.executing(), 30.0, lambda: f"the goal to be cancelled: {node.output}")
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]
    controller.behaviour.duration = 0.1
    status, result = stack.navigation.send(1.0, 0.0).result()
    assert status == "SUCCEEDED", result.error_msg
    assert len(controller.cancelled()) == 1


#: Maximum time in s from the end of a node until its successor, which starts at once, has cancelled its goals. Other
#: processes keep the endpoints of the dead node for 20 s; the successor never knew them.
TAKEOVER = 12.0


def test_g3_goal_of_a_killed_node_is_cancelled_before_its_lease_ends(stack, request):
    controller = kill_while_navigating(stack)
    killed = time.monotonic()
    node = Executable("navtree", stack.domain, DEFAULTS)
    request.addfinalizer(node.close)
    wait_for(lambda: controller.seen("ended"), PATIENCE, lambda: f"the goal to be cancelled: {node.output}")
    ended = controller.seen("ended")
    assert [event.detail for event in ended] == ["canceled"]
    assert ended[0].time - killed < TAKEOVER, node.output
    assert "another node on the graph is named" not in node.output


#: Uses a server that no default tree uses.
DRIVE = """
<root BTCPP_format="4"><BehaviorTree ID="Drive"><DriveOnHeading dist_to_travel="5.0"/></BehaviorTree></root>
"""


def test_g3_goal_of_a_killed_node_is_cancelled_on_an_unused_server(stack, request, tmp_path):
    tree = tmp_path / "drive.xml"
    tree.write_text(DRIVE)
    behaviors = stack.robot.add("drive_on_heading", Behaviour(duration=None))
    stack.navigation.send(2.0, 0.0, tree=tree)
    wait_for(behaviors.executing, PATIENCE, "the behavior to execute")
    stack.node.kill()
    # A topic with two types, the last of the graph. r2r's list of topics reads beyond its memory there.
    other = Graph(stack.domain)
    request.addfinalizer(other.close)
    for topic in ("/zzzz/a", "/zzzz/b"):
        stack.graph.node.create_publisher(String, topic, 1)
        other.node.create_subscription(Int32, topic, print, 1)
    node = Executable("navtree", stack.domain, DEFAULTS)
    request.addfinalizer(node.close)
    stopped_by(node, behaviors)


def test_goal_of_a_killed_node_is_not_cancelled_if_the_parameter_says_so(stack, request, tmp_path):
    controller = kill_while_navigating(stack)
    node = restarted(stack, request, tmp_path, {"stop_goals_of_earlier_run": False})
    controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(lambda: len(controller.requests()) == 2, 30.0, lambda: f"the new goal at the controller: {node.output}")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    # Only the new goal was cancelled. The old goal continues.
    assert controller.executing() == 1
    assert controller.cancelled() == [controller.seen("accepted")[1].goal]


def drive_and_refuse_cancels(stack):
    """Starts a goal that executes on the controller even after its node has ended."""
    controller = stack.robot.controller
    controller.behaviour.duration = None
    controller.behaviour.accept_cancel = False
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    return controller, goal


def end(node):
    """Shuts the node down: it leaves the graph at once."""
    node.interrupt()
    node.wait(20.0)


def wait_for_feedback(stack, goal, seconds=3):
    seen = len(goal.feedback)
    wait_for(lambda: len(goal.feedback) > seen + 10 * seconds, 60, f"feedback of {seconds} s")


ADOPTED = "goal left by an earlier run of this node; cancelling it"


def stopped_by(node, controller):
    controller.behaviour.accept_cancel = True
    wait_for(lambda: not controller.executing(), 60, lambda: f"the goal to be cancelled: {node.output}")
    # The log line comes through a pipe, possibly later.
    node.wait_for_line(ADOPTED)
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]


def test_g3_inactive_node_does_not_cancel_goals_of_an_earlier_run(stack, request):
    controller, goal = drive_and_refuse_cancels(stack)
    with ProcessStack(request) as processes:
        second = processes.add(Executable("navtree", stack.domain, DEFAULTS | {"autostart_node": False}))
        second.wait_for_line("random_seed")
        wait_for_feedback(stack, goal)
        assert not controller.cancelled(), second.output
        end(stack.node)
        assert ADOPTED not in second.output
        managed = LifecycleClient(stack)
        assert managed.change(Transition.TRANSITION_CONFIGURE)
        assert ADOPTED not in second.output
        assert managed.change(Transition.TRANSITION_ACTIVATE)
        stopped_by(second, controller)


@pytest.mark.parametrize("remappings", [{}, {"/parameter_events": "/other_events"}])
def test_g3_second_node_with_the_same_name_cancels_no_foreign_goals(stack, request, remappings):
    controller, goal = drive_and_refuse_cancels(stack)
    with ProcessStack(request) as processes:
        second = processes.add(Executable("navtree", stack.domain, DEFAULTS, remappings))
        second.wait_for_line("another node on the graph is named /bt_navigator")
        wait_for_feedback(stack, goal, seconds=1)
        assert not controller.cancelled(), second.output
        end(stack.node)
        stopped_by(second, controller)


def test_g3_goals_of_another_robot_on_a_server_are_not_cancelled(stack_factory, request):
    stack = stack_factory({"robot_id": "one"})
    controller, _ = drive_and_refuse_cancels(stack)
    end(stack.node)
    with ProcessStack(request) as processes:
        other = processes.add(Executable("navtree", stack.domain, DEFAULTS | {"robot_id": "two"}))
        other.wait_for_line("goals are accepted")
        # Longer than discovery and the wait for other nodes with the same name.
        time.sleep(8.0)
        assert controller.executing() and ADOPTED not in other.output
        end(other)
        same = processes.add(Executable("navtree", stack.domain, DEFAULTS | {"robot_id": "one"}))
        stopped_by(same, controller)
