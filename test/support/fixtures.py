"""A whole stack for one test: a domain, a rclpy side with servers and a client, and the node under test."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from .client import Navigation
from .executable import ROOT, Executable
from .graph import Graph
from .servers import Robot

TREE_PARAMETER = "default_nav_to_pose_bt_xml"
CORPUS = ROOT.parent / "shared" / "corpus"


def corpus(name):
    """A tree file of the corpus; skips the test where there is none."""
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"the corpus of tree files is not beside the checkout: {path}")
    return path


@dataclass
class Stack:
    """What a test sees."""

    domain: int
    graph: Graph
    robot: Robot
    navigation: Navigation
    node: Executable

    def parameter_client(self):
        from rclpy.parameter_client import AsyncParameterClient

        return AsyncParameterClient(self.graph.node, "bt_navigator", callback_group=self.graph.group)

    def set_tree(self, value):
        """Sets the default tree of `navigate_to_pose`, and returns the answer."""
        from rclpy.parameter import Parameter

        client = self.parameter_client()
        assert client.wait_for_services(10.0)
        parameter = Parameter(TREE_PARAMETER, Parameter.Type.STRING, str(value))
        return self.graph.ask(lambda: client.set_parameters([parameter]), "answer of set_parameters").results[0]

    def get_tree(self):
        client = self.parameter_client()
        answer = self.graph.ask(lambda: client.get_parameters([TREE_PARAMETER]), "answer of get_parameters")
        return answer.values[0].string_value


@pytest.fixture
def stack_factory(ros_domain):
    """Makes stacks: ``stack_factory(parameters={...})``. Everything is torn down at the end of the test."""
    closers = []

    def make(parameters=None, robot=True, node=True, program="navtree"):
        graph = Graph(ros_domain)
        closers.append(graph.close)
        servers = Robot(graph) if robot else None
        if servers:
            closers.append(servers.destroy)
        defaults = {"autostart_node": True, "default_nav_to_pose_bt_xml": str(tree("plan_and_follow.xml"))}
        executable = None
        if node:
            executable = Executable(program, ros_domain, defaults | (parameters or {}))
            closers.append(executable.close)
        navigation = Navigation(graph)
        if node:
            navigation.wait()
            navigation.warm_up()
        return Stack(ros_domain, graph, servers, navigation, executable)

    yield make
    for close in reversed(closers):
        close()


@pytest.fixture
def stack(stack_factory):
    """A stack with the plainest tree."""
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
    """A file whose tree plans and gives the drive so long."""
    path = folder / "limited_drive.xml"
    path.write_text(LIMITED_DRIVE.format(milliseconds=milliseconds))
    return path
