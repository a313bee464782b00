"""The node under a lifecycle manager: states, transitions, and goals only while it is active."""

import itertools
import time
from types import SimpleNamespace

import pytest
from bond.msg import Status
from lifecycle_msgs.msg import State, Transition
from rclpy.parameter import Parameter
from support.executable import Executable, ProcessStack
from support.graph import PATIENCE, Graph, wait_for
from support.lifecycle import LifecycleClient


@pytest.fixture
def managed(stack_factory):
    stack = stack_factory({"autostart_node": False}, settle=False)
    return stack, LifecycleClient(stack)


def test_goals_are_accepted_only_while_active(managed):
    stack, node = managed
    assert node.state() == State.PRIMARY_STATE_UNCONFIGURED
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert not node.change(Transition.TRANSITION_ACTIVATE), "activated without being configured"
    assert node.change(Transition.TRANSITION_CONFIGURE)
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert node.change(Transition.TRANSITION_ACTIVATE)
    assert node.state() == State.PRIMARY_STATE_ACTIVE
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_g7_configure_reads_an_edited_default_tree_or_fails(
    stack_factory, tmp_path
):
    def write(leaf, close="</BehaviorTree>"):
        part.write_text(f'<root BTCPP_format="4"><BehaviorTree ID="Part">{leaf}{close}</root>')

    def change(*transitions):
        return [node.change(transition) for transition in transitions]

    path, part = tmp_path / "tree.xml", tmp_path / "part.xml"
    path.write_text(
        """
        <root BTCPP_format="4" main_tree_to_execute="T"><include path="part.xml"/>
          <BehaviorTree ID="T"><SubTree ID="Part"/></BehaviorTree>
        </root>
        """
    )
    write("<AlwaysFailure/>")
    stack = stack_factory({"default_nav_to_pose_bt_xml": path}, settle=False)
    node = LifecycleClient(stack)
    down = (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP)
    assert change(*down) == [True, True]
    write("<AlwaysSuccess/>")
    assert change(Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE) == [True, True]
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    assert change(*down) == [True, True]
    write("<AlwaysFailure/>", close="")
    assert not node.change(Transition.TRANSITION_CONFIGURE)
    stack.node.wait_for_line(f"not configured: {part}:1:")
    assert node.state() == State.PRIMARY_STATE_UNCONFIGURED
    write("<AlwaysSuccess/>")
    assert change(Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE) == [True, True]
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


@pytest.mark.parametrize("namespace", ["", "/robot1"])
def test_the_bond_topic_is_in_the_namespace_of_the_node(namespace, ros_domain, request):
    with ProcessStack(request) as processes:
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        beats = []
        graph.node.create_subscription(
            Status, f"{namespace}/bond", beats.append, 100, callback_group=graph.group
        )
        arguments = ("--ros-args", "-r", f"__ns:={namespace}", "--") if namespace else ()
        processes.add(Executable("navtree", ros_domain, {"autostart_node": True}, arguments=arguments))
        wait_for(lambda: any(beat.active and beat.id == "bt_navigator" for beat in beats), PATIENCE, "its heartbeat")


def test_bond_breaks_without_a_lifecycle_manager_if_enabled(ros_domain, request):
    with ProcessStack(request) as processes:
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        beats = []
        graph.node.create_subscription(Status, "/bond", beats.append, 100, callback_group=graph.group)
        publisher = graph.node.create_publisher(Status, "/bond", 100)
        parameters = {"autostart_node": True, "bond_disable_heartbeat_timeout": False}
        node = processes.add(Executable("navtree", ros_domain, parameters))
        wait_for(lambda: any(beat.active for beat in beats), PATIENCE, "its heartbeat")
        # The manager sends one heartbeat and no more.
        publisher.publish(Status(id="bt_navigator", instance_id="manager", active=True))
        node.wait_for_line("bond broken: no heartbeat from the lifecycle manager in time")
        wait_for(lambda: not beats[-1].active, PATIENCE, "the end of the bond")


@pytest.mark.alone
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
    status, result = goal.result()
    assert status == "ABORTED" and result.error_msg.startswith("the node was deactivated"), result.error_msg
    assert node.state() == State.PRIMARY_STATE_INACTIVE
    assert not node.change(Transition.TRANSITION_DEACTIVATE)
    stack.node.wait_for_line("transition `deactivate` is not possible in state `inactive`, possible: `cleanup`")
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert node.change(Transition.TRANSITION_ACTIVATE)
    controller.behaviour.duration = 0.1
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


