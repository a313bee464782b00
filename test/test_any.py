"""The Ros* nodes, which use any interface, against servers and topics on rclpy."""

import itertools
import threading

import pytest
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import NavigateToPose, Spin
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState
from std_msgs.msg import Bool, Float32, MultiArrayDimension, String, UInt8MultiArray, UInt64
from std_srvs.srv import SetBool
from support.fixtures import tree
from support.graph import wait_for
from support.servers import Behaviour, Server

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Trees:
    """Runs trees of a few nodes."""

    def __init__(self, stack, folder):
        self.stack, self.folder, self.count = stack, folder, 0

    def file(self, nodes):
        self.count += 1
        path = self.folder / f"any_{self.count}.xml"
        path.write_text(
            f'<root BTCPP_format="4">\n  <BehaviorTree ID="Any">\n    <Sequence>\n{nodes}\n'
            "    </Sequence>\n  </BehaviorTree>\n</root>\n"
        )
        return path

    def send(self, nodes):
        return self.stack.navigation.send(1.0, 0.0, tree=self.file(nodes))

    def run(self, nodes):
        """The final status and the error message of the result."""
        status, result = self.send(nodes).result()
        return status, result.error_msg


@pytest.fixture
def trees(stack, tmp_path):
    return Trees(stack, tmp_path)


class Recorder:
    """Records the messages of a topic."""

    def __init__(self, stack, message_type, topic, qos=10):
        self.messages = []
        stack.graph.node.create_subscription(message_type, topic, self.messages.append, qos)

    def first(self):
        wait_for(lambda: self.messages, 30, "a message")
        return self.messages[0]


def serve(stack, name, behaviour, action=NavigateToPose):
    server = Server(stack.graph, name, behaviour, action)
    stack.robot.servers[name] = server
    return server


def publisher(stack, message_type, topic, qos=10):
    return stack.graph.node.create_publisher(message_type, topic, qos)


def test_action_reads_ports_and_writes_its_result_to_the_blackboard(stack, trees):
    server = serve(
        stack,
        "robot1/approach",
        Behaviour(
            duration=0.2,
            feedback=lambda _: NavigateToPose.Feedback(distance_remaining=0.25),
            result=lambda _: NavigateToPose.Result(error_msg="docked at 3"),
        ),
    )
    said = Recorder(stack, String, "/said", LATCHED)
    left = Recorder(stack, Float32, "/left", LATCHED)
    poses = Recorder(stack, PoseStamped, "/pose", LATCHED)
    status, message = trees.run(
        """
        <Script code="far := 1.5; left := -1.0"/>
        <RetryUntilSuccessful num_attempts="50">
          <Sequence>
            <RosAction server_name="robot1/approach" action_type="nav2_msgs/action/NavigateToPose"
                goal='json:{"behavior_tree": "other.xml", "pose": {"pose": {"orientation": {"w": 0.5}}}}'
                goal.pose.header.frame_id="map" goal.pose.header.stamp="now" goal.pose.pose.position.x="{far}"
                result.error_msg="{text}" feedback.distance_remaining="{left}" feedback.current_pose="{pose}"/>
            <ScriptCondition name="feedback was received" code="left == 0.25"/>
          </Sequence>
        </RetryUntilSuccessful>
        <RosPublish topic_name="/said" message_type="std_msgs/msg/String" qos="latched" message.data="{text}"/>
        <RosPublish topic_name="/left" message_type="std_msgs/msg/Float32" qos="latched" message.data="{left}"/>
        <RosPublish topic_name="/pose" message_type="geometry_msgs/msg/PoseStamped" qos="latched" message="{pose}"/>
        """
    )
    assert status == "SUCCEEDED", message
    request = server.requests()[0]
    assert request.pose.header.frame_id == "map" and request.pose.header.stamp.sec > 0
    assert (request.pose.pose.position.x, request.pose.pose.orientation.w) == (1.5, 0.5)
    assert request.behavior_tree == "other.xml"
    assert said.first().data == "docked at 3"
    assert left.first().data == 0.25
    assert poses.first().pose.orientation.w == 1.0, "the default value of the interface"


