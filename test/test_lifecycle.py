"""The node under a lifecycle manager: states, transitions, and goals only while it is active."""

import time

import pytest
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.parameter import Parameter
from support.graph import wait_for


class Managed:
    """The node as a lifecycle manager sees it."""

    def __init__(self, stack):
        self.graph = stack.graph
        node = stack.graph.node
        self.change_client = node.create_client(ChangeState, "bt_navigator/change_state")
        self.state_client = node.create_client(GetState, "bt_navigator/get_state")

    def state(self):
        wait_for(self.state_client.service_is_ready, 10, "the life cycle's services")
        answer = self.graph.ask(lambda: self.state_client.call_async(GetState.Request()), "the state")
        return answer.current_state.id

    def change(self, transition):
        request = ChangeState.Request()
        request.transition.id = transition
        return self.graph.call(self.change_client, request).success


@pytest.fixture
def managed(stack_factory):
    stack = stack_factory({"autostart_node": False})
    return stack, Managed(stack)


def test_goals_are_taken_only_while_active(managed):
    stack, node = managed
    assert node.state() == State.PRIMARY_STATE_UNCONFIGURED
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert not node.change(Transition.TRANSITION_ACTIVATE), "activated without being configured"
    assert node.change(Transition.TRANSITION_CONFIGURE)
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert node.change(Transition.TRANSITION_ACTIVATE)
    assert node.state() == State.PRIMARY_STATE_ACTIVE
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_g8_deactivate_stops_the_robot_and_answers_the_client(managed):
    stack, node = managed
    assert node.state() == State.PRIMARY_STATE_UNCONFIGURED
    node.change(Transition.TRANSITION_CONFIGURE)
    node.change(Transition.TRANSITION_ACTIVATE)
    controller = stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    started = time.monotonic()
    assert node.change(Transition.TRANSITION_DEACTIVATE)
    assert time.monotonic() - started < 3.0
    assert stack.robot.executing() == 0
    assert goal.result(2.0)[0] in ("ABORTED", "CANCELED")
    assert node.state() == State.PRIMARY_STATE_INACTIVE
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert node.change(Transition.TRANSITION_ACTIVATE)
    controller.behaviour.duration = 0.1
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_nav2s_own_plugin_names_are_accepted_and_ignored(stack_factory):
    # As they stand in parameter files of Nav2: the nodes are all here.
    own = "[nav2_compute_path_to_pose_action_bt_node, nav2_path_expiring_timer_condition, opennav_dock_action_bt_node]"
    stack = stack_factory({"plugin_lib_names": own})
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


FOREIGN = "[nav2_spin_action_bt_node, my_robot_bt_nodes]"


def test_a_plugin_library_in_cpp_is_refused_at_configure_until_the_list_is_mended(stack_factory):
    stack = stack_factory({"autostart_node": False, "plugin_lib_names": FOREIGN})
    node = Managed(stack)
    assert not node.change(Transition.TRANSITION_CONFIGURE)
    assert node.state() == State.PRIMARY_STATE_UNCONFIGURED
    stack.node.wait_for_line("`my_robot_bt_nodes` is a C++ library")
    stack.node.wait_for_line("write its nodes in Rust")
    stack.node.wait_for_line("RosAction")
    client = stack.parameter_client()
    assert client.wait_for_services(10.0)
    own = Parameter("plugin_lib_names", Parameter.Type.STRING_ARRAY, ["nav2_spin_action_bt_node"])
    answer = stack.graph.ask(lambda: client.set_parameters([own]), "answer of set_parameters")
    assert answer.results[0].successful
    assert node.change(Transition.TRANSITION_CONFIGURE)
    assert node.change(Transition.TRANSITION_ACTIVATE)
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_a_node_that_configures_itself_stays_unconfigured_with_a_plugin_library_in_cpp(stack_factory):
    stack = stack_factory({"plugin_lib_names": FOREIGN})
    assert Managed(stack).state() == State.PRIMARY_STATE_UNCONFIGURED
    stack.node.wait_for_line("not configured: plugin_lib_names: `my_robot_bt_nodes` is a C++ library")
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert stack.node.running()
