"""Several robots in one process: each navigates, fails and ends by itself."""

import json
import os
import signal
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from lifecycle_msgs.msg import State, Transition
from rcl_interfaces.msg import Log
from std_msgs.msg import Empty
from support.client import Navigation
from support.executable import Executable, ProcessStack
from support.fixtures import DEFAULTS, Stack, free_port
from support.graph import PATIENCE, Graph, wait_for
from support.lifecycle import LifecycleClient
from support.servers import Robot

#: A leaf that fails after a message on the topic of its robot.
FAULTY = """<root BTCPP_format="4">
  <BehaviorTree ID="Faulty">
    <Sequence>
      <ComputePathToPose goal="{{goal}}" path="{{path}}"/>
      <Parallel success_count="2" failure_count="1">
        <FollowPath path="{{path}}"/>
        <Sequence><RosSubscribe topic_name="go" message_type="std_msgs/msg/Empty" mode="fresh"/><{leaf} name="arm"/></Sequence>
      </Parallel>
    </Sequence>
  </BehaviorTree>
</root>
"""

#: The token of the web page.
TOKEN = "the-token-of-this-test"
#: Threads of the middleware and of the libraries of ROS. Fast DDS has more with other transports.
OTHER_THREADS = 8
#: Threads of navtree: two for the process, and three for each robot.
PROCESS_THREADS, ROBOT_THREADS = 2, 3


@pytest.fixture
def start_robots(ros_domain, request, tmp_path):
    """Starts robots in one process, each with servers and a client in its namespace. Returns a stack for each."""
    processes = ProcessStack(request)

    def make(names, parameters=None, program="navtree", arguments=None, settle=True):
        arguments = ["run", "--robots", ",".join(names)] if arguments is None else arguments
        peers = []
        for name in names:
            graph = Graph(ros_domain, namespace=name)
            processes.callback(graph.close)
            robot = Robot(graph)
            processes.callback(robot.destroy)
            peers.append((graph, robot))
        transforms = {"/tf": "tf", "/tf_static": "tf_static"}
        node = Executable(program, ros_domain, DEFAULTS | (parameters or {}), transforms, arguments)
        processes.add(node)
        stacks = []
        for graph, robot in peers:
            stack = Stack(ros_domain, graph, robot, Navigation(graph), node)
            be_ready(stack)
            if settle:
                stack.settle(tmp_path)
            stacks.append(stack)
        return stacks

    with processes:
        yield make


def be_ready(stack):
    """Waits until the node of a robot accepts goals."""
    stack.navigation.wait()
    stack.navigation.warm_up()
    wait_for(stack.robot.has_listener, PATIENCE, "the node to subscribe to the transforms")


def drive(stack, tree=""):
    """Starts a goal whose controller executes until it is cancelled."""
    controller = stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(2.0, 0.0, tree=tree)
    wait_for(controller.awaited, PATIENCE, "the controller to execute")
    return goal


def assert_drives(stack, goal):
    """The robot drives, and its tree is ticked."""
    stack.wait_for_ticks(goal)
    assert stack.robot.controller.executing() == 1
    assert not stack.robot.controller.cancelled() and not goal.done()


def arrive(stack, goal):
    """Lets the controller of a robot succeed."""
    stack.robot.controller.behaviour.duration = 0.1
    assert goal.result()[0] == "SUCCEEDED"


def test_two_robots_navigate_at_once_with_results_of_their_own(start_robots):
    first, second = start_robots(["r1", "r2"])
    goals = [drive(first), drive(second)]
    first.robot.controller.behaviour.error_code = 105
    first.robot.controller.behaviour.duration = 0.1
    status, result = goals[0].result()
    assert (status, result.error_code) == ("ABORTED", 105)
    assert_drives(second, goals[1])
    arrive(second, goals[1])
    assert len(second.robot.planner.requests()) == 1 and not second.robot.controller.cancelled()


def test_robots_of_a_parameter_file_have_parameters_of_their_own(start_robots, tmp_path):
    file = tmp_path / "params.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    robots: [r1, a/r2]\n"
        "/r1/bt_navigator:\n  ros__parameters:\n    goal_reached_tol: 0.1\n"
        "/a/r2/bt_navigator:\n  ros__parameters:\n    goal_reached_tol: 0.2\n"
    )
    robots = start_robots(["r1", "a/r2"], arguments=["run", "--ros-args", "--params-file", file, "--"], settle=False)
    for stack, tolerance in zip(robots, (0.1, 0.2), strict=True):
        ask = lambda stack=stack: stack.parameters.get_parameters(["goal_reached_tol", "robots"])  # noqa: E731
        values = stack.graph.ask(ask, "the parameters").values
        assert (values[0].double_value, list(values[1].string_array_value)) == (tolerance, ["r1", "a/r2"])