GOAL = '<RosAction server_name="turn" action_type="nav2_msgs/action/Spin" goal.target_yaw="1.5" {}/>'


def test_action_that_aborts_rejects_or_times_out_is_a_failure(stack, trees):
    server = serve(stack, "turn", Behaviour(error_code=703), Spin)
    said = Recorder(stack, UInt64, "/code", LATCHED)
    turn = GOAL.format('result.error_code="{code}"')
    say = '<RosPublish topic_name="/code" message_type="std_msgs/msg/UInt64" qos="latched" message.data="{code}"/>'
    status, message = trees.run(f"<Inverter>{turn}</Inverter>{say}")
    assert status == "SUCCEEDED", message
    assert said.first().data == 703
    server.behaviour = Behaviour(accept=False)
    assert trees.run(GOAL.format(""))[0] == "ABORTED"
    server.behaviour = Behaviour(duration=None)
    assert trees.run(GOAL.format('result_timeout="200"'))[0] == "ABORTED"
    wait_for(lambda: server.executing() == 0, 10, "the goal that timed out to be cancelled")
    assert len(server.cancelled()) == 1
    absent = GOAL.replace('"turn"', '"nobody"')
    assert trees.run(absent.format('server_timeout="200"'))[0] == "ABORTED"


def test_feedback_is_subscribed_to_only_if_a_leaf_uses_it(stack, trees):
    serve(stack, "turn", Behaviour(duration=0.1), Spin)

    def subscribers(topic):
        infos = stack.graph.node.get_subscriptions_info_by_topic(f"/turn/_action/{topic}")
        # The search for goals of an earlier run subscribes to every status.
        return sum(info.node_name != "_bt_navigator_search" for info in infos)

    assert trees.run(GOAL.format(""))[0] == "SUCCEEDED"
    wait_for(lambda: subscribers("status") == 1, 10, "the client to subscribe to the status topic")
    assert subscribers("feedback") == 0
    assert trees.run(GOAL.format('feedback.angular_distance_traveled="{turned}"'))[0] == "SUCCEEDED"
    wait_for(lambda: subscribers("feedback") == 1, 10, "the client to subscribe to feedback")


def test_g5_follow_path_and_ros_action_share_one_server_in_turn(stack, trees):
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.stop_delay = None, 0.3
    stop = publisher(stack, Bool, "/stop", LATCHED)
    stop.publish(Bool(data=False))
    goal = trees.send(
        """
        <ComputePathToPose goal="{goal}" path="{path}"/>
        <ReactiveFallback>
          <ReactiveSequence>
            <RosSubscribe topic_name="/stop" message_type="std_msgs/msg/Bool" qos="latched" message.data="{stop}"/>
            <ScriptCondition code="!stop"/>
            <FollowPath path="{path}"/>
          </ReactiveSequence>
          <RosAction server_name="/follow_path" action_type="nav2_msgs/action/FollowPath" goal.path="{path}"/>
        </ReactiveFallback>
        """
    )
    wait_for(controller.executing, 10, "the controller to execute")
    stop.publish(Bool(data=True))
    wait_for(lambda: len(controller.requests()) == 2, 10, "the second goal")
    assert len(controller.cancelled()) == 1
    kinds = [kind for kind, _ in itertools.groupby(event.kind for event in controller.events)]
    assert kinds == ["requested", "accepted", "cancel", "ended", "requested", "accepted"]
    assert len(controller.seen("requested")) == 2
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_action_halted_by_a_reactive_parent_is_cancelled(stack, trees):
    server = serve(stack, "turn", Behaviour(duration=None), Spin)
    stop = publisher(stack, Bool, "/stop", LATCHED)
    stop.publish(Bool(data=False))
    goal = trees.send(
        f"""
        <ReactiveSequence>
          <RosSubscribe topic_name="/stop" message_type="std_msgs/msg/Bool" qos="latched" message.data="{{stop}}"/>
          <ScriptCondition code="!stop"/>
          {GOAL.format("")}
        </ReactiveSequence>
        """
    )
    wait_for(server.executing, 10, "the action to execute")
    stop.publish(Bool(data=True))
    assert goal.result()[0] == "ABORTED"
    wait_for(lambda: server.executing() == 0, 10, "the action to stop")
    assert [event.detail for event in server.seen("ended")] == ["canceled"]
    assert len(server.cancelled()) == 1


