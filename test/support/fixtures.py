"""A whole stack for one test: a domain, a rclpy side with servers and a client, and the node under test."""

import functools
from dataclasses import dataclass
from pathlib import Path

import pytest

from .client import Navigation
from .executable import ROOT, Executable, Kept
from .graph import PATIENCE, Graph, wait_for
from .servers import Robot

TREE_PARAMETER = "default_nav_to_pose_bt_xml"
CORPUS = ROOT.parent / "shared" / "corpus"


def corpus(name):
    """A tree file of the corpus; skips the test where there is none."""
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"the corpus of tree files is not beside the checkout: {path}")
    return path


#: Plan and follow, and try again soon what was lost.
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
    """What a test sees."""

    domain: int
    graph: Graph
    robot: Robot
    navigation: Navigation
    node: Executable

    @functools.cached_property
    def parameters(self):
        """A client of the node's parameters, which sees all of their services."""
        from rclpy.parameter_client import AsyncParameterClient

        client = AsyncParameterClient(self.graph.node, "bt_navigator", callback_group=self.graph.group)
        wait_for(client.services_are_ready, PATIENCE, "the parameters of the node")
        return client

    def set_parameter(self, parameter):
        """Sets a parameter of the node, and returns the answer."""
        return self.graph.ask(lambda: self.parameters.set_parameters([parameter]), "answer of set_parameters").results[0]

    def set_tree(self, value):
        """Sets the default tree of `navigate_to_pose`, and returns the answer."""
        from rclpy.parameter import Parameter

        return self.set_parameter(Parameter(TREE_PARAMETER, Parameter.Type.STRING, str(value)))

    def get_tree(self):
        answer = self.graph.ask(lambda: self.parameters.get_parameters([TREE_PARAMETER]), "answer of get_parameters")
        return answer.values[0].string_value

    def goes_on(self, goal):
        """Waits until the tree has been ticked a few times more: without ticks there is no feedback."""
        seen = len(goal.feedback)
        wait_for(lambda: len(goal.feedback) > seen + 3, PATIENCE, "the tree to be ticked")

    def settle(self, folder):
        """Has a goal succeed, and forgets it: whatever the plainest tree needs is then known and matched on both sides.

        The middleware matches one endpoint after the other. rclpy's server drops a goal whose acceptance finds no reader
        yet; a node that has not heard where the robot is refuses goals; feedback that finds no reader is lost.
        """
        path = folder / "settle.xml"
        path.write_text(SETTLE)

        def succeeded():
            goal = self.navigation.send(1.0, 0.0, tree=path)
            return goal.result()[0] == "SUCCEEDED" and goal.feedback

        wait_for(succeeded, PATIENCE, "a first goal to succeed")
        wait_for(lambda: not self.robot.executing(), PATIENCE, "what was left of it to end")
        self.robot.forget()


#: The servers here are Python on a machine that may be busy: what asserts how the node takes one that is late says how
#: late that is.
DEFAULTS = {
    "autostart_node": True,
    "default_nav_to_pose_bt_xml": str(ROOT / "behavior_trees" / "plan_and_follow.xml"),
    "default_server_timeout": 15000,
    "stop_timeout": 15000,
}


@pytest.fixture
def stack_factory(ros_domain, request, tmp_path):
    """Makes stacks: ``stack_factory(parameters={...})``. Everything is torn down at the end of the test, and a test that
    failed shows what the node has said.

    ``settle=False`` where no goal may succeed before the test begins.
    """
    kept = Kept(request)

    def make(parameters=None, program="navtree", settle=True, remappings=None):
        graph = Graph(ros_domain)
        kept.callback(graph.close)
        robot = Robot(graph)
        kept.callback(robot.destroy)
        node = kept.keep(Executable(program, ros_domain, DEFAULTS | (parameters or {}), remappings))
        navigation = Navigation(graph)
        navigation.wait()
        navigation.warm_up()
        wait_for(robot.is_heard, PATIENCE, "the node to listen to where the robot is")
        stack = Stack(ros_domain, graph, robot, navigation, node)
        if settle:
            stack.settle(tmp_path)
        return stack

    with kept:
        yield make


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