def request_of(port, path, method="GET"):
    """A request to the web page with the token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers=headers)


def read_to_end(stream):
    """Reads a stream of events until the server ends it."""
    deadline = time.monotonic() + PATIENCE
    while stream.read1():
        assert time.monotonic() < deadline, "the stream does not end"


def test_one_page_shows_all_robots_and_acts_on_the_chosen_one(start_robots):
    port = free_port()
    first, second = start_robots(["r1", "r2"], {"monitor_port": port, "monitor_token": TOKEN})

    def ask(path, method="GET"):
        with urllib.request.urlopen(request_of(port, path, method), timeout=30) as answer:
            return answer.read().decode()

    names = ["/r1/bt_navigator", "/r2/bt_navigator"]
    wait_for(lambda: json.loads(ask("/robots")) == names, PATIENCE, "the page to have both robots")
    goals = [drive(first), drive(second)]
    assert ask("/act/pause?robot=/r2/bt_navigator", "POST") == "done\n"
    first.wait_for_ticks(goals[0])
    # The other robot is paused, so it can be resumed, and this one cannot.
    assert ask("/act/resume?robot=/r2/bt_navigator", "POST") == "done\n"
    with pytest.raises(urllib.error.HTTPError, match="400"):
        ask("/act/pause", "POST")
    for stack, goal in zip((first, second), goals, strict=True):
        arrive(stack, goal)


def test_a_parameter_of_a_shared_page_that_does_not_count_is_told(start_robots, tmp_path):
    file, port = tmp_path / "params.yaml", free_port()
    tokens = [f"the-token-of-robot-{number}" for number in (1, 2)]
    robots = "".join(f"/r{number}/bt_navigator:\n  ros__parameters:\n    monitor_token: {token}\n" for number, token in enumerate(tokens, 1))
    file.write_text(f"/**:\n  ros__parameters:\n    robots: [r1, r2]\n    monitor_port: {port}\n{robots}")
    first, _ = start_robots(["r1", "r2"], arguments=["run", "--ros-args", "--params-file", file, "--"], settle=False)
    # Robots start side by side: either one may be the first.
    first.node.wait_for_line(f"ignoring monitor_token: the web page on port {port} is that of /r")
    assert not any(token in line for token in tokens for line in first.node.lines if "ignoring" in line)


def test_log_lines_name_their_robot(start_robots, tmp_path):
    robots = start_robots(["r1", "r2"], settle=False)
    lines = []
    graph = robots[0].graph
    graph.node.create_subscription(Log, "/rosout", lines.append, 100, callback_group=graph.group)

    def is_told():
        robots[1].navigation.send(1.0, 0.0, tree="/nowhere/told.xml").result()
        return [line for line in lines if "/nowhere/told.xml" in line.msg]

    told = wait_for(is_told, PATIENCE, "the line on /rosout")
    assert {line.name for line in told} == {"r2.bt_navigator"}
    on_console = [line for line in robots[0].node.lines if "/nowhere/told.xml" in line]
    assert on_console and all(line.startswith("[/r2/bt_navigator] ") for line in on_console)


def test_g8_a_leaf_that_panics_or_hangs_leaves_the_other_robot_driving(start_robots, tmp_path):
    first, second = start_robots(["r1", "r2"], {"watchdog_timeout": 0.5}, "examples/faulty_leaves")
    go = first.graph.node.create_publisher(Empty, "go", 10)
    driving = drive(second)
    for leaf in ("Panics", "Hangs"):
        path = tmp_path / f"{leaf}.xml"
        path.write_text(FAULTY.format(leaf=leaf))
        first.robot.forget()
        goal = drive(first, path)
        wait_for(go.get_subscription_count, PATIENCE, "the tree to subscribe")
        go.publish(Empty())
        if leaf == "Panics":
            status, result = goal.result()
            assert status == "ABORTED" and "the gripper has no fingers" in result.error_msg
        else:
            first.node.wait_for_line("[/r1/bt_navigator]", after=len(first.node.lines))
            goal.cancel()
        wait_for(lambda: not first.robot.executing(), PATIENCE, "every goal of the robot to end")
        assert len(first.robot.controller.cancelled()) == 1
        assert_drives(second, driving)
    arrive(second, driving)


@pytest.mark.alone
@pytest.mark.timeout(1600)
@pytest.mark.parametrize("thread", ["tick", "goal-tracker", "ros-spin", "watchdog"])
def test_g8_a_robot_whose_thread_fails_is_started_again_while_the_other_drives(
    start_robots, program_with_faults, monkeypatch, tmp_path, thread
):
    trigger, prepared = tmp_path / "fail", tmp_path / "prepared"
    monkeypatch.setenv("NAVTREE_FAULT", f"{thread}:{trigger}")
    port = free_port()
    robots = start_robots(["r1", "r2"], {"monitor_port": port, "monitor_token": TOKEN}, program_with_faults)
    goals = [drive(stack) for stack in robots]
    paths = [f"/events?robot=/{name}/bt_navigator" for name in ("r1", "r2")]
    streams = [urllib.request.urlopen(request_of(port, path), timeout=PATIENCE) for path in paths]
    prepared.write_text("panic")
    prepared.rename(trigger)
    # The robot that reads the file first fails.
    wait_for(lambda: any(goal.done() for goal in goals), PATIENCE, lambda: f"a result: {robots[0].node.output}")
    failed = [goal.done() for goal in goals].index(True)
    assert goals[failed].result()[0] == "ABORTED"
    stack, other = robots[failed], robots[1 - failed]
    wait_for(lambda: not stack.robot.executing(), PATIENCE, "every goal of the robot to end")
    assert len(stack.robot.controller.cancelled()) == 1
    assert_drives(other, goals[1 - failed])
    stack.node.wait_for_line("ended after a fault; starting it again in 1s")
    # So that a page does not show the ended robot for ever.
    read_to_end(streams[failed])
    stack.robot.forget()
    stack.robot.controller.behaviour.duration = 0.1

    def works():
        goal = stack.navigation.send(1.0, 0.0)
        return goal.accepted and goal.result()[0] == "SUCCEEDED"

    wait_for(lambda: stack.node.output.count("active: goals are accepted") == 3, PATIENCE, "the robot to be active again")
    be_ready(stack)
    wait_for(works, PATIENCE, "a goal of the robot to succeed again")
    with urllib.request.urlopen(request_of(port, paths[failed]), timeout=PATIENCE) as again:
        assert again.readline() == b"event: run\n"
    assert_drives(other, goals[1 - failed])
    arrive(other, goals[1 - failed])
    stack.node.interrupt()
    assert stack.node.wait(10.0)[0] == 0, stack.node.output


def test_one_robot_is_deactivated_while_the_other_drives(start_robots):
    first, second = start_robots(["r1", "r2"])
    goals = [drive(first), drive(second)]
    lifecycle = LifecycleClient(first)
    assert lifecycle.change(Transition.TRANSITION_DEACTIVATE)
    assert lifecycle.state() == State.PRIMARY_STATE_INACTIVE
    assert goals[0].result()[0] == "ABORTED"
    assert not first.robot.executing()
    assert_drives(second, goals[1])
    assert not first.navigation.send(1.0, 0.0).accepted
    assert lifecycle.change(Transition.TRANSITION_ACTIVATE)
    arrive(second, goals[1])
    arrive(first, drive(first))


@pytest.mark.alone
def test_g8_all_robots_shut_down_side_by_side(start_robots):
    robots = start_robots(["r1", "r2", "r3"])
    goals = [drive(stack) for stack in robots]
    node = robots[0].node
    node.process.send_signal(signal.SIGTERM)
    code, seconds = node.wait(10.0)
    assert code == 0, node.output
    assert seconds < 3.0
    for stack, goal in zip(robots, goals, strict=True):
        assert goal.result(5.0)[0] == "ABORTED"
        assert len(stack.robot.controller.cancelled()) == 1 and not stack.robot.executing()


@pytest.mark.alone
def test_g11_the_guardian_cancels_the_goals_of_all_robots(start_robots):
    robots = start_robots(["r1", "r2"])
    for stack in robots:
        drive(stack)
    since = time.monotonic()
    os.kill(robots[0].node.pid, signal.SIGKILL)
    for stack in robots:
        controller = stack.robot.controller
        wait_for(lambda controller=controller: controller.seen("ended"), PATIENCE, "the guardian to cancel")
        assert [event.detail for event in controller.seen("ended")] == ["canceled"]
        assert controller.seen("ended")[0].time - since < 1.5


@pytest.mark.alone
@pytest.mark.parametrize("count", [1, 3])
def test_a_robot_has_three_threads(start_robots, count):
    names = [f"r{number}" for number in range(1, count + 1)]
    robots = start_robots(names, {"stop_goals_of_earlier_run": False})
    node = robots[0].node
    goals = [drive(stack) for stack in robots]
    expected = OTHER_THREADS + PROCESS_THREADS + ROBOT_THREADS * count
    wait_for(lambda: node.threads() <= expected, PATIENCE, lambda: f"{expected} threads: {sorted(node.thread_names())}")
    for name in ("tick", "goal-tracker", "ros-spin"):
        assert node.thread_names().count(name) == count
    for stack, goal in zip(robots, goals, strict=True):
        arrive(stack, goal)


def test_wrong_names_of_robots_are_refused(ros_domain, request):
    with ProcessStack(request) as processes:
        node = processes.add(Executable("navtree", ros_domain, arguments=["run", "--robots", "r1,/r1"]))
        assert node.wait(PATIENCE)[0] == 1
        assert "robots: `/r1` is there twice" in node.output


def test_a_robot_that_cannot_start_is_tried_again_and_a_process_without_robots_ends(ros_domain, request, tmp_path):
    file = tmp_path / "params.yaml"
    with ProcessStack(request) as processes:
        for robots, is_usable in (("/r1", True), ("/**", False)):
            file.write_text(f"{robots}/bt_navigator:\n  ros__parameters:\n    bt_loop_duration: 0\n")
            arguments = ["run", "--robots", "r1,r2", "--ros-args", "--params-file", file, "--"]
            node = processes.add(Executable("navtree", ros_domain, {"autostart_node": True}, arguments=arguments))
            if is_usable:
                node.wait_for_line("active: goals are accepted")
                node.wait_for_line("not started, next attempt in 2s")
                node.interrupt()
            assert node.wait(PATIENCE)[0] == (0 if is_usable else 1), node.output


@pytest.mark.alone
def test_g8_a_robot_that_waits_for_a_file_delays_no_other_and_no_signal(ros_domain, request, tmp_path):
    fifo, file = tmp_path / "tree.xml", tmp_path / "params.yaml"
    os.mkfifo(fifo)
    file.write_text(f"/r1/bt_navigator:\n  ros__parameters:\n    default_nav_to_pose_bt_xml: {fifo}\n")
    with ProcessStack(request) as processes:
        arguments = ["run", "--robots", "r1,r2", "--ros-args", "--params-file", file, "--"]
        node = processes.add(Executable("navtree", ros_domain, {"autostart_node": True}, arguments=arguments))
        node.wait_for_line("active: goals are accepted")
        assert not any("[/r1/bt_navigator]" in line and "active" in line for line in node.lines)
        node.process.send_signal(signal.SIGTERM)
        code, seconds = node.wait(10.0)
        assert code == 0 and seconds < 6.0, node.output


@pytest.mark.alone
@pytest.mark.timeout(1600)
def test_g11_a_goal_that_did_not_stop_is_cancelled_although_its_robot_runs_no_more(
    start_robots, program_with_faults, monkeypatch, tmp_path
):
    trigger, prepared = tmp_path / "fail", tmp_path / "prepared"
    monkeypatch.setenv("NAVTREE_FAULT", f"tick:{trigger}")
    robots = start_robots(["r1", "r2"], {"stop_goals_of_earlier_run": False}, program=program_with_faults)
    for stack in robots:
        drive(stack)
        stack.robot.controller.behaviour.accept_cancel = False
    prepared.write_text("panic")
    prepared.rename(trigger)
    node = robots[0].node
    node.wait_for_line("ended after a fault; starting it again in 1s")
    for stack in robots:
        stack.robot.controller.behaviour.accept_cancel = True
    ended = lambda: [stack for stack in robots if not stack.robot.controller.executing()]  # noqa: E731
    wait_for(ended, PATIENCE, lambda: f"the guardian to cancel the goal: {node.output}")
    assert len(ended()) == 1, "the other robot drives on"
    wait_for(lambda: node.output.count("active: goals are accepted") == 3, PATIENCE, "the robot to be active again")


def test_the_settings_of_the_middleware_leave_no_file(start_robots):
    node = start_robots(["r1", "r2"], settle=False)[0].node
    assert not list(Path(tempfile.gettempdir()).glob(f"navtree-{node.pid}-*.xml"))


def test_the_example_of_two_robots_drives(ros_domain, request):
    file = Path(__file__).resolve().parents[1] / "config" / "two_robots.yaml"
    with ProcessStack(request) as processes:
        arguments = ["--ros-args", "--params-file", file, "--"]
        transforms = {"/tf": "tf", "/tf_static": "tf_static"}
        processes.add(Executable("nav_sim", ros_domain, None, transforms, arguments))
        processes.add(Executable("navtree", ros_domain, None, transforms, ["run", *arguments]))
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        for robot, x in (("r1", 0.5), ("r2", -0.5)):
            navigation = Navigation(graph, robot)
            navigation.wait()
            navigation.warm_up()
            # The servers may not be discovered yet.
            wait_for(lambda: navigation.send(x, 0.0).result()[0] == "SUCCEEDED", PATIENCE, f"{robot} to arrive")  # noqa: B023