def test_service_takes_a_request_and_gives_its_response(stack, trees):
    requests = []
    silent = threading.Event()

    def answer(request, response):
        requests.append(request.data)
        response.success, response.message = request.data, f"door {len(requests)}"
        return response

    def never(_, response):
        silent.wait(200.0)
        return response

    node, group = stack.graph.node, stack.graph.group
    node.create_service(SetBool, "door", answer, callback_group=group)
    node.create_service(SetBool, "mute", never, callback_group=group)
    said = Recorder(stack, String, "/said", LATCHED)
    call = '<RosService service_name="{}" service_type="std_srvs/srv/SetBool" request.data="{}" {}/>'
    publish = '<RosPublish topic_name="/said" message_type="std_msgs/msg/String" qos="latched" message.data="{text}"/>'
    fields = 'response.message="{text}" success="success"'
    # Retries, because the first answer may be lost: see Graph.ask.
    again = call.format("door", "true", fields + ' server_timeout="3000"')
    first = f'<RetryUntilSuccessful num_attempts="5">{again}</RetryUntilSuccessful>'
    status, message = trees.run(first + publish)
    assert status == "SUCCEEDED", message
    assert said.first().data == f"door {len(requests)}" and requests[-1] is True
    assert trees.run(call.format("door", "false", fields))[0] == "ABORTED", "success is false"
    assert requests[-1] is False
    assert trees.run(call.format("door", "false", ""))[0] == "SUCCEEDED", "every answer is a success"
    for name in ("mute", "nobody"):
        status, _ = trees.run(call.format(name, "true", 'server_timeout="300"'))
        assert status == "ABORTED", name
    silent.set()


def test_publisher_is_transient_local_if_the_port_is_set(stack, trees):
    node = '<RosPublish topic_name="{}" message_type="std_msgs/msg/UInt64" qos="{}" message.data="{}"/>'
    largest = 2**64 - 1
    status, message = trees.run(
        node.format("/kept", "reliable transient_local depth=1", largest) + node.format("/lost", "default", 1)
    )
    assert status == "SUCCEEDED", message
    assert Recorder(stack, UInt64, "/kept", LATCHED).first().data == largest
    lost = lambda: stack.graph.node.get_publishers_info_by_topic("/lost")  # noqa: E731
    quality = wait_for(lost, 30, "the publisher of /lost")[0].qos_profile
    assert quality.durability == DurabilityPolicy.VOLATILE


SUBSCRIBE = '<RosSubscribe topic_name="/load" message_type="std_msgs/msg/Float32" message.data="{{load}}" {}/>'
COPY = '<RosPublish topic_name="/copy" message_type="std_msgs/msg/Float32" qos="latched" message.data="{load}"/>'


def test_subscription_returns_the_latest_or_waits_for_a_new_message(stack, trees):
    load = publisher(stack, Float32, "/load", LATCHED)
    load.publish(Float32(data=1.0))
    copies = Recorder(stack, Float32, "/copy", LATCHED)
    status, message = trees.run(SUBSCRIBE.format('qos="latched"') + COPY)
    assert status == "SUCCEEDED", message
    assert copies.first().data == 1.0
    goal = trees.send(SUBSCRIBE.format('qos="latched" mode="fresh"') + COPY)
    # A latched message may arrive again at the subscription of a new tree. It is not new.
    stack.wait_for_ticks(goal)
    assert not goal.done()
    load.publish(Float32(data=2.0))
    assert goal.result()[0] == "SUCCEEDED"
    wait_for(lambda: copies.messages[-1].data == 2.0, 30, "the new message")