# Loading this tree waits for a file that its leaf needs.
SLOW_TREE = """<root BTCPP_format="4">
  <BehaviorTree ID="Slow">
    <Sequence>
      <IsMadeLate until="{file}"/>
      <ComputePathToPose goal="{{goal}}" path="{{path}}"/>
      <FollowPath path="{{path}}"/>
    </Sequence>
  </BehaviorTree>
</root>
"""


class SlowTrees:
    """An active node, and goals whose trees load only when the test allows it."""

    def __init__(self, stack, folder):
        self.stack = stack
        self.managed = LifecycleClient(stack)
        self._folder = folder
        self._files = []

    def send(self):
        """Sends a goal whose tree is loading, or waits for another tree to load."""
        number = len(self._files)
        file, tree = self._folder / f"needed_{number}", self._folder / f"slow_{number}.xml"
        tree.write_text(SLOW_TREE.format(file=file))
        self._files.append(file)
        goal = self.stack.navigation.send(1.0, 0.0, tree=tree)
        assert goal.accepted
        if number == 0:
            self.stack.node.wait_for_line(f"IsMadeLate waits for {file}")
        return goal

    def finish_loading(self):
        """Lets all trees load. Trees load in the order of their requests: when a later goal succeeds, all have loaded."""
        for file in self._files:
            file.touch()
        assert self.stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


@pytest.fixture
def slow(stack_factory, tmp_path):
    return SlowTrees(stack_factory(program="examples/faulty_leaves"), tmp_path)


def aborted_before_start(goal):
    status, result = goal.result()
    return (status, result.error_msg) == ("ABORTED", "the node stopped accepting goals before this goal started")


def cancelled_while_loading(goal, suffix=""):
    """Cancels a goal whose tree is loading."""
    assert len(goal.cancel().goals_canceling) == 1
    status, result = goal.result()
    return (status, result.error_msg) == ("CANCELED", f"cancelled before it started{suffix}")


def test_g8_deactivate_aborts_goals_whose_trees_are_still_loading(slow):
    read, waiting = slow.send(), slow.send()
    assert slow.managed.change(Transition.TRANSITION_DEACTIVATE)
    assert slow.managed.state() == State.PRIMARY_STATE_INACTIVE
    # The trees are still loading.
    assert aborted_before_start(read) and aborted_before_start(waiting)
    assert slow.managed.change(Transition.TRANSITION_ACTIVATE)
    again = slow.send()
    assert slow.managed.change(Transition.TRANSITION_DEACTIVATE)
    assert aborted_before_start(again)
    # The goals do not start either if the trees load while the node is active again.
    assert slow.managed.change(Transition.TRANSITION_ACTIVATE)
    slow.finish_loading()
    assert len(slow.stack.robot.planner.seen("requested")) == 1


def test_g8_cancel_does_not_wait_for_a_tree_that_is_loading(slow):
    read, waiting = slow.send(), slow.send()
    assert cancelled_while_loading(waiting)
    assert cancelled_while_loading(read)
    # The node logs a warning if loading delays goals for more than a second.
    time.sleep(1.0)
    slow.finish_loading()
    slow.stack.node.wait_for_line("slow_0.xml took ")
    assert len(slow.stack.robot.planner.seen("requested")) == 1


HANGS = '<root BTCPP_format="4"><BehaviorTree ID="Arm"><Hangs name="arm"/></BehaviorTree></root>'


def test_g8_goal_with_a_loading_tree_ends_despite_a_blocking_leaf(stack_factory, tmp_path):
    stack = stack_factory({"watchdog_timeout": 0.5}, program="examples/faulty_leaves")
    path = tmp_path / "hangs.xml"
    path.write_text(HANGS)
    stack.navigation.send(1.0, 0.0, tree=path)
    stack.node.wait_for_line("leaf `arm` has blocked the tick thread")
    slow = SlowTrees(stack, tmp_path)
    goal = slow.send()
    assert cancelled_while_loading(goal, "; an earlier goal is still active")
    goal = slow.send()
    slow.managed.begin(Transition.TRANSITION_DEACTIVATE)
    assert aborted_before_start(goal)


@pytest.mark.alone
def test_g8_goal_sent_during_deactivate_does_not_start(slow):
    controller = slow.stack.robot.controller
    controller.behaviour.duration, controller.behaviour.stop_delay = None, 600.0
    running = slow.stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    late = slow.send()
    deactivated = slow.managed.begin(Transition.TRANSITION_DEACTIVATE)
    assert aborted_before_start(late)
    assert controller.executing() and not deactivated.done()
    controller.behaviour.stop_delay = 0.0
    assert slow.managed.graph.result(deactivated, PATIENCE, "the deactivation").success
    assert running.result()[0] == "ABORTED"
    assert slow.stack.robot.executing() == 0
    assert len(slow.stack.robot.planner.seen("requested")) == 1


