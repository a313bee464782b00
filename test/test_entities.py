"""Subscriptions, clients and services of trees on a real graph: created once, shared, with the right QoS."""

import contextlib
import itertools
import re
import threading
from collections import Counter

import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.client import pose
from support.executable import Executable
from support.graph import Graph, wait_for
from support.servers import Behaviour

SELECTORS = """
      <ControllerSelector selected_controller="{controller}" default_controller="Default"/>
      <GoalCheckerSelector selected_goal_checker="{goal_checker}" default_goal_checker="Default"/>
      <ProgressCheckerSelector selected_progress_checker="{progress_checker}" default_progress_checker="Default"/>
      <PlannerSelector selected_planner="{planner}" default_planner="Default"/>
      <SmootherSelector selected_smoother="{smoother}" default_smoother="Default"/>"""
FOLLOW = """
      <FollowPath path="{path}" controller_id="{controller}" goal_checker_id="{goal_checker}"
        progress_checker_id="{progress_checker}"/>"""
PLAN = """<ComputePathToPose goal="{goal}" path="{path}" planner_id="{planner}"/>"""
BATTERY = """<ForceSuccess><IsBatteryLow min_battery="0.1"/></ForceSuccess>"""
UPDATED = PLAN.replace("{goal}", "{updated}")
PAUSE = """<PauseResumeController pause_service_name="pause" resume_service_name="resume">{}</PauseResumeController>"""


def write(path, *nodes):
    text = "\n".join(["<PipelineSequence>", *nodes, "</PipelineSequence>"])
    path.write_text(f'<root BTCPP_format="4"><BehaviorTree ID="T">{text}</BehaviorTree></root>')
    return path


def entities(stack):
    """The number of endpoints of the node, by kind and by name in the middleware. A service is a pair of topics."""
    node = stack.graph.node
    counts = Counter()
    for name, _ in node.get_topic_names_and_types(no_demangle=True):
        for kind, infos in (
            ("reads", node.get_subscriptions_info_by_topic(name, no_mangle=True)),
            ("writes", node.get_publishers_info_by_topic(name, no_mangle=True)),
        ):
            own = sum(info.node_name == "bt_navigator" for info in infos)
            # rcl creates a publisher of the log for each node.
            if own and name != "rt/rosout":
                counts[kind, name] = own
    return counts


MARK = """
      <RosPublish topic_name="mark_{0}" message_type="std_msgs/msg/String"/>
      <ForceSuccess>
        <RosSubscribe topic_name="mark_{0}" message_type="std_msgs/msg/String" timeout="1"/>
      </ForceSuccess>"""
MARKS = itertools.count()


def settled(stack, folder, *nodes):
    """All endpoints, while a tree with these nodes is in use. Discovery reports the writers of a process in the order of
    their creation, and its readers too. So the tree ends with one of each; when both are known, all older ones are."""
    number = next(MARKS)
    run(stack, write(folder / f"mark_{number}.xml", *nodes, MARK.format(number)))
    ends = {(end, f"rt/mark_{number}") for end in ("writes", "reads")}
    wait_for(lambda: ends <= set(entities(stack)), 30.0, "both ends of the mark to be known")
    return Counter({end: count for end, count in entities(stack).items() if not end[1].startswith("rt/mark_")})


def run(stack, path):
    goal = stack.navigation.send(2.0, 0.0, tree=path)
    status, result = goal.result()
    assert status == "SUCCEEDED", result.error_msg