def test_waiting_for_a_message_times_out(trees, stack):
    assert trees.run(SUBSCRIBE.format('timeout="200"'))[0] == "ABORTED"
    stack.node.wait_for_line("no message arrived in time")


def test_whole_message_is_republished_unchanged(stack, trees):
    sent = UInt8MultiArray(data=bytes(range(256)))
    sent.layout.dim = [MultiArrayDimension(label="Zeile", size=16, stride=256), MultiArrayDimension(label="✓")]
    source = publisher(stack, UInt8MultiArray, "/from", LATCHED)
    source.publish(sent)
    copies = Recorder(stack, UInt8MultiArray, "/to", LATCHED)
    status, message = trees.run(
        """
        <RosSubscribe topic_name="/from" message_type="std_msgs/msg/UInt8MultiArray" qos="latched" message="{all}"/>
        <RosPublish topic_name="/to" message_type="std_msgs/msg/UInt8MultiArray" qos="latched" message="{all}"/>
        """
    )
    assert status == "SUCCEEDED", message
    assert copies.first() == sent


def test_nan_is_read_but_not_published(stack, trees):
    battery = publisher(stack, BatteryState, "/battery", LATCHED)
    battery.publish(BatteryState(percentage=float("nan"), voltage=24.0))
    read = """
        <RosSubscribe topic_name="/battery" message_type="sensor_msgs/msg/BatteryState" qos="latched"
            message.percentage="{percentage}" message.voltage="{voltage}"/>
        """
    assert trees.run(read + '<ScriptCondition code="percentage != percentage &amp;&amp; voltage == 24.0"/>')[0] == "SUCCEEDED"
    write = '<RosPublish topic_name="/x" message_type="std_msgs/msg/Float32" message.data="{percentage}"/>'
    assert trees.run(read + write)[0] == "ABORTED"
    stack.node.wait_for_line("message.data: NaN is not a finite number")


def test_parameters_of_other_nodes_are_read_and_set(stack, trees):
    node = stack.graph.node
    node.declare_parameter("speed", 0.5)
    node.declare_parameter("names", ["a", "b"])

    def judge(parameters):
        from rcl_interfaces.msg import SetParametersResult

        good = all(parameter.name != "speed" or parameter.value <= 1.0 for parameter in parameters)
        return SetParametersResult(successful=good, reason="" if good else "faster than the robot")

    node.add_on_set_parameters_callback(judge)
    client = stack.graph.node.get_name()
    again = '<RetryUntilSuccessful num_attempts="5">{}</RetryUntilSuccessful>'
    get = f'<RosParameterGet node="/{client}" parameter="{{}}" value="{{{{value}}}}" server_timeout="3000"/>'
    put = f'<RosParameterSet node="/{client}" parameter="{{}}" server_timeout="3000" {{}}/>'
    # Retries, because the first answer may be lost: see Graph.ask.
    status, message = trees.run(
        again.format(get.format("speed"))
        + '<Script code="value = value * 2"/>'
        + again.format(put.format("speed", 'value="{value}"'))
    )
    assert status == "SUCCEEDED", message
    assert node.get_parameter("speed").value == 1.0
    assert trees.run(put.format("names", 'value="c;d" kind="string_array"'))[0] == "SUCCEEDED"
    assert node.get_parameter("names").type_ == Parameter.Type.STRING_ARRAY
    assert node.get_parameter("names").value == ["c", "d"]
    assert trees.run(put.format("speed", 'value="1.5"'))[0] == "ABORTED"
    stack.node.wait_for_line("faster than the robot")
    assert node.get_parameter("speed").value == 1.0
    absent = f'<RosParameterGet node="/{client}" parameter="absent" value="{{value}}"/>'
    assert trees.run(absent)[0] == "ABORTED"
    nobody = '<RosParameterGet node="/nobody" parameter="absent" value="{value}" server_timeout="200"/>'
    assert trees.run(nobody)[0] == "ABORTED"


