"""Parameter files and the command line, with every form of key that rcl supports."""

import contextlib

import pytest
import yaml
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import ReliabilityPolicy
from support.executable import ROOT, Executable
from support.fixtures import tree
from support.graph import Graph, wait_for
from type_description_interfaces.srv import GetTypeDescription


@pytest.fixture
def values(ros_domain, tmp_path):
    """Starts the node with a parameter file, and reads its parameters."""
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
        # Differs from rclcpp: a file without namespaces applies to a node in any namespace, unless another key matches.
        "bt_navigator",
    ],
)
def test_keys_that_match_the_node(values, key):
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


def test_keys_that_match_other_nodes_are_ignored(values):
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


def test_the_last_matching_key_wins_and_the_command_line_names_the_node(values):
    names = ["bt_loop_duration", "default_server_timeout", "transform_tolerance", "feedback_rate"]
    words = [*IN_NAMESPACE, "-r", "__node:=navigator"]
    found = values(PRECEDENCE, names, *words, full_name="/robot1/navigator")
    assert found[0].integer_value == 43
    assert found[1].integer_value == 42, "a name without a namespace has a lower priority than a full match"
    assert found[2].double_value == 0.25
    assert found[3].double_value == 7.5


#: What `config/navtree.yaml` sets; the parameters whose default depends on the installation stand in comments.
COMMON = [
    "navigators",
    "bt_loop_duration",
    "tick_on_event",
    "response_timeout",
    "wait_for_service_timeout",
    "default_cancel_timeout",
    "stop_timeout",
    "global_frame",
    "robot_base_frame",
    "odom_topic",
    "error_code_names",
    "autostart_node",
]


def test_every_parameter_of_the_config_file_is_declared(values):
    text = (ROOT / "config" / "navtree.yaml").read_text()
    given = yaml.safe_load(text)["bt_navigator"]["ros__parameters"]
    assert list(given) == COMMON
    found = values(text, list(given), *IN_NAMESPACE)
    assert {name: parameter_value_to_python(value) for name, value in zip(given, found, strict=True)} == given


#: Parameters of Nav2's bt_navigator that have no effect in navtree. Tools list, read and set them.
NAV2_ONLY = {
    "navigate_to_pose.plugin": "nav2_bt_navigator::NavigateToPoseNavigator",
    "navigate_through_poses.plugin": "nav2_bt_navigator::NavigateThroughPosesNavigator",
    "navigate_to_pose.enable_groot_monitoring": False,
    "navigate_to_pose.groot_server_port": 1667,
    "navigate_through_poses.enable_groot_monitoring": False,
    "navigate_through_poses.groot_server_port": 1669,
    "bond_disable_heartbeat_timeout": True,
    "start_type_description_service": True,
    "qos_overrides./tf_static.subscription.depth": 100,
    "qos_overrides./robot1/tf.subscription.depth": 7,
    "qos_overrides./robot1/tf.subscription.durability": "volatile",
    "qos_overrides./robot1/tf.subscription.history": "keep_last",
    "qos_overrides./robot1/tf.subscription.reliability": "best_effort",
}

OVERRIDES = """
bt_navigator:
  ros__parameters:
    qos_overrides:
      /robot1/tf:
        subscription: {depth: 7, reliability: best_effort}
"""


def test_bt_navigator_parameters_exist_and_qos_overrides_apply(values, ros_domain):
    found = values(OVERRIDES, list(NAV2_ONLY), *IN_NAMESPACE, "-r", "/tf:=tf")
    named = zip(NAV2_ONLY, found, strict=True)
    assert {name: parameter_value_to_python(value) for name, value in named} == NAV2_ONLY
    with contextlib.ExitStack() as closers:
        graph = Graph(ros_domain)
        closers.callback(graph.close)

        def reliability():
            readers = graph.node.get_subscriptions_info_by_topic("/robot1/tf")
            return [reader.qos_profile.reliability for reader in readers]

        wait_for(reliability, 30, "the subscription of the transforms")
        assert set(reliability()) == {ReliabilityPolicy.BEST_EFFORT}


def test_the_node_describes_the_types_of_its_topics_and_services(values, ros_domain):
    values("", ["use_sim_time"], *IN_NAMESPACE)
    with contextlib.ExitStack() as closers:
        graph = Graph(ros_domain)
        closers.callback(graph.close)
        client = graph.node.create_client(GetTypeDescription, "/robot1/bt_navigator/get_type_description")
        wait_for(client.service_is_ready, 30, "the service")

        def describe(name, type_hash):
            request = GetTypeDescription.Request(type_name=name, type_hash=type_hash)
            return graph.ask(lambda: client.call_async(request), f"the description of {name}")

        def type_hash(topic):
            info = wait_for(lambda: graph.node.get_publishers_info_by_topic(topic), 30, topic)[0]
            return str(info.topic_type_hash)

        log = "nav2_msgs/msg/BehaviorTreeLog"
        known = type_hash("/robot1/behavior_tree_log")
        answer = describe(log, known)
        assert answer.successful, answer.failure_reason
        assert answer.type_description.type_description.type_name == log
        fields = [field.name for field in answer.type_description.type_description.fields]
        assert fields == ["timestamp", "event_log"]
        assert "BehaviorTreeStatusChange[] event_log" in answer.type_sources[0].raw_file_contents
        feedback = describe(
            "nav2_msgs/action/NavigateToPose_FeedbackMessage", type_hash("/robot1/navigate_to_pose/_action/feedback")
        )
        assert feedback.successful, feedback.failure_reason
        for name, wrong in (("nav2_msgs/msg/Route", known), (log, "RIHS01_00")):
            refused = describe(name, wrong)
            assert not refused.successful and wrong in refused.failure_reason