def test_a_tree_swap_reuses_existing_entities(stack_factory, tmp_path):
    updater = f'<GoalUpdater input_goal="{{goal}}" output_goal="{{updated}}">{UPDATED}</GoalUpdater>'
    speed = f"<SpeedController>{PLAN}</SpeedController>"
    paused = PAUSE.format(FOLLOW)
    first = (SELECTORS, BATTERY, updater, speed, paused)
    stack = stack_factory({"default_nav_to_pose_bt_xml": write(tmp_path / "first.xml", *first)})
    before = settled(stack, tmp_path, *first)
    # One subscription each, although several tree nodes and the feedback use odometry.
    for topic in ("rt/odom", "rt/battery_status", "rt/controller_selector", "rt/goal_update"):
        assert before["reads", topic] == 1, topic
    assert before["reads", "rq/pauseRequest"] == 1
    assert max(before.values()) == 1, {name: count for name, count in before.items() if count > 1}
    assert settled(stack, tmp_path, *first) == before

    # Another tree with the same topics, services and servers; some nodes occur twice.
    stuck = "<ForceSuccess><IsStuck/></ForceSuccess>"
    second = (updater, BATTERY, speed, SELECTORS, BATTERY, stuck, paused)
    for nodes in (second, first, second):
        assert settled(stack, tmp_path, *nodes) == before

    # A new topic gets one subscription. That of the topic that is not used any more ends later.
    third = (SELECTORS.replace('default_planner="', 'topic_name="other" default_planner="'), *second[:3], stuck, paused)
    assert settled(stack, tmp_path, *third) - before == Counter({("reads", "rt/other"): 1})
    old = ("reads", "rt/planner_selector")
    wait_for(lambda: old not in entities(stack), 30.0, "the end of the old subscription")


def test_a_thousand_trees_with_servers_of_their_own_leave_nothing_behind(stack_factory, tmp_path):
    default = write(tmp_path / "default.xml", PLAN, FOLLOW)
    # The recorder keeps the navigations of the last minutes.
    stack = stack_factory({"default_nav_to_pose_bt_xml": default, "recorder_minutes": 0})
    before = settled(stack, tmp_path, PLAN, FOLLOW)

    def swap(number):
        """A tree that opens a client of each kind and both kinds of topics, and succeeds at once."""
        plan = PLAN.replace("/>", f' server_name="plan_{number}"/>')
        follow = FOLLOW.replace("/>", f' server_name="follow_{number}"/>')
        select = f"""<PlannerSelector selected_planner="{{planner}}" default_planner="A" topic_name="select_{number}"/>"""
        publish = f"""<RosPublish topic_name="said_{number}" message_type="std_msgs/msg/String"/>"""
        clear = f"""<ClearEntireCostmap service_name="clear_{number}"/>"""
        nodes = ("<Fallback>", "<AlwaysSuccess/>", select, plan, follow, publish, clear, "</Fallback>")
        run(stack, write(tmp_path / f"{number % 2}.xml", *nodes))

    def left():
        return [name for _, name in entities(stack) if re.search(r"(plan|follow|select|said|clear)_\d", name)]

    def settle():
        """Private memory and threads when all endpoints of earlier trees have ended."""
        wait_for(left, 30.0, "an endpoint of the last trees")
        run(stack, default)
        wait_for(lambda: not left(), 60.0, "the end of all endpoints of earlier trees")
        return stack.node.own_kib(), stack.node.standing_threads()

    for number in range(200):
        swap(number)
    memory, threads = settle()
    for number in range(200, 1200):
        swap(number)
    later, threads_later = settle()
    assert threads_later <= threads
    # The middleware keeps about 0.3 KiB of each endpoint that it has ever had, in other programs too: rclpy grows by
    # 0.4 KiB for each subscription or publisher that it creates and destroys. One such tree has 18 endpoints.
    assert later - memory <= 1000 * 18 * 0.5, f"{memory} KiB after 200 trees, {later} KiB after 1,200"
    assert settled(stack, tmp_path, PLAN, FOLLOW) == before
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_subscriptions_have_the_qos_of_their_topics(stack_factory, tmp_path):
    path = write(tmp_path / "tree.xml", SELECTORS, BATTERY, PLAN, FOLLOW)
    stack = stack_factory({"default_nav_to_pose_bt_xml": path})
    settled(stack, tmp_path, SELECTORS, BATTERY, PLAN, FOLLOW)
    for topic, durability, reliability in (
        ("/controller_selector", DurabilityPolicy.TRANSIENT_LOCAL, ReliabilityPolicy.RELIABLE),
        ("/smoother_selector", DurabilityPolicy.TRANSIENT_LOCAL, ReliabilityPolicy.RELIABLE),
        # Accepts reliable and best-effort publishers.
        ("/battery_status", DurabilityPolicy.VOLATILE, ReliabilityPolicy.BEST_EFFORT),
        ("/odom", DurabilityPolicy.VOLATILE, ReliabilityPolicy.BEST_EFFORT),
        ("/tf_static", DurabilityPolicy.TRANSIENT_LOCAL, ReliabilityPolicy.RELIABLE),
    ):
        infos = stack.graph.node.get_subscriptions_info_by_topic(topic)
        (quality,) = (info.qos_profile for info in infos if info.node_name == "bt_navigator")
        assert (quality.durability, quality.reliability) == (durability, reliability), topic


