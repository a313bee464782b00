"""The node under measurement, with the processes of servers, robot and client."""

import contextlib
import multiprocessing
import re
import time

from nav2_msgs.action import FollowPath, NavigateToPose
from sensor_msgs.msg import BatteryState
from support.client import NAMES, pose
from support.executable import Executable
from support.graph import wait_for
from support.raw_action_server import EventLoop

from .client import MeasuringClient
from .manager import Manager
from .robot import drive
from .servers import serve

_spawn = multiprocessing.get_context("spawn")

#: Names, actions and modes of the servers of the default trees. All of them: Nav2 loads no tree without its servers.
DEFAULT_SERVERS = [
    ("compute_path_to_pose", "ComputePathToPose", "plan"),
    ("compute_path_through_poses", "ComputePathThroughPoses", "plan"),
    ("follow_path", "FollowPath", "stay"),
    ("spin", "Spin", "stay"),
    ("wait", "Wait", "stay"),
    ("backup", "BackUp", "stay"),
]


class Peer:
    """A child process with a pipe."""

    def __init__(self, target, *arguments):
        self.pipe, other = _spawn.Pipe()
        self._process = _spawn.Process(target=target, args=(other, *arguments), daemon=True)
        self._process.start()
        other.close()
        assert self.pipe.poll(60.0) and self.pipe.recv()[0] == "up", f"{target.__name__} did not start"

    def close(self):
        self.pipe.close()
        self._process.join(5.0)
        if self._process.is_alive():
            self._process.kill()


class MeasuredSystem:
    """A context manager: all processes end with it."""

    def __init__(self, domain, servers, tree=None, parameters=None, program="navtree"):
        self._domain, self._closers = domain, contextlib.ExitStack()
        self.events, self.node = [], None
        self._parameters = dict(parameters or {})
        if tree:
            self._parameters["default_nav_to_pose_bt_xml"] = str(tree)
        with contextlib.ExitStack() as closers:
            self.loop = EventLoop(domain, "measuring_client")
            closers.callback(self.loop.close)
            self.battery = self.loop.node.create_publisher(BatteryState, "/battery_status", 10)
            self.client = MeasuringClient(self.loop, NavigateToPose, "navigate_to_pose")
            # The action of the loop in C, which has no node.
            self.follow_path = MeasuringClient(self.loop, FollowPath, "follow_path") if program is None else None
            self.manager = Manager(self.loop)
            self.peers = [Peer(serve, domain, servers), Peer(drive, domain)]
            for peer in self.peers:
                closers.callback(peer.close)
            closers.callback(self._close_node)
            if program:
                self.start_node(program)
                self.until(self.client.is_ready, 30.0, "the navigate action")
            self._closers = closers.pop_all()

    def start_node(self, program="navtree"):
        """Starts the node and activates it. Returns the seconds from the start of its process to the end of the activation."""
        started = time.monotonic()
        self.node = Executable(program, self._domain, self._parameters)
        self.manager.activate()
        return time.monotonic() - started

    def stop_node(self):
        """Ends the node as Ctrl-C does."""
        self.node.interrupt()
        self.node.wait(10.0)
        self.manager.wait_for_absence()

    def _close_node(self):
        if self.node:
            self.node.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closers.close()

    @property
    def pid(self):
        return self.node.process.pid

    def until(self, condition, seconds, what):
        """Waits for a condition, and handles responses meanwhile."""
        return wait_for(condition, seconds, what, work=lambda: self.loop.run_once(0.002))

    def send(self):
        """Sends a navigation goal and returns it when it is accepted."""
        goal = self.client.send(NavigateToPose.Goal(pose=pose(3.0, 0.0)))
        self.until(lambda: goal.accepted is not None, 3.0, "answer to the goal request")
        assert goal.accepted, "the navigation was rejected"
        return goal

    def start(self, names, tries=20):
        """Starts a navigation with a goal on each of the servers, and returns it; retries if necessary."""
        for _ in range(tries):
            try:
                goal = self.send()
            except AssertionError:
                # The first answer may be lost: the middleware matches endpoints one after another.
                self.events.clear()
                continue
            deadline = time.monotonic() + 4.0
            while time.monotonic() < deadline:
                self.loop.run_once(0.001)
                # Read this before the events: it is then later than they are.
                is_done = goal.done()
                self.collect(0.0)
                if {name for kind, name, _ in self.events if kind == "asked"} >= set(names):
                    return goal
                if is_done:
                    break
            if not goal.done():
                self.client.cancel(goal)
                self.until(goal.done, 10.0, "result of a navigation that did not start")
            self.collect(0.3)
            self.events.clear()
        raise AssertionError(f"no navigation started:\n{self.node.output[-3000:]}")

    def collect(self, seconds):
        """Reads the events of the servers. Waits for the first one at most for a time."""
        pipe = self.peers[0].pipe
        while pipe.poll(seconds):
            self.events.append(pipe.recv())
            seconds = 0.0

    def cancels(self, count, since, seconds=5.0):
        """The write times of the first cancel for each server. Returns those found in time."""
        deadline = time.monotonic() + seconds
        while True:
            # A cancel without an early answer is sent again.
            first = {}
            for kind, name, at in self.events:
                if kind == "cancel" and at >= since:
                    first.setdefault(name, at)
            if len(first) >= count or time.monotonic() > deadline:
                return list(first.values())
            self.collect(0.01)

    def first(self, kind, name, since, seconds=5.0):
        """The time of the first event of a kind at a server, at this time or later."""
        deadline = time.monotonic() + seconds
        while True:
            for event, server, at in self.events:
                if (event, server) == (kind, name) and at >= since:
                    return at
            assert time.monotonic() < deadline, f"no {kind} at {name}"
            self.collect(0.01)

    def end(self, goal, seconds=15.0):
        """Waits for the end of a navigation. Returns its status."""
        self.until(goal.done, seconds, "the end of a navigation")
        self.collect(0.0)
        return NAMES.get(goal.status)

    def charge(self, level):
        self.battery.publish(BatteryState(percentage=level))

    def ticks(self):
        """Ends the node, and reads the tick statistics from its log."""
        self.node.interrupt()
        self.node.wait(10.0)
        found = list(tick_statistics(self.node.output))
        assert found, f"the node did not log its tick statistics:\n{self.node.output[-3000:]}"
        return found[-1]


def tick_statistics(output):
    """What a navigator logs about its ticks at its end: count, missed, and three durations in ms. One entry for each."""
    number = r"([\d.]+)(ns|µs|ms|s)"
    found = re.findall(
        rf"(\d+) ticks, (\d+) missed; they took {number} in the median, {number} at the 99th percentile, {number} at most",
        output,
    )
    scale = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
    for values in found:
        times = [float(n) * scale[unit] for n, unit in zip(values[2::2], values[3::2])]
        yield (int(values[0]), int(values[1]), *times)
