"""G3: /diagnostics shows the state of the node in the standard form; a worse level is published at once."""

import itertools
import statistics
import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from support.diagnostics import Reader, part, value
from support.executable import Executable
from support.graph import Graph, wait_for

PARTS = ["navtree: ticks", "navtree: goals", "navtree: servers", "navtree: tree"]
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
SHORT_TIMEOUTS = {"default_cancel_timeout": 300, "give_up_timeout": 1500, "stop_timeout": 500}


@pytest.fixture
def diagnosed(stack_factory):
    def make(parameters=None, **options):
        stack = stack_factory(parameters, **options)
        return stack, Reader(stack.graph)

    return make


def test_every_part_is_ok_during_a_navigation(diagnosed):
    stack, reader = diagnosed()
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    reader.wait_value("ticks", "activity", "ticking")
    reader.wait("goals", OK, "1 goal")
    reader.wait("servers", OK, "all 2 servers are available")
    reader.wait("tree", OK, "is loaded")
    message = reader.latest
    assert [status.name for status in message.status] == PARTS
    assert {status.hardware_id for status in message.status} == {"/bt_navigator"}
    assert abs(message.header.stamp.sec - time.time()) < 5
    assert value(message, "servers", "follow_path") == "present"
    assert value(message, "tree", "file").endswith("plan_and_follow.xml")
    assert value(message, "tree", "navigator") == "navigate_to_pose"
    assert float(value(message, "ticks", "period (ms)")) == 10
    assert int(value(message, "ticks", "ticks in total")) > 0
    assert int(value(message, "goals", "accepted in total")) >= 2
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    reader.wait("goals", OK, "no goals")
    reader.wait_value("ticks", "activity", "idle")
    reader.wait_value("goals", "navigations canceled 0", "1")
    assert value(reader.latest, "goals", "goals follow_path halted goal cancelled") == "1"
    assert value(reader.latest, "goals", "records lost") == "0"


@pytest.mark.alone
def test_diagnostics_are_published_once_a_second(diagnosed):
    _, reader = diagnosed()
    wait_for(lambda: len(reader.messages) >= 6, 30, "six messages")

    def worse(before, after):
        return any(late.level > early.level for early, late in zip(before.status, after.status, strict=True))

    # Additional messages are published at once when a level gets worse.
    regular = [reader.messages[0]]
    regular += [after for before, after in itertools.pairwise(reader.messages) if not worse(before, after)]
    stamps = [message.header.stamp.sec + message.header.stamp.nanosec * 1e-9 for message in regular]
    gaps = [after - before for before, after in itertools.pairwise(stamps)]
    assert 0.8 < statistics.median(gaps) < 1.5, stamps


def test_g3_a_goal_that_does_not_stop_is_reported_until_it_ends(diagnosed):
    stack, reader = diagnosed(SHORT_TIMEOUTS)
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    reader.wait("goals", OK, "1 goal")
    goal.cancel()
    late = reader.wait("goals", WARN, "not known to have stopped in time")
    running = controller.seen("accepted")[0].goal.hex()
    for status in (late, reader.wait("goals", ERROR, "was given up")):
        assert "follow_path" in status.message and "FollowPath" in status.message
        assert running in status.message.replace("-", "")
    assert int(value(reader.latest, "goals", "given up in total")) == 1
    assert int(value(reader.latest, "goals", "given up, may still execute")) == 1
    # The node no longer tracks the goal, and the goal executes: the level stays ERROR.
    assert {part(message, "goals").level for message in reader.more(3)} == {ERROR}
    controller.behaviour.duration = 0.0
    reader.wait("goals", OK, "no goals")
    assert int(value(reader.latest, "goals", "given up in total")) == 1


def test_a_worse_level_is_published_at_once(diagnosed):
    stack, reader = diagnosed(SHORT_TIMEOUTS | {"diagnostics_period": 60.0})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    wait_for(lambda: reader.messages, 10, "the first message")
    goal.cancel()
    reader.wait("goals", ERROR, "was given up")
    # There may be additional messages if ticks are missed.
    levels = [level for level, _ in itertools.groupby(part(message, "goals").level for message in reader.messages)]
    assert levels == [OK, WARN, ERROR]


def test_g6_an_absent_server_is_reported(diagnosed):
    stack, reader = diagnosed()
    reader.wait("servers", OK, "all 2 servers are available")
    stack.robot.controller.destroy()
    reader.wait("servers", WARN, "absent: follow_path")
    stack.robot.add("follow_path", stack.robot.controller.behaviour)
    reader.wait("servers", OK, "all 2 servers are available")


def test_g7_a_rejected_tree_is_reported_with_its_error(diagnosed, tmp_path):
    stack, reader = diagnosed(settle=False)
    reader.wait("tree", OK)
    path = tmp_path / "broken.xml"
    path.write_text("<root BTCPP_format='4'>\n  <BehaviorTree ID='X'>\n    <Wiat/>\n  </BehaviorTree>\n</root>\n")
    assert not stack.set_tree(path).successful
    refused = reader.wait("tree", WARN, "was refused")
    assert f"{path}:3:" in refused.message
    assert value(reader.latest, "tree", "last refused") == str(path)
    assert value(reader.latest, "tree", "file").endswith("plan_and_follow.xml")
    path.write_text(path.read_text().replace("<Wiat/>", "<AlwaysSuccess/>"))
    assert stack.set_tree(path).successful
    reader.wait("tree", OK)


def test_error_message_of_a_failed_navigation_equals_its_result(diagnosed):
    stack, reader = diagnosed()
    stack.robot.planner.behaviour.error_code = 206
    status, result = stack.navigation.send(1.0, 0.0).result()
    assert (status, result.error_code) == ("ABORTED", 206)
    assert "(ComputePathToPose) failed: GOAL_OCCUPIED (206)" in result.error_msg
    reader.wait_value("tree", "last error message", result.error_msg)


HANGS = '<root BTCPP_format="4"><BehaviorTree ID="Arm"><Hangs name="arm"/></BehaviorTree></root>'


def test_g8_a_leaf_that_blocks_the_tick_thread_is_reported(stack_factory, tmp_path):
    path = tmp_path / "hangs.xml"
    path.write_text(HANGS)
    stack = stack_factory(program="examples/faulty_leaves")
    reader = Reader(stack.graph)
    reader.wait_value("ticks", "activity", "idle")
    stack.navigation.send(1.0, 0.0, tree=path)
    reader.wait("ticks", ERROR, "leaf `arm` blocks the tick thread")
    assert part(reader.latest, "goals").level == OK


def test_a_diagnostics_period_of_zero_disables_diagnostics(ros_domain):
    graph = Graph(ros_domain)
    node = Executable("navtree", ros_domain, {"autostart_node": True, "diagnostics_period": 0.0})
    try:
        topics = lambda: dict(graph.node.get_topic_names_and_types())  # noqa: E731
        wait_for(lambda: "/behavior_tree_log" in topics(), 30, "the node's topics")
        assert "/diagnostics" not in topics()
    finally:
        node.close()
        graph.close()