#: 128 letters of 256 bytes: one more than a `string<=255` can hold.
LONG = "ä" * 128
PUBLISH = '<RosPublish topic_name="/{0}" message_type="{0}" {1}/>'
# A node and the error message.
REFUSED = [
    (GOAL.replace("Spin", "Spine").format(""), "the interface `nav2_msgs/action/Spine` is unknown"),
    (GOAL.format('goal.target_jaw="1"'), "there is no field `target_jaw`: did you mean `target_yaw`?"),
    (GOAL.format('result.code="{x}"'), "there is no field `code`"),
    (GOAL.format('feedback.angle="{x}"'), "there is no field `angle`"),
    (GOAL.format('goal.time_allowance.sec="much"'), "goal.time_allowance.sec: `much` is not a whole number"),
    (GOAL.format("goal='json:{\"target_jaw\": 1}'"), "goal: there is no field `target_jaw`"),
    (GOAL.format("goal='json:{\"target_yaw\": 1'"), "goal: EOF"),
    (GOAL.replace('"turn"', '"a//b"').format(""), "`a//b` is not a valid ROS name"),
    ('<RosService service_name="s" service_type="std_srvs/srv/SetBoo"/>', "`std_srvs/srv/SetBoo` is unknown"),
    ('<RosService service_name="s" service_type="std_srvs/srv/SetBool" request.data="maybe"/>', "not a boolean"),
    (PUBLISH.format("std_msgs/msg/Strin", ""), "`std_msgs/msg/Strin` is unknown"),
    (PUBLISH.format("std_msgs/msg/UInt8", 'message.data="256"'), "message.data: invalid value: integer `256`"),
    (PUBLISH.format("std_msgs/msg/Int8", 'message.data="-129"'), "message.data: invalid value: integer `-129`"),
    (PUBLISH.format("std_msgs/msg/UInt64", 'message.data="18446744073709551616"'), "is not a whole number"),
    (PUBLISH.format("std_msgs/msg/Float32", 'message.data="1e39"'), "is too large for its type"),
    (PUBLISH.format("std_msgs/msg/Float32", 'message.data="nan"'), "is not a finite number"),
    (PUBLISH.format("std_msgs/msg/String", "message='json:{\"data\": \"a\\u0000b\"}'"), "contains a zero byte"),
    (
        PUBLISH.format("geometry_msgs/msg/PoseWithCovariance", 'message.covariance="1;2;3"'),
        "message.covariance: there are 3 elements, and its type has exactly 36",
    ),
    (
        PUBLISH.format("type_description_interfaces/msg/FieldType", f'message.nested_type_name="{LONG}"'),
        "has 256 bytes, and its type has room for 255",
    ),
    (
        PUBLISH.format("rcl_interfaces/msg/ParameterDescriptor", "message='json:{\"integer_range\": [{}, {}]}'"),
        "message: integer_range: there are 2 elements, and its type has room for 1",
    ),
    (
        '<RosService service_name="s" service_type="sensor_msgs/srv/SetCameraInfo" request.camera_info.k="1;2"/>',
        "request.camera_info.k: there are 2 elements, and its type has exactly 9",
    ),
    ('<RosParameterSet node="/n" parameter="x" value="1;256" kind="byte_array"/>', "value: invalid value: integer `256`"),
    (PUBLISH.format("nav_msgs/msg/Path", "message.poses='json:[{\"pose\": [1]}]'"), "message.poses: invalid"),
    (PUBLISH.format("nav_msgs/msg/Path", "message.poses='json:[{\"posture\": {}}]'"), "no field `posture`"),
    (PUBLISH.format("std_msgs/msg/String", 'qos="fast"'), "qos: `fast` is not one of"),
    (SUBSCRIBE.replace("message.data", "message.date").format(""), "there is no field `date`"),
    (SUBSCRIBE.format('mode="newest"'), "mode: `newest` is not one of latest, fresh"),
]


