"""A complete stack for one test: a ROS domain, servers and a client on rclpy, and the node under test."""

import functools
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from .client import Navigation
from .executable import ROOT, Executable, ProcessStack
from .graph import PATIENCE, Graph, wait_for
from .servers import Robot

TREE_PARAMETER = "default_nav_to_pose_bt_xml"
CORPUS = ROOT.parent / "shared" / "corpus"


def corpus(name):
    """A tree file of the corpus. Skips the test if it does not exist."""
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"the corpus of tree files is not beside the checkout: {path}")
    return path


def free_port():
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


#: Plans and follows, with short timeouts.
SETTLE = """
<root BTCPP_format="4"><BehaviorTree ID="Settle">
  <Sequence>
    <ComputePathToPose goal="{goal}" path="{path}" server_timeout="3000"/>
    <FollowPath path="{path}" server_timeout="3000"/>
  </Sequence>
</BehaviorTree></root>
"""


@dataclass
class Stack:
    """The parts of the stack."""

    domain: int
    graph: Graph
    robot: Robot
    navigation: Navigation
    node: Executable

    @functools.cached_property
    def parameters(self):
        """A client of the node's parameters; all of its services are ready."""
        from rclpy.parameter_client import AsyncParameterClient

        client = AsyncParameterClient(self.graph.node, "bt_navigator", callback_group=self.graph.group)
        wait_for(client.services_are_ready, PATIENCE, "the parameters of the node")
        return client

    def set_parameter(self, parameter):
        """Sets a parameter of the node and returns the answer."""
        return self.graph.ask(lambda: self.parameters.set_parameters([parameter]), "answer of set_parameters").results[0]

    def set_tree(self, value):
        """Sets the default tree of `navigate_to_pose` and returns the answer."""
        from rclpy.parameter import Parameter

        return self.set_parameter(Parameter(TREE_PARAMETER, Parameter.Type.STRING, str(value)))

    def get_tree(self):
        answer = self.graph.ask(lambda: self.parameters.get_parameters([TREE_PARAMETER]), "answer of get_parameters")
        return answer.values[0].string_value

    def wait_for_ticks(self, goal):
        """Waits for a few more ticks of the tree: feedback shows them."""
        seen = len(goal.feedback)
        wait_for(lambda: len(goal.feedback) > seen + 3, PATIENCE, "the tree to be ticked")

    def settle(self, folder):
        """Waits until a goal succeeds, and removes its events: then all endpoints of the simplest tree are matched.

        The middleware matches endpoints one after another. Before that rclpy's server drops a goal whose acceptance finds no
        reader, the node rejects goals because it has no transforms, and feedback is lost.
        """
        path = folder / "settle.xml"
        path.write_text(SETTLE)

        def succeeded():
            goal = self.navigation.send(1.0, 0.0, tree=path)
            return goal.result()[0] == "SUCCEEDED" and goal.feedback

        wait_for(succeeded, PATIENCE, "a first goal to succeed")
        wait_for(lambda: not self.robot.executing(), PATIENCE, "all goals of it to end")
        self.robot.forget()


#: Long timeouts: the servers are Python programs on a busy machine. A test of a late server sets its own timeouts.
DEFAULTS = {
    # Tests of recordings turn it on: a recording adds its path to `error_msg`.
    "record_on": "never",
    "autostart_node": True,
    "default_nav_to_pose_bt_xml": str(ROOT / "behavior_trees" / "plan_and_follow.xml"),
    "default_server_timeout": 15000,
    "stop_timeout": 15000,
}


@pytest.fixture
def stack_factory(ros_domain, request, tmp_path):
    """Creates stacks: ``stack_factory(parameters={...})``. They end with the test; a failed test prints the node's output.

    Use ``settle=False`` if no goal may succeed before the test starts.
    """
    processes = ProcessStack(request)

    def make(parameters=None, program="navtree", settle=True, remappings=None):
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        robot = Robot(graph)
        processes.callback(robot.destroy)
        node = processes.add(Executable(program, ros_domain, DEFAULTS | (parameters or {}), remappings))
        navigation = Navigation(graph)
        navigation.wait()
        navigation.warm_up()
        wait_for(robot.has_listener, PATIENCE, "the node to subscribe to the transforms")
        stack = Stack(ros_domain, graph, robot, navigation, node)
        if settle:
            stack.settle(tmp_path)
        return stack

    with processes:
        yield make


@pytest.fixture
def stack(stack_factory):
    """A stack with the simplest tree."""
    return stack_factory()


def tree(name) -> Path:
    """A tree file of this package."""
    return ROOT / "behavior_trees" / name


LIMITED_DRIVE = """
<root BTCPP_format="4"><BehaviorTree ID="LimitedDrive">
  <Sequence>
    <ComputePathToPose goal="{{goal}}" path="{{path}}"/>
    <Timeout msec="{milliseconds}"><FollowPath path="{{path}}"/></Timeout>
  </Sequence>
</BehaviorTree></root>
"""


def limited_drive(folder, milliseconds) -> Path:
    """Writes a tree that plans and limits the time of the drive. Returns its file."""
    path = folder / "limited_drive.xml"
    path.write_text(LIMITED_DRIVE.format(milliseconds=milliseconds))
    return path
