"""`use_sim_time`: changed at run time, set before a clock is published, and with a clock that pauses."""

import re
import threading
import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from support.diagnostics import Reader, part, value
from support.fixtures import limited_drive
from support.graph import wait_for

#: The first stamp of a recording, decades after zero.
RECORDED = 1_700_000_000.0


class SimulatedClock:
    """Publishes /clock every `period` seconds, from `start` on at real speed, until it is paused."""

    def __init__(self, graph, start, period=0.005):
        self._publisher = graph.node.create_publisher(Clock, "/clock", 10)
        self._start, self._period = start, period
        self._paused = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        began = time.monotonic()
        while not self._paused.wait(self._period):
            now = self._start + time.monotonic() - began
            message = Clock()
            message.clock.sec, message.clock.nanosec = int(now), int(now % 1.0 * 1e9)
            self._publisher.publish(message)

    def set_back(self, seconds):
        self._start -= seconds

    def pause(self):
        self._paused.set()
        self._thread.join()


@pytest.fixture
def simulated_clock():
    """Starts clocks: ``simulated_clock(graph, start, period)``."""
    started = []

    def begin(graph, start, *period):
        started.append(SimulatedClock(graph, start, *period))
        return started[-1]

    yield begin
    for clock in started:
        clock.pause()


def seconds(feedback):
    return feedback.navigation_time.sec + feedback.navigation_time.nanosec * 1e-9


@pytest.mark.parametrize("start", [1.0, RECORDED])
def test_g10_a_running_tree_continues_when_use_sim_time_changes(stack, simulated_clock, start):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    simulated_clock(stack.graph, start)

    def switch(simulated):
        answer = stack.set_parameter(Parameter("use_sim_time", Parameter.Type.BOOL, simulated))
        assert answer.successful, answer.reason

    goal = stack.navigation.send(2.0, 0.0)
    # A tree whose time jumped back to the start would stop for this time.
    wait_for(lambda: goal.feedback and seconds(goal.feedback[-1]) > 4.0, 20.0, "four seconds of navigation")
    for simulated in (True, False, True):
        switch(simulated)
        stack.wait_for_ticks(goal)
    times = [seconds(feedback) for feedback in goal.feedback]
    passed = time.monotonic() - goal.sent
    steps = [after - before for before, after in zip(times, times[1:], strict=False)]
    assert min(steps) >= 0.0
    assert times[-1] < passed + 0.5, "time jumped: the simulated clock has real speed"
    assert len(controller.seen("requested")) == 1
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_g10_a_goal_that_waits_for_the_clock_is_logged(stack_factory, simulated_clock, tmp_path):
    path = limited_drive(tmp_path, 60000)
    parameters = {"use_sim_time": True, "clock_timeout": 120.0, "default_nav_to_pose_bt_xml": path}
    stack = stack_factory(parameters, settle=False)
    goal = stack.navigation.send(2.0, 0.0)
    expected = "/clock gives no time: goals wait for its first message after time 0"
    stack.node.wait_for_line(expected)
    # A client can cancel while its goal waits.
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    reader = Reader(stack.graph)
    goal = stack.navigation.send(2.0, 0.0)
    reader.wait_value("ticks", "activity", "waiting for the next tick")
    assert {value(message, "ticks", "ticks in total") for message in reader.more(1)} == {"0"}, "ticked without a clock"
    assert not stack.robot.planner.seen("requested"), "ticked without a clock"
    assert not goal.done()
    simulated_clock(stack.graph, RECORDED)
    status, result = goal.result()
    assert status == "SUCCEEDED", f"{result.error_msg}\n{stack.node.output}"
    assert sum(expected in line for line in stack.node.lines) == 1, "logged more than once"
    missed = [int(count) for count in re.findall(r"(\d+) of \d+ ticks missed", stack.node.output)]
    assert sum(missed) < 1_000_000, "the years before the recording were counted"


def test_g6_a_goal_is_aborted_after_clock_timeout(stack_factory):
    stack = stack_factory({"use_sim_time": True, "clock_timeout": 1.0}, settle=False)
    status, result = stack.navigation.send(2.0, 0.0).result()
    reason = "no message with a time after 0 has arrived on /clock for 1s"
    assert (status, result.error_code) == ("ABORTED", 9000)
    assert reason in result.error_msg
    stack.node.wait_for_line(f"goals are aborted: use_sim_time is set, but {reason}")
    assert not stack.robot.planner.seen("requested")


def test_g10_slow_clock_is_logged_once_and_causes_no_missed_ticks(stack_factory, simulated_clock, tmp_path):
    stack = stack_factory({"use_sim_time": True}, settle=False)
    simulated_clock(stack.graph, 1.0, 0.025)
    stack.settle(tmp_path)
    stack.robot.controller.behaviour.duration = None
    reader = Reader(stack.graph)
    goal = stack.navigation.send(2.0, 0.0)
    ticks = lambda: int(value(reader.latest, "ticks", "ticks in total"))  # noqa: E731
    reader.wait_value("ticks", "activity", "ticking")
    wait_for(lambda: ticks() > 150, 30, "150 ticks")
    # With a tick every 10 ms there would be more misses than ticks.
    assert int(value(reader.latest, "ticks", "missed in total")) < ticks() / 5
    assert int(value(reader.latest, "ticks", "skipped by /clock recently")) > ticks() / 2
    assert DiagnosticStatus.ERROR not in {part(message, "ticks").level for message in reader.messages}
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    expected = re.compile(r"WARN.*/clock advances every \d+ms, slower than the tick period of 10ms")
    assert sum(bool(expected.search(line)) for line in stack.node.lines) == 1, stack.node.output


def test_g3_clients_get_results_while_the_clock_is_paused(stack_factory, simulated_clock, tmp_path):
    stack = stack_factory({"use_sim_time": True, "stop_timeout": 500}, settle=False)
    clock = simulated_clock(stack.graph, 1.0)
    stack.settle(tmp_path)
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    clock.pause()
    goal.cancel()
    status, result = goal.result()
    assert (status, result.error_code) == ("CANCELED", 9003)
    assert "follow_path" in result.error_msg
    # The node waits at most half a second for a transform.
    status, result = stack.navigation.send(1.0, 0.0, frame="nowhere").result()
    assert (status, result.error_code) == ("ABORTED", 9002)
    controller.behaviour.accept_cancel = True
    wait_for(lambda: stack.robot.executing() == 0, 10, "the goal to be cancelled after all")
