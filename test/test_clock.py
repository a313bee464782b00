"""`use_sim_time` as people use it: switched at run time, set before anything plays, and with a simulation that pauses."""

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

#: A recording's first stamp: decades after zero.
RECORDED = 1_700_000_000.0


class Simulation:
    """Says on /clock what time it is: from `start` on, every `period` seconds, as fast as here, until it stands still."""

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
def simulate():
    """Starts simulations: ``simulate(graph, start, period)``."""
    started = []

    def begin(graph, start, *period):
        started.append(Simulation(graph, start, *period))
        return started[-1]

    yield begin
    for simulation in started:
        simulation.pause()


def seconds(feedback):
    return feedback.navigation_time.sec + feedback.navigation_time.nanosec * 1e-9


@pytest.mark.parametrize("start", [1.0, RECORDED])
def test_g10_a_tree_goes_on_when_the_clock_is_switched_under_it(stack, simulate, start):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    simulate(stack.graph, start)

    def switch(simulated):
        answer = stack.set_parameter(Parameter("use_sim_time", Parameter.Type.BOOL, simulated))
        assert answer.successful, answer.reason

    goal = stack.navigation.send(2.0, 0.0)
    # So long a tree would stand still whose time went back to the beginning.
    wait_for(lambda: goal.feedback and seconds(goal.feedback[-1]) > 4.0, 20.0, "four seconds of navigation")
    for simulated in (True, False, True):
        switch(simulated)
        stack.goes_on(goal)
    times = [seconds(feedback) for feedback in goal.feedback]
    passed = time.monotonic() - goal.sent
    steps = [after - before for before, after in zip(times, times[1:], strict=False)]
    assert min(steps) >= 0.0
    assert times[-1] < passed + 0.5, "a leap: the simulation is as fast as time goes by"
    assert len(controller.seen("requested")) == 1
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_g10_a_goal_waits_for_the_clock_to_start_and_is_told_so(stack_factory, simulate, tmp_path):
    path = limited_drive(tmp_path, 60000)
    parameters = {"use_sim_time": True, "clock_timeout": 120.0, "default_nav_to_pose_bt_xml": path}
    stack = stack_factory(parameters, settle=False)
    goal = stack.navigation.send(2.0, 0.0)
    told = "no message has arrived on /clock: goals wait for the first one"
    stack.node.wait_for_line(told)
    # One that has changed its mind need not wait.
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    reader = Reader(stack.graph)
    goal = stack.navigation.send(2.0, 0.0)
    reader.wait_value("ticks", "activity", "ticking")
    assert {value(message, "ticks", "ticks in total") for message in reader.more(1)} == {"0"}, "ticked without a clock"
    assert not stack.robot.planner.seen("requested"), "ticked without a clock"
    assert not goal.done()
    simulate(stack.graph, RECORDED)
    status, result = goal.result()
    assert status == "SUCCEEDED", f"{result.error_msg}\n{stack.node.output}"
    assert sum(told in line for line in stack.node.lines) == 1, "said once"
    missed = [int(count) for count in re.findall(r"(\d+) of \d+ ticks missed", stack.node.output)]
    assert sum(missed) < 1_000_000, "the years before the recording were counted"


def test_g6_a_goal_does_not_wait_for_the_clock_for_ever(stack_factory):
    stack = stack_factory({"use_sim_time": True, "clock_timeout": 1.0}, settle=False)
    status, result = stack.navigation.send(2.0, 0.0).result()
    reason = "no message has arrived on /clock for 1s"
    assert (status, result.error_code) == ("ABORTED", 9000)
    assert reason in result.error_msg
    stack.node.wait_for_line(f"goals are aborted: use_sim_time is set, but {reason}")
    assert not stack.robot.planner.seen("requested")


def test_g10_a_clock_slower_than_the_ticks_is_told_once_and_misses_none(stack_factory, simulate, tmp_path):
    stack = stack_factory({"use_sim_time": True}, settle=False)
    simulate(stack.graph, 1.0, 0.025)
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
    told = re.compile(r"WARN.*/clock advances every \d+ms, slower than the tick period of 10ms")
    assert sum(bool(told.search(line)) for line in stack.node.lines) == 1, stack.node.output


def test_g3_a_paused_simulation_keeps_no_client_waiting(stack_factory, simulate, tmp_path):
    stack = stack_factory({"use_sim_time": True, "stop_timeout": 500}, settle=False)
    simulation = simulate(stack.graph, 1.0)
    stack.settle(tmp_path)
    controller = stack.robot.controller
    controller.behaviour.duration, controller.behaviour.accept_cancel = None, False
    goal = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    simulation.pause()
    goal.cancel()
    status, result = goal.result()
    assert (status, result.error_code) == ("CANCELED", 9003)
    assert "follow_path" in result.error_msg
    # Half a second is what it may wait for a transform.
    status, result = stack.navigation.send(1.0, 0.0, frame="nowhere").result()
    assert (status, result.error_code) == ("ABORTED", 9002)
    controller.behaviour.accept_cancel = True
    wait_for(lambda: stack.robot.executing() == 0, 10, "the goal to be cancelled after all")
