"""G3: how the node is, on /diagnostics: as the field's tools read it, and worse at once when something gets worse."""

import time

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from support.executable import Executable
from support.graph import Graph, wait_for

PARTS = ["navtree: ticks", "navtree: goals", "navtree: servers", "navtree: tree"]
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR
# As short as a loaded machine allows.
IMPATIENT = {"default_cancel_timeout": 300, "give_up_timeout": 1500, "stop_timeout": 500}


class Reader:
    """What a diagnostics aggregator sees."""

    def __init__(self, graph):
        self.messages = []
        self.subscription = graph.node.create_subscription(DiagnosticArray, "/diagnostics", self._take, 10)

    def _take(self, message):
        self.messages.append((time.monotonic(), message))

    def part(self, name):
        """The latest status of a part: its level, its message and its values."""
        if not self.messages:
            return None
        (status,) = [status for status in self.messages[-1][1].status if status.name == f"navtree: {name}"]
        return status

    def value(self, name, key):
        (found,) = [value.value for value in self.part(name).values if value.key == key]
        return found

    def wait_value(self, name, key, value):
        """Whatever the level: on a machine that is busy, ticks are missed."""
        wait_for(lambda: self.messages and self.value(name, key) == value, 10, f"{key} of {name} to be {value}")

    def wait(self, name, level, text="", seconds=10.0):
        def there():
            part = self.part(name)
            return part is not None and part.level == level and text in part.message and part

        return wait_for(there, seconds, f"{name} at {level} with '{text}': {self.part(name)}")


@pytest.fixture
def diagnosed(stack_factory):
    def make(parameters=None):
        stack = stack_factory(parameters)
        return stack, Reader(stack.graph)

    return make


def test_navigating_is_ok_in_every_part(diagnosed):
    stack, reader = diagnosed()
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0)
    reader.wait_value("ticks", "activity", "ticking")
    reader.wait("goals", OK, "1 goal")
    reader.wait("servers", OK, "all 2 are there")
    reader.wait("tree", OK, "is loaded")
    _, message = reader.messages[-1]
    assert [status.name for status in message.status] == PARTS
    assert {status.hardware_id for status in message.status} == {"/bt_navigator"}
    assert abs(message.header.stamp.sec - time.time()) < 5
    assert reader.value("servers", "follow_path") == "present"
    assert reader.value("tree", "file").endswith("plan_and_follow.xml")
    assert reader.value("tree", "navigator") == "navigate_to_pose"
    assert float(reader.value("ticks", "period (ms)")) == 10
    assert int(reader.value("ticks", "ticks in all")) > 0
    assert int(reader.value("goals", "accepted in all")) >= 2
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    reader.wait("goals", OK, "no goals")
    reader.wait_value("ticks", "activity", "idle")


def test_they_come_once_a_second(diagnosed):
    _, reader = diagnosed()
    wait_for(lambda: len(reader.messages) >= 4, 10, "four messages")
    times = [at for at, _ in reader.messages]
    # The first may be followed at once by one in which something is worse.
    assert 0.8 < (times[-1] - times[1]) / (len(times) - 2) < 1.5, times


def test_g3_a_goal_that_does_not_stop_is_named_until_its_server_shows_that_it_is_over(diagnosed):
    stack, reader = diagnosed(IMPATIENT)
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    reader.wait("goals", OK, "1 goal")
    goal.cancel()
    late = reader.wait("goals", WARN, "has not stopped in time")
    running = controller.seen("accepted")[0].goal.hex()
    for status in (late, reader.wait("goals", ERROR, "was given up")):
        assert "follow_path" in status.message and "FollowPath" in status.message
        assert running in status.message.replace("-", "")
    assert int(reader.value("goals", "given up in all")) == 1
    assert int(reader.value("goals", "may execute although given up")) == 1
    # Nobody looks after it any more, and it executes: an error for as long as that is so.
    time.sleep(2.5)
    assert reader.part("goals").level == ERROR
    controller.behaviour.duration = 0.0
    reader.wait("goals", OK, "no goals")
    assert int(reader.value("goals", "given up in all")) == 1


def test_it_gets_worse_at_once_and_not_with_the_next_period(diagnosed):
    stack, reader = diagnosed(IMPATIENT | {"diagnostics_period": 60.0})
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    wait_for(lambda: reader.messages, 10, "the first message")
    goal.cancel()
    reader.wait("goals", ERROR, "was given up")
    levels = [level for level in (part(message, "goals").level for _, message in reader.messages) if level != OK]
    assert levels == [WARN, ERROR]


def part(message, name):
    (status,) = [status for status in message.status if status.name == f"navtree: {name}"]
    return status


def test_g6_a_server_that_is_gone_is_named(diagnosed):
    stack, reader = diagnosed()
    reader.wait("servers", OK, "all 2 are there")
    stack.robot.controller.destroy()
    reader.wait("servers", WARN, "absent: follow_path")
    stack.robot.add("follow_path", stack.robot.controller.behaviour)
    reader.wait("servers", OK, "all 2 are there")


def test_g7_a_tree_that_is_refused_is_named_with_its_fault(diagnosed, tmp_path):
    stack, reader = diagnosed()
    reader.wait("tree", OK)
    path = tmp_path / "broken.xml"
    path.write_text("<root BTCPP_format='4'>\n  <BehaviorTree ID='X'>\n    <Wiat/>\n  </BehaviorTree>\n</root>\n")
    assert not stack.set_tree(path).successful
    refused = reader.wait("tree", WARN, "was refused")
    assert f"{path}:3:" in refused.message
    assert reader.value("tree", "last refused") == str(path)
    assert reader.value("tree", "file").endswith("plan_and_follow.xml")
    path.write_text(path.read_text().replace("<Wiat/>", "<AlwaysSuccess/>"))
    assert stack.set_tree(path).successful
    reader.wait("tree", OK)


HANGS = '<root BTCPP_format="4"><BehaviorTree ID="Arm"><Hangs name="arm"/></BehaviorTree></root>'


def test_g8_a_leaf_that_keeps_the_tick_thread_is_named(stack_factory, tmp_path):
    path = tmp_path / "hangs.xml"
    path.write_text(HANGS)
    stack = stack_factory(program="examples/faulty_leaves")
    reader = Reader(stack.graph)
    reader.wait_value("ticks", "activity", "idle")
    stack.navigation.send(1.0, 0.0, tree=path)
    reader.wait("ticks", ERROR, "leaf `arm` keeps the tick thread")
    assert reader.part("goals").level == OK


def test_a_period_of_zero_is_none(ros_domain):
    graph = Graph(ros_domain)
    node = Executable("navtree", ros_domain, {"autostart_node": True, "diagnostics_period": 0.0})
    try:
        topics = lambda: dict(graph.node.get_topic_names_and_types())  # noqa: E731
        wait_for(lambda: "/behavior_tree_log" in topics(), 20, "the node's topics")
        assert "/diagnostics" not in topics()
    finally:
        node.close()
        graph.close()