def test_nav2s_own_plugin_names_are_accepted_and_ignored(stack_factory):
    # As in parameter files of Nav2; navtree has all these nodes.
    own = "[nav2_compute_path_to_pose_action_bt_node, nav2_path_expiring_timer_condition, opennav_dock_action_bt_node]"
    stack = stack_factory({"plugin_lib_names": own})
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


FOREIGN = "[nav2_spin_action_bt_node, my_robot_bt_nodes]"


def test_configure_fails_until_no_cpp_plugin_library_is_listed(stack_factory):
    stack = stack_factory({"autostart_node": False, "plugin_lib_names": FOREIGN}, settle=False)
    node = LifecycleClient(stack)
    assert not node.change(Transition.TRANSITION_CONFIGURE)
    assert node.state() == State.PRIMARY_STATE_UNCONFIGURED
    stack.node.wait_for_line("`my_robot_bt_nodes` is a C++ library")
    stack.node.wait_for_line("write its nodes in Rust")
    stack.node.wait_for_line("RosAction")
    own = Parameter("plugin_lib_names", Parameter.Type.STRING_ARRAY, ["nav2_spin_action_bt_node"])
    assert stack.set_parameter(own).successful
    assert node.change(Transition.TRANSITION_CONFIGURE)
    assert node.change(Transition.TRANSITION_ACTIVATE)
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_autostart_with_a_cpp_plugin_library_stays_unconfigured(stack_factory):
    stack = stack_factory({"plugin_lib_names": FOREIGN}, settle=False)
    assert LifecycleClient(stack).state() == State.PRIMARY_STATE_UNCONFIGURED
    stack.node.wait_for_line("not configured: plugin_lib_names: `my_robot_bt_nodes` is a C++ library")
    assert not stack.navigation.send(1.0, 0.0).accepted
    assert stack.node.running()


def test_configure_fails_with_a_cpp_navigator(ros_domain, request):
    with ProcessStack(request) as processes:
        parameters = {"autostart_node": True, "navigators": "[navigate_to_pose, coverage]"}
        parameters["coverage.plugin"] = "opennav_coverage::CoverageNavigator"
        node = processes.add(Executable("navtree", ros_domain, parameters))
        node.wait_for_line("not configured: navigators: the plug-in `opennav_coverage::CoverageNavigator` of `coverage`")
        node.wait_for_line("set `coverage.plugin` to nav2_bt_navigator::NavigateToPoseNavigator")
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        assert LifecycleClient(SimpleNamespace(graph=graph)).state() == State.PRIMARY_STATE_UNCONFIGURED


@pytest.mark.parametrize("served, listens", [("navigate_to_pose", True), ("navigate_through_poses", False)])
def test_only_the_navigators_of_the_list_have_action_servers(served, listens, ros_domain, request):
    with ProcessStack(request) as processes:
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        # A unique name: an earlier node of the domain may still be on the graph.
        name = f"only_{served}"
        rename = ("--ros-args", "-r", f"__node:={name}", "--")
        node = processes.add(
            Executable("navtree", ros_domain, {"autostart_node": True, "navigators": f"[{served}]"}, arguments=rename)
        )
        node.wait_for_line("active: goals are accepted")
        wait_for(lambda: name in graph.node.get_node_names(), PATIENCE, "the node")

        def actions():
            services = graph.node.get_service_names_and_types_by_node(name, "/")
            return {service.split("/")[1] for service, _ in services if "/_action/" in service}

        def topics():
            # A second node of the process subscribes to the topics.
            nodes = [node for node in graph.node.get_node_names() if name in node]
            found = [graph.node.get_subscriber_names_and_types_by_node(node, "/") for node in nodes]
            return {topic for topic, _ in itertools.chain(*found)}

        wait_for(actions, PATIENCE, "an action of the node")
        assert actions() == {served}
        # RViz publishes goals for navigate_to_pose.
        if listens:
            wait_for(lambda: "/goal_pose" in topics(), PATIENCE, "a subscription of the goal topic")
        else:
            wait_for(lambda: "/odom" in topics(), PATIENCE, "a subscription of the odometry")
            assert "/goal_pose" not in topics()
