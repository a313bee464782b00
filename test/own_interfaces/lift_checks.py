"""Run by test_own_interfaces.py, with the environment and the executable that it built."""

import pytest
from builtin_interfaces.msg import Time
from lift_msgs.action import MoveTo
from lift_msgs.msg import Level
from lift_msgs.srv import Select
from shape_msgs.msg import SolidPrimitive
from support.graph import wait_for
from support.servers import Behaviour, Server
from test_any import LATCHED, Recorder, Trees, publisher

LEVEL = Level(
    name="roof",
    label="Dach ✓ 𝄞",
    range=[0.5, 1.5],
    codes=bytes([1, 255]),
    doors=["a", "b;c"],
    offset=-128,
    serial=2**64 - 1,
    stamp=Time(sec=3, nanosec=5),
    car=SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[1.0, 2.0, 3.0]),
)


@pytest.fixture
def trees(stack, tmp_path):
    return Trees(stack, tmp_path)


def test_action(stack, trees):
    server = Server(
        stack.graph,
        "lift",
        Behaviour(
            duration=0.2,
            feedback=lambda elapsed: MoveTo.Feedback(height=1.25),
            result=lambda request: MoveTo.Result(label=request.via[0].label, serial=request.via[0].serial),
        ),
        MoveTo,
    )
    stack.robot.servers["lift"] = server
    source = publisher(stack, Level, "/level", LATCHED)
    source.publish(LEVEL)
    copies = Recorder(stack, Level, "/copy", LATCHED)
    status, message = trees.run(
        """
        <RosSubscribe topic_name="/level" message_type="lift_msgs/msg/Level" qos="latched"
            message="{level}" message.label="{label}" message.serial="{serial}" message.range="{range}"/>
        <Script code="height := -1.0"/>
        <RetryUntilSuccessful num_attempts="50">
          <Sequence>
            <RosAction server_name="lift" action_type="lift_msgs/action/MoveTo" goal.height="2.5"
                goal.via='json:[{"label": "Dach ✓ 𝄞", "serial": 18446744073709551615, "range": [1, 2], "name": "x"}]'
                result.label="{said}" result.serial="{number}" feedback.height="{height}"/>
            <ScriptCondition name="feedback was received" code="height == 1.25"/>
          </Sequence>
        </RetryUntilSuccessful>
        <ScriptCondition code="said == label"/>
        <RosPublish topic_name="/copy" message_type="lift_msgs/msg/Level" qos="latched" message="{level}"
            message.label="{said}" message.serial="{number}" message.range="{range}" message.codes="1;255"/>
        """
    )
    assert status == "SUCCEEDED", (message, stack.node.output)
    request = server.requests()[0]
    assert (request.height, request.via[0].label, request.via[0].serial) == (2.5, LEVEL.label, LEVEL.serial)
    assert list(request.via[0].range) == [1.0, 2.0]
    assert copies.first() == LEVEL


def test_action_is_cancelled_with_its_leaf(stack, trees):
    server = Server(stack.graph, "lift", Behaviour(duration=None), MoveTo)
    stack.robot.servers["lift"] = server
    goal = trees.send('<RosAction server_name="lift" action_type="lift_msgs/action/MoveTo"/>')
    wait_for(server.executing, 10, "the lift to move")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    assert [event.detail for event in server.seen("ended")] == ["canceled"]


def test_service(stack, trees):
    requests = []

    def select(request, response):
        requests.append(request)
        response.success, response.label = True, "gewählt"
        return response

    stack.graph.node.create_service(Select, "select", select, callback_group=stack.graph.group)
    status, message = trees.run(
        """
        <RetryUntilSuccessful num_attempts="5">
          <RosService service_name="select" service_type="lift_msgs/srv/Select" request.pair="3;-4"
              request.levels='json:[{"name": "roof"}]' response.label="{label}" success="success" server_timeout="3000"/>
        </RetryUntilSuccessful>
        <ScriptCondition code="label == 'gewählt'"/>
        """
    )
    assert status == "SUCCEEDED", (message, stack.node.output)
    assert list(requests[-1].pair) == [3, -4]
    assert requests[-1].levels[0].name == "roof"


# A field, a value out of range, and the error message.
WRONG = [
    ("range", "1;2;3", "range: there are 3 elements, and its type has exactly 2"),
    ("codes", "1;2;3;4", "codes: there are 4 elements, and its type has room for 3"),
    ("codes", "256", "integer `256`, expected u8"),
    ("offset", "128", "integer `128`, expected i8"),
    ("serial", "-1", "integer `-1`, expected u64"),
    ("doors", "1;2", "expected a string"),
    ("car.dimensions", "1;2;3;4", "message.car.dimensions: there are 4 elements, and its type has room for 3"),
    ("name", "die Größe", "message.name: `die Größe` has 11 bytes, and its type has room for 8"),
    ("car.type", "x", "is not a whole number"),
    ("label", "json:[1]", "is not a text"),
    ("label", 'json:"a\\u0000b"', "contains a zero byte"),
    ("stamp", "soon", "is not a message"),
]


def test_value_out_of_range_is_rejected_at_load_and_fails_at_the_tick(stack, trees):
    node = '<RosPublish topic_name="/level" message_type="lift_msgs/msg/Level" message.{}="{}"/>'
    for field, value, words in WRONG:
        value = value.replace('"', "&quot;")
        answer = stack.set_tree(trees.file(node.format(field, value)))
        assert not answer.successful and words in answer.reason, (field, value, answer.reason)
        status, _ = trees.run(f"<Script code=\"x := '{value}'\"/>" + node.format(field, "{x}"))
        assert status == "ABORTED", (field, value)
        stack.node.wait_for_line(words)
    service = '<RosService service_name="select" service_type="lift_msgs/srv/Select" request.{}="{}"/>'
    for field, value, words in (
        ("pair", "1;", "request.pair: there are 1 elements, and its type has exactly 2"),
        ("levels", "json:[{}, {}, {}]", "request.levels: there are 3 elements, and its type has room for 2"),
        ("levels", "json:[{&quot;name&quot;: &quot;attic or so&quot;}]", "levels.name: `attic or so` has 11 bytes"),
        ("levels", "json:[{&quot;range&quot;: [1]}]", "levels.range: there are 1 elements, and its type has exactly 2"),
    ):
        answer = stack.set_tree(trees.file(service.format(field, value)))
        assert not answer.successful and words in answer.reason, (field, value, answer.reason)
        assert trees.run(f"<Script code=\"x := '{value}'\"/>" + service.format(field, "{x}"))[0] == "ABORTED"
    assert "panicked" not in stack.node.output
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
