"""The node under measurement, with the processes of servers, robot and client."""

import contextlib
import multiprocessing
import re
import time

from nav2_msgs.action import NavigateToPose
from rclpy.action import ActionClient
from sensor_msgs.msg import BatteryState
from support.client import NAMES, pose
from support.executable import Executable
from support.graph import Graph, wait_for

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

    def __init__(self, domain, servers, tree=None, patience=None, program="navtree"):
        self.domain, self.tree, self._closers = domain, tree, contextlib.ExitStack()
        self.events = []
        with contextlib.ExitStack() as closers:
            self.graph = Graph(domain, "measuring_client")
            closers.callback(self.graph.close)
            self.battery = self.graph.node.create_publisher(BatteryState, "/battery_status", 10)
            self.client = ActionClient(self.graph.node, NavigateToPose, "navigate_to_pose")
            self.peers = [Peer(serve, domain, servers), Peer(drive, domain)]
            for peer in self.peers:
                closers.callback(peer.close)
            parameters = {"autostart_node": True}
            if tree:
                parameters["default_nav_to_pose_bt_xml"] = str(tree)
            if patience:
                parameters["default_server_timeout"] = patience
            if program:
                self.node = Executable(program, domain, parameters)
                closers.callback(self.node.close)
                wait_for(self.client.server_is_ready, 30.0, "the navigate action")
            self._closers = closers.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._closers.close()

    @property
    def pid(self):
        return self.node.process.pid

    def send(self):
        """Sends a navigation goal and returns its accepted handle."""
        future = self.client.send_goal_async(NavigateToPose.Goal(pose=pose(3.0, 0.0)))
        handle = self.graph.result(future, 10.0, "answer to the goal request")
        assert handle.accepted, "the navigation was rejected"
        return handle

    def start(self, names, tries=20):
        """Starts a navigation with a goal on each of the servers; retries if necessary."""
        for _ in range(tries):
            try:
                handle = self.send()
            except AssertionError:
                # The first answer may be lost: the middleware matches endpoints one after another.
                continue
            result = handle.get_result_async()
            deadline = time.monotonic() + 4.0
            while time.monotonic() < deadline and not result.done():
                self.collect(0.005)
                if {name for kind, name, _ in self.events if kind == "asked"} >= set(names):
                    return handle, result
            if not result.done():
                handle.cancel_goal_async()
                wait_for(result.done, 10.0, "result of a navigation that did not start")
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

    def end(self, result, seconds=15.0):
        """Waits for the end of a navigation. Returns its status."""
        deadline = time.monotonic() + seconds
        while not result.done():
            assert time.monotonic() < deadline, "a navigation did not end"
            self.collect(0.005)
        self.collect(0.0)
        return NAMES.get(result.result().status)

    def charge(self, level):
        self.battery.publish(BatteryState(percentage=level))

    def ticks(self):
        """Ends the node, and reads the tick statistics from its log: count, missed, and three durations in ms."""
        self.node.interrupt()
        self.node.wait(10.0)
        number = r"([\d.]+)(ns|µs|ms|s)"
        found = re.search(
            rf"(\d+) ticks, (\d+) missed; they took {number} in the median, {number} at the 99th percentile, "
            rf"{number} at most",
            self.node.output,
        )
        assert found, f"the node did not log its tick statistics:\n{self.node.output[-3000:]}"
        scale = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}
        values = found.groups()
        times = [float(n) * scale[unit] for n, unit in zip(values[2::2], values[3::2])]
        return int(values[0]), int(values[1]), *times