@pytest.mark.parametrize("rule", ["/odom", "pilot:/odom", "rostopic:///odom"])
def test_a_remapping_applies_to_the_only_node(ros_domain, rule):
    """A launch file with name= sets `__node`."""
    with contextlib.closing(Graph(ros_domain)) as graph, contextlib.closing(
        Executable("navtree", ros_domain, {"autostart_node": True}, {"__node": "pilot", rule: "/wheels"})
    ):

        def names():
            return {name for name, _ in graph.node.get_node_names_and_namespaces()} - {graph.node.get_name()}

        def listener():
            return [info.node_name for info in graph.node.get_subscriptions_info_by_topic("/wheels")]

        # `_pilot_search` exists for half a minute.
        nodes = {"pilot", "_pilot_search"}
        wait_for(lambda: names() == nodes, 30.0, f"the nodes {nodes}")
        wait_for(lambda: listener() == ["pilot"], 30.0, "the subscriber of the odometry")


def test_a_private_topic_has_the_name_of_the_node(ros_domain):
    parameters = {"autostart_node": True, "goal_topic": "~/goal_pose"}
    with contextlib.closing(Graph(ros_domain)) as graph, contextlib.closing(
        Executable("navtree", ros_domain, parameters)
    ):
        topic = "/bt_navigator/goal_pose"
        wait_for(lambda: graph.node.get_subscriptions_info_by_topic(topic), 30.0, f"the subscriber of {topic}")


def test_selectors_read_messages_from_before_and_after_the_start(stack_factory, tmp_path):
    stack = stack_factory()
    smoother = stack.robot.add("smooth_path", Behaviour())
    stack.robot.controller.behaviour.duration = None
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    names = ("controller", "goal_checker", "progress_checker", "planner", "smoother")
    publishers = [stack.graph.node.create_publisher(String, f"{name}_selector", latched) for name in names]
    for publisher in publishers:
        publisher.publish(String(data="Before"))

    def selected():
        if not (stack.robot.controller.requests() and smoother.requests()):
            return {}
        followed, planned = stack.robot.controller.requests()[-1], stack.robot.planner.requests()[-1]
        ids = (followed.controller_id, followed.goal_checker_id, followed.progress_checker_id, planned.planner_id)
        return {*ids, smoother.requests()[-1].smoother_id}

    smooth = '<SmoothPath unsmoothed_path="{path}" smoothed_path="{smooth}" smoother_id="{smoother}"/>'
    plan = f'<RateController hz="20"><Sequence>{PLAN}{smooth}</Sequence></RateController>'
    goal = stack.navigation.send(2.0, 0.0, tree=write(tmp_path / "tree.xml", SELECTORS, plan, FOLLOW))
    wait_for(lambda: selected() == {"Before"}, 30.0, "the values published before the tree was loaded")
    for publisher in publishers:
        publisher.publish(String(data="After"))
    wait_for(lambda: selected() == {"After"}, 30.0, "the values published while the tree runs")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_a_selection_remains_while_another_tree_is_used_for_long(stack_factory, tmp_path):
    stack = stack_factory()
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = stack.graph.node.create_publisher(String, "planner_selector", latched)
    publisher.publish(String(data="Chosen"))
    select = """<PlannerSelector selected_planner="{planner}" default_planner="Default"/>"""
    selecting = write(tmp_path / "selecting.xml", select, PLAN, FOLLOW)
    other = write(tmp_path / "other.xml", PLAN.replace("{planner}", "Own"), FOLLOW)

    def planner():
        run(stack, selecting)
        return stack.robot.planner.requests()[-1].planner_id

    wait_for(lambda: planner() == "Chosen", 30.0, "the selection")
    stack.graph.node.destroy_publisher(publisher)
    run(stack, other)
    reads = ("reads", "rt/planner_selector")
    wait_for(lambda: reads not in entities(stack), 30.0, "the end of the subscription")
    # Also in the first tick.
    assert planner() == "Chosen"