def test_g7_unknown_type_field_or_literal_is_rejected_with_position(stack, trees):
    for nodes, words in REFUSED:
        path = trees.file(nodes)
        answer = stack.set_tree(path)
        assert not answer.successful, nodes
        assert f"{path}:4:" in answer.reason and words in answer.reason, (nodes, answer.reason)
    assert stack.get_tree() == str(tree("plan_and_follow.xml"))
    # The tree of a goal is checked too.
    status, message = trees.run(REFUSED[1][0])
    assert status == "ABORTED" and "did you mean `target_yaw`?" in message
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


# A script that sets the blackboard, a node, and the error message.
FAILING = [
    ("x := 256", PUBLISH.format("std_msgs/msg/UInt8", 'message.data="{x}"'), "message.data: invalid value: integer `256`"),
    ("x := -1", PUBLISH.format("std_msgs/msg/UInt64", 'message.data="{x}"'), "message.data: invalid value: integer `-1`"),
    ("x := 128", PUBLISH.format("std_msgs/msg/Int8", 'message.data="{x}"'), "integer `128`"),
    ("x := 1.5", PUBLISH.format("std_msgs/msg/Int64", 'message.data="{x}"'), "1.5 is not a whole number"),
    ("x := 1e39", PUBLISH.format("std_msgs/msg/Float32", 'message.data="{x}"'), "is too large for its type"),
    ("x := 'abc'", PUBLISH.format("std_msgs/msg/Float32", 'message.data="{x}"'), "`abc` is not a finite number"),
    (
        "x := 'json:\"a\\u0000b\"'",
        PUBLISH.format("std_msgs/msg/String", 'message.data="{x}"'),
        "contains a zero byte",
    ),
    ("x := 'json:{\"data\": NaN}'", PUBLISH.format("std_msgs/msg/Float32", 'message="{x}"'), "message: expected value"),
    (
        "x := '1;2;3'",
        PUBLISH.format("geometry_msgs/msg/PoseWithCovariance", 'message.covariance="{x}"'),
        "message.covariance: there are 3 elements, and its type has exactly 36",
    ),
    (
        "x := 'json:[{\"pose\": {\"position\": {\"x\": [1]}}}]'",
        PUBLISH.format("nav_msgs/msg/Path", 'message.poses="{x}"'),
        "message.poses: invalid type: sequence, expected f64",
    ),
    ("x := 'json:[300]'", PUBLISH.format("std_msgs/msg/UInt8MultiArray", 'message.data="{x}"'), "`300`"),
    ("y := 1", PUBLISH.format("std_msgs/msg/Float32", 'message.data="{x}"'), "message.data: "),
    ("x := 'json:{\"seconds\": 1}'", GOAL.format('goal.time_allowance="{x}"'), "there is no field `seconds`"),
    ("x := 3000000000", GOAL.format('goal.time_allowance.sec="{x}"'), "`3000000000`, expected i32"),
    (
        "x := '1;2'",
        '<RosService service_name="s" service_type="sensor_msgs/srv/SetCameraInfo" request.camera_info.k="{x}"/>',
        "request.camera_info.k: there are 2 elements, and its type has exactly 9",
    ),
    (
        "x := 1000",
        '<RosParameterSet node="/test_peer" parameter="x" value="{x}" kind="byte_array"/>',
        "1000 is not a list",
    ),
    (
        "x := '1;256'",
        '<RosParameterSet node="/test_peer" parameter="x" value="{x}" kind="byte_array"/>',
        "value: invalid value: integer `256`, expected u8",
    ),
    (
        f"x := '{LONG}'",
        PUBLISH.format("type_description_interfaces/msg/FieldType", 'message.nested_type_name="{x}"'),
        "has 256 bytes, and its type has room for 255",
    ),
    (
        "x := 'json:[{}, {}]'",
        PUBLISH.format("rcl_interfaces/msg/ParameterDescriptor", 'message.integer_range="{x}"'),
        "message.integer_range: there are 2 elements, and its type has room for 1",
    ),
]


def test_value_out_of_range_fails_with_a_reason(stack, trees):
    server = serve(stack, "turn", Behaviour(), Spin)
    for script, node, words in FAILING:
        before = len(stack.node.lines)
        script = script.replace('"', "&quot;")
        status, message = trees.run(f'<Script code="{script}"/>{node}')
        assert status == "ABORTED", (node, message)
        stack.node.wait_for_line(words, after=before)
    assert not server.requests()
    assert "panicked" not in stack.node.output
    assert stack.node.running()
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


