"""G8, and what no process can do for itself: killed with SIGKILL, its successor stops what it left running."""

import signal

from support.executable import Executable
from support.fixtures import tree
from support.graph import wait_for

PARAMETERS = {"autostart_node": True, "default_nav_to_pose_bt_xml": str(tree("plan_and_follow.xml"))}


def kill_while_navigating(stack):
    """Leaves a goal executing on the controller, and nobody who looks after it."""
    controller = stack.robot.controller
    controller.behaviour.duration = None
    stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    stack.node.process.send_signal(signal.SIGKILL)
    stack.node.wait(5.0)
    assert controller.executing() == 1
    return controller


def restarted(stack, request, parameters=None):
    node = Executable("navtree", stack.domain, PARAMETERS | (parameters or {}))
    request.addfinalizer(node.close)
    node.wait_for_line("goals are accepted", 20.0)
    return node


def navigate(stack):
    """A goal that the new process takes, not the dead one whose endpoints the middleware still remembers."""
    for _ in range(20):
        try:
            return stack.navigation.send(1.0, 0.0)
        except AssertionError:
            continue
    raise AssertionError("the restarted node takes no goals")


def test_g3_goal_of_a_killed_node_is_stopped_by_the_next_one_which_then_takes_goals(stack, request):
    controller = kill_while_navigating(stack)
    node = restarted(stack, request)
    wait_for(lambda: controller.executing() == 0, 10.0, f"the goal left behind to be stopped: {node.output}")
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]
    controller.behaviour.duration = 0.1
    status, result = navigate(stack).result()
    assert status == "SUCCEEDED", result.error_msg
    assert len(controller.seen("cancel")) == 1


def test_goal_of_a_killed_node_is_left_alone_where_that_is_wanted(stack, request):
    controller = kill_while_navigating(stack)
    restarted(stack, request, {"stop_goals_of_earlier_run": False})
    controller.behaviour.duration = None
    goal = navigate(stack)
    wait_for(lambda: len(controller.requests()) == 2, 10.0, "the new goal at the controller")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    # The new one was stopped, and only that: the old one is somebody else's business.
    assert controller.executing() == 1
    assert len(controller.seen("cancel")) == 1
