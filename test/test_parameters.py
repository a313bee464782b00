"""Parameter files and the command line, with every form of key that rcl honours."""

import contextlib

import pytest
import yaml
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from support.executable import ROOT, Executable
from support.fixtures import tree
from support.graph import Graph, wait_for


@pytest.fixture
def values(ros_domain, tmp_path):
    """Starts the node with a parameter file, and reads parameters of it."""
    closers = contextlib.ExitStack()

    def read(text, names, *words, full_name="/robot1/bt_navigator"):
        path = tmp_path / "params.yaml"
        path.write_text(text)
        arguments = ["--ros-args", "--params-file", path, *words, "--"]
        parameters = {"default_nav_to_pose_bt_xml": tree("plan_and_follow.xml")}
        node = Executable("navtree", ros_domain, parameters, arguments=[str(word) for word in arguments])
        closers.callback(node.close)
        graph = Graph(ros_domain)
        closers.callback(graph.close)
        client = AsyncParameterClient(graph.node, full_name, callback_group=graph.group)
        wait_for(client.services_are_ready, 30, lambda: f"the parameters of {full_name}: {node.output}")
        answer = graph.ask(lambda: client.get_parameters(names), "the parameters")
        return answer.values

    with closers:
        yield read


IN_NAMESPACE = ("-r", "__ns:=/robot1")


@pytest.mark.parametrize(
    "key",
    [
        "/robot1/bt_navigator",
        "robot1/bt_navigator",
        "robot1:\n  bt_navigator",
        "/**",
        "/**/bt_navigator",
        "/*/bt_navigator",
        "/robot1/*",
        # Not with rclcpp: a file without namespaces serves a node in any, where nothing else is said.
        "bt_navigator",
    ],
)
def test_keys_that_mean_the_node(values, key):
    outer, _, inner = key.partition("\n")
    lines = [outer + ("" if inner else ":"), inner + ":"] if inner else [outer + ":"]
    indent = "    " if inner else "  "
    lines += [f"{indent}ros__parameters:", f"{indent}  bt_loop_duration: 21", f"{indent}  goal_blackboard_id: target"]
    (period, goal) = values("\n".join(lines) + "\n", ["bt_loop_duration", "goal_blackboard_id"], *IN_NAMESPACE)
    assert (period.integer_value, goal.string_value) == (21, "target")


OTHERS = """
/bt_navigator:
  ros__parameters: {bt_loop_duration: 31}
/robot2/bt_navigator:
  ros__parameters: {bt_loop_duration: 32}
/robot1/controller_server:
  ros__parameters: {bt_loop_duration: 33}
/robot1/*/bt_navigator:
  ros__parameters: {bt_loop_duration: 34}
"""


def test_keys_that_mean_others_are_left_alone(values):
    (period,) = values(OTHERS, ["bt_loop_duration"], *IN_NAMESPACE)
    assert period.integer_value == 10


PRECEDENCE = """
/**:
  ros__parameters: {bt_loop_duration: 41, default_server_timeout: 42, transform_tolerance: 0.25}
/robot1/navigator:
  ros__parameters:
    bt_loop_duration: 43
bt_navigator:
  ros__parameters: {default_server_timeout: 44}
navigator:
  ros__parameters: {default_server_timeout: 45, feedback_rate: 7.5}
"""


def test_the_last_key_counts_and_the_command_line_names_the_node(values):
    names = ["bt_loop_duration", "default_server_timeout", "transform_tolerance", "feedback_rate"]
    words = [*IN_NAMESPACE, "-r", "__node:=navigator"]
    found = values(PRECEDENCE, names, *words, full_name="/robot1/navigator")
    assert found[0].integer_value == 43
    assert found[1].integer_value == 42, "a bare name counts less than a key that fits in earnest"
    assert found[2].double_value == 0.25
    assert found[3].double_value == 7.5


def test_file_that_comes_with_navtree_is_read_whole(values):
    text = (ROOT / "config" / "navtree.yaml").read_text()
    given = yaml.safe_load(text)["bt_navigator"]["ros__parameters"]
    assert len(given) > 30
    found = values(text, list(given), *IN_NAMESPACE)
    assert {name: parameter_value_to_python(value) for name, value in zip(given, found, strict=True)} == given