def test_a_latched_message_of_a_tree_outlives_its_tree(stack_factory, tmp_path):
    stack = stack_factory()
    publish = """<RosPublish topic_name="{}" message_type="std_msgs/msg/String" qos="{}" message.data="open"/>"""
    nodes = [publish.format("door", "latched"), publish.format("said", "default")]
    run(stack, write(tmp_path / "publishing.xml", *nodes))
    run(stack, write(tmp_path / "other.xml", PLAN, FOLLOW))
    wait_for(lambda: ("writes", "rt/said") not in entities(stack), 30.0, "the end of the other publisher")
    received = []
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    stack.graph.node.create_subscription(String, "door", lambda message: received.append(message.data), latched)
    wait_for(lambda: received == ["open"], 30.0, "the latched message")


def test_g1_neither_silent_nor_flooded_topics_delay_a_tick(stack, tmp_path):
    updater = f'<GoalUpdater input_goal="{{goal}}" output_goal="{{updated}}">{UPDATED}</GoalUpdater>'
    often = f'<RateController hz="20">{updater}</RateController>'
    path = write(tmp_path / "tree.xml", SELECTORS, BATTERY, often, FOLLOW)
    stack.robot.controller.behaviour.duration = None
    # These topics have no publisher.
    goal = stack.navigation.send(2.0, 0.0, tree=path)
    wait_for(stack.robot.controller.executing, 10.0, "the controller to execute")
    publisher = stack.graph.node.create_publisher(PoseStamped, "goal_update", 10)
    ended = threading.Event()
    update = pose(3.0, 0.0)

    def flood():
        while not ended.is_set():
            update.header.stamp = stack.graph.node.get_clock().now().to_msg()
            for _ in range(50):
                publisher.publish(update)
            ended.wait(0.001)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        planner = stack.robot.planner
        wait_for(lambda: planner.requests()[-1].goal.pose.position.x == 3.0, 30.0, "the updated goal")
        count = len(planner.requests())
        wait_for(lambda: len(planner.requests()) >= count + 10, 30.0, "ten more plans at 20 Hz")
        goal.cancel()
        assert goal.result()[0] == "CANCELED"
    finally:
        ended.set()
        thread.join(10.0)
    assert stack.robot.executing() == 0


def test_pause_and_resume_by_service(stack, tmp_path):
    node, group, controller = stack.graph.node, stack.graph.group, stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(2.0, 0.0, tree=write(tmp_path / "tree.xml", PLAN, PAUSE.format(FOLLOW)))
    wait_for(controller.executing, 10.0, "the controller to execute")
    clients = {name: node.create_client(Trigger, name, callback_group=group) for name in ("pause", "resume")}

    def call(name):
        wait_for(clients[name].service_is_ready, 10.0, f"the service {name}")
        answer = stack.graph.ask(lambda: clients[name].call_async(Trigger.Request()), f"answer of {name}")
        assert answer.success

    call("pause")
    wait_for(lambda: not controller.executing(), 10.0, "the controller to be cancelled")
    assert len(controller.cancelled()) == 1
    stack.wait_for_ticks(goal)
    assert controller.executing() == 0 and not goal.done()
    call("resume")
    wait_for(controller.executing, 10.0, "the controller to execute again")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    assert stack.robot.executing() == 0
