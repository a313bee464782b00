"""G11: the guardian, a separate process, cancels the goals of a navigator that was killed."""

import os
import signal
import time
from pathlib import Path

import pytest
from nav2_msgs.action import FollowPath
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile
from support.client import Client
from support.executable import Executable
from support.fixtures import DEFAULTS
from support.graph import PATIENCE, wait_for
from support.guardians import children, guardian_of, guardians

# The time from the end of the navigator to the cancel at the server is measured.
pytestmark = pytest.mark.alone

#: Maximum time in s until the goal is cancelled; see docs/guardian.md.
BOUND = 1.5
FIRED = "ended without stopping its goals"


def wait_for_end(pid):
    wait_for(lambda: not Path(f"/proc/{pid}").exists(), PATIENCE, f"the end of process {pid}")


def private_kib(pid):
    """The private memory of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


def navigate(stack):
    """Starts a goal that executes on the controller until it is cancelled."""
    controller = stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.awaited, PATIENCE, "the controller to execute")
    return controller, goal


def kill(stack, controller, how=signal.SIGKILL, of=None):
    """Kills the navigator, or another process. Returns the seconds until the goal ended."""
    process = of or stack.node
    since = time.monotonic()
    process.process.send_signal(how)
    wait_for(lambda: controller.seen("ended"), PATIENCE, lambda: f"the goal to be cancelled: {process.output}")
    ended = controller.seen("ended")
    assert [event.detail for event in ended] == ["canceled"]
    return ended[0].time - since


def test_g11_guardian_cancels_only_goals_of_the_killed_navigator(stack):
    log_lines = []
    latched = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    stack.graph.node.create_subscription(Log, "/rosout", log_lines.append, latched, callback_group=stack.graph.group)
    other = Client(stack.graph.node, FollowPath, "follow_path", callback_group=stack.graph.group)
    controller = stack.robot.controller
    controller.behaviour.duration = None
    wait_for(other.server_is_ready, PATIENCE, "the controller")
    foreign = stack.graph.ask(lambda: other.send_goal_async(FollowPath.Goal()), "acceptance of another client's goal")
    navigate(stack)
    wait_for(lambda: controller.executing() == 2, PATIENCE, "the controller to execute both")
    guardian = guardian_of(stack.node)
    assert kill(stack, controller) < BOUND, stack.node.output
    stack.node.wait_for_line("/follow_path/_action/cancel_goal: cancelled goal")
    wait_for(lambda: any("cancelled goal" in log.msg for log in log_lines), PATIENCE, "the guardian on /rosout")
    wait_for_end(guardian)
    assert controller.executing() == 1
    assert bytes(foreign.goal_id.uuid) not in controller.cancelled()


def test_g11_guardian_cancels_the_goals_of_a_navigator_that_aborts(stack):
    controller, _ = navigate(stack)
    assert kill(stack, controller, signal.SIGABRT) < BOUND, stack.node.output


@pytest.mark.parametrize("name", ["bt_navigator", "navtree"])
def test_g11_killing_by_name_does_not_kill_the_guardian(stack_factory, name):
    stack = stack_factory(remappings={"__node": "bt_navigator"})
    controller, _ = navigate(stack)
    guardian_of(stack.node)
    begun = time.monotonic()
    # Kill the processes of this test that `pkill -9` and `pkill -9 -f` would find.
    for pid in [stack.node.pid, *children(stack.node.pid)]:
        shown = [Path(f"/proc/{pid}/{file}").read_bytes() for file in ("comm", "cmdline")]
        if any(name.encode() in text for text in shown):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: controller.seen("ended"), PATIENCE, lambda: f"the goal to be cancelled: {stack.node.output}")
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]
    assert controller.seen("ended")[0].time - begun < BOUND
    assert stack.node.wait(PATIENCE)[0] == -signal.SIGKILL


def test_g11_a_new_navigator_starts_while_the_guardian_cancels(stack, request):
    controller, _ = navigate(stack)
    stack.node.kill()
    successor = Executable("navtree", stack.domain, DEFAULTS)
    request.addfinalizer(successor.close)
    successor.wait_for_line("goals are accepted")
    wait_for(lambda: controller.seen("ended"), PATIENCE, lambda: f"the goal to be cancelled: {stack.node.output}")
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]
    assert FIRED not in successor.output and guardians(successor.pid)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_g11_guardian_cancels_nothing_after_a_normal_shutdown(stack, how):
    controller, _ = navigate(stack)
    guardian = guardian_of(stack.node)
    # Ctrl-C reaches all processes of a terminal.
    os.kill(guardian, how)
    stack.node.process.send_signal(how)
    assert stack.node.wait(20.0)[0] == 0
    wait_for_end(guardian)
    assert FIRED not in stack.node.output
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]


def test_g11_guardian_cancels_a_goal_that_survived_the_shutdown(stack):
    controller, _ = navigate(stack)
    controller.behaviour.accept_cancel = False
    guardian = guardian_of(stack.node)
    stack.node.process.send_signal(signal.SIGTERM)
    assert stack.node.wait(20.0)[0] == 0
    exited = time.monotonic()
    assert controller.executing() == 1
    controller.behaviour.accept_cancel = True
    wait_for(lambda: controller.seen("ended"), PATIENCE, lambda: f"the goal to be cancelled: {stack.node.output}")
    assert [event.detail for event in controller.seen("ended")] == ["canceled"]
    assert controller.seen("cancel")[-1].time > exited
    wait_for_end(guardian)


def test_g11_guardian_stops_the_search_for_servers_that_ended(stack):
    navigate(stack)
    guardian = guardian_of(stack.node)
    # A destroyed server aborts its goals; the suspended navigator does not receive that.
    stack.node.process.send_signal(signal.SIGSTOP)
    stack.robot.destroy()
    since = time.monotonic()
    stack.node.kill()
    wait_for_end(guardian)
    assert FIRED in stack.node.output, "the goal was alive"
    # An earlier version took 14 s.
    assert time.monotonic() - since < 12.0, stack.node.output


def test_g11_guardian_cancels_the_goal_of_a_killed_drive_command(stack, request):
    stack.robot.controller.behaviour.duration = None
    # The middleware ignores the blank.
    environment = {"ROS_DOMAIN_ID": f"{stack.domain} "}
    arguments = ["drive", "--goal", "2", "0", "0"]
    drive = Executable("navtree", stack.domain, arguments=arguments, environment=environment)
    request.addfinalizer(drive.close)
    wait_for(stack.robot.controller.awaited, PATIENCE, "the controller to execute")
    guardian = guardian_of(drive)
    assert kill(stack, stack.robot.controller, of=drive) < BOUND, drive.output
    wait_for_end(guardian)
    assert stack.node.running()


def test_g11_guardian_waits_while_the_navigator_is_suspended(stack):
    controller, goal = navigate(stack)
    guardian = guardian_of(stack.node)
    # Twice the maximum time of a cancel.
    with stack.node.suspended(2 * BOUND):
        pass
    stack.wait_for_ticks(goal)
    assert guardians(stack.node.pid) == [guardian]
    assert not controller.seen("cancel") and FIRED not in stack.node.output


def test_g11_guardian_uses_little_memory_and_is_restarted(stack):
    controller, goal = navigate(stack)
    first = guardian_of(stack.node)
    assert private_kib(first) <= 2048
    os.kill(first, signal.SIGKILL)
    second = guardian_of(stack.node, but=first)
    stack.node.wait_for_line(f"the guardian (process {first}) ended")
    # The parent has read its exit status and continues.
    wait_for_end(first)
    stack.wait_for_ticks(goal)
    assert guardians(stack.node.pid) == [second]
    # Shared pages that the parent writes become private pages of the guardian.
    assert private_kib(second) <= 1024
    assert kill(stack, controller) < BOUND, stack.node.output


def test_g11_there_is_no_guardian_if_the_parameter_disables_it(stack_factory):
    stack = stack_factory({"guardian": False})
    controller, goal = navigate(stack)
    wait_for(lambda: not guardians(stack.node.pid), PATIENCE, "the guardian to end")
    stack.wait_for_ticks(goal)
    stack.node.kill()
    time.sleep(BOUND)
    assert controller.executing() == 1 and FIRED not in stack.node.output