TWO_TYPES = "the topic `/{}` has the type {} here, not {}"


def test_topic_with_another_type_on_the_graph_fails_with_a_reason(stack, trees):
    say = '<RosPublish topic_name="/sound" message_type="std_msgs/msg/String" message.data="beep"/>'
    assert trees.run(say)[0] == "SUCCEEDED"
    other = publisher(stack, Bool, "/sound")
    words = TWO_TYPES.format("sound", "std_msgs/msg/Bool", "std_msgs/msg/String")
    # The node reads the graph twice a second, and discovery takes time.
    wait_for(lambda: trees.run(say)[0] == "ABORTED", 30, "the other type to be seen")
    path = trees.file(say)
    status, result = stack.navigation.send(1.0, 0.0, tree=path).result()
    assert status == "ABORTED"
    assert words in result.error_msg and f"{path}:4:" in result.error_msg, "rejected when the tree of the goal is loaded"
    # A tree that was valid when it was loaded fails at the node.
    listen = '<RosSubscribe topic_name="/light" message_type="std_msgs/msg/Float32" message.data="{x}"/>'
    goal = trees.send(listen)
    wait_for(lambda: goal.feedback, 10, "the tree to run")
    light = publisher(stack, Bool, "/light")
    assert goal.result()[0] == "ABORTED"
    stack.node.wait_for_line(TWO_TYPES.format("light", "std_msgs/msg/Bool", "std_msgs/msg/Float32"))
    # With one type the node succeeds again.
    for publication in (other, light):
        stack.graph.node.destroy_publisher(publication)
    wait_for(lambda: trees.run(say)[0] == "SUCCEEDED", 30, "the other type to leave the graph")


def test_g7_topic_used_with_another_type_is_rejected_at_load(stack, trees):
    count = '<RosPublish topic_name="{}" message_type="std_msgs/msg/{}" message.data="1"/>'
    assert trees.run(count.format("/count", "Int8"))[0] == "SUCCEEDED"
    for nodes, words in (
        (count.format("/count", "UInt8"), TWO_TYPES.format("count", "std_msgs/msg/Int8", "std_msgs/msg/UInt8")),
        (
            count.format("behavior_tree_log", "Int8"),
            TWO_TYPES.format("behavior_tree_log", "nav2_msgs/msg/BehaviorTreeLog", "std_msgs/msg/Int8"),
        ),
    ):
        path = trees.file(nodes)
        answer = stack.set_tree(path)
        assert not answer.successful and words in answer.reason and f"{path}:4:" in answer.reason, answer.reason
    # A topic name from the blackboard is known only at the tick.
    name = '<Script code="name := \'/count\'"/>' + count.format("{name}", "UInt8")
    assert trees.run(count.format("/count", "Int8") + name)[0] == "ABORTED"
    stack.node.wait_for_line(TWO_TYPES.format("count", "std_msgs/msg/Int8", "std_msgs/msg/UInt8"))
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_a_large_message_does_not_reach_a_tree_and_a_small_one_does(stack, trees):
    """The JSON form of an image would take a gigabyte."""
    publisher = stack.graph.node.create_publisher(UInt8MultiArray, "/image", QoSProfile(depth=10))
    goal = trees.send('<RosSubscribe topic_name="/image" message_type="std_msgs/msg/UInt8MultiArray" message="{all}"/>')
    wait_for(lambda: publisher.get_subscription_count() > 0, 30.0, "the subscription")
    publisher.publish(UInt8MultiArray(data=bytes(300 * 1024)))
    wait_for(lambda: "/image: messages of more than 256 KiB" in stack.node.output, 30.0, "the error")
    assert not goal.done()
    publisher.publish(UInt8MultiArray(data=bytes(3)))
    assert goal.result()[0] == "SUCCEEDED"
