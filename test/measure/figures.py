"""The measurements: resources of the node, durations of its ticks, latencies."""

import contextlib
import os
import random
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from nav2_msgs.action import FollowPath
from rclpy.action import ActionClient
from support.domains import free_domain
from support.graph import wait_for

from .process import memory, processor
from .system import DEFAULT_SERVERS, MeasuredSystem

#: Time in s until the node searches for servers in its normal period, and its bond is idle.
SETTLING = 12.0


@dataclass
class Effort:
    """Duration and number of the measurements."""

    window: float = 30.0
    windows: int = 3
    samples: int = 200
    #: Minimum number of halts by the condition.
    stops: int = 60


QUICK = Effort(window=5.0, windows=1, samples=40, stops=10)


@dataclass
class Usage:
    """Resources of the node with the default tree."""

    idle: float
    navigating: list
    by_thread: dict
    memory: object
    ticks: tuple


def usage(effort, say):
    """Resources under the load of the Nav2 measurement: /tf and /odom at 20 Hz, feedback at 20 Hz, ticks at 100 Hz."""
    with free_domain() as domain, MeasuredSystem(domain, DEFAULT_SERVERS) as system:
        _, result = system.start(["follow_path"])
        time.sleep(SETTLING)
        windows = []
        for _ in range(effort.windows):
            say(f"navigating, {effort.window:.0f} s")
            windows.append(processor(system.pid, effort.window))
            # A full pipe would block the servers.
            system.collect(0.0)
            assert not result.done(), "the navigation ended during the measurement"
        held = memory(system.pid)
        system.events.clear()
        _cancel_all(system, result)
        time.sleep(1.0)
        say(f"idle, {effort.window:.0f} s")
        idle, _ = processor(system.pid, effort.window)
        return Usage(idle, [used for used, _ in windows], windows[-1][1], held, system.ticks())


def _cancel_all(system, result):
    """Ends a navigation without its handle: preempts it and cancels the new one."""
    handle = system.send()
    wait_for(result.done, 10.0, "the first navigation to be replaced")
    second = handle.get_result_async()
    handle.cancel_goal_async()
    assert system.end(second) == "CANCELED"


def silent_ticks(effort, say):
    """Ticks of the default tree while no server answers."""
    servers = [(name, action, "silent") for name, action, _ in DEFAULT_SERVERS]
    say("servers that never answer")
    with free_domain() as domain, MeasuredSystem(domain, servers) as system:
        until = time.monotonic() + effort.window
        while time.monotonic() < until:
            handle = system.send()
            result = handle.get_result_async()
            while not result.done() and time.monotonic() < until:
                time.sleep(0.02)
        return system.ticks()


@dataclass
class Latencies:
    """Latencies in ms."""

    values: list = field(default_factory=list)

    def quantile(self, share):
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _tree(folder, name, body):
    path = Path(folder) / f"{name}.xml"
    path.write_text(f'<root BTCPP_format="4"><BehaviorTree ID="{name}">{body}</BehaviorTree></root>')
    return path


def _leaves(count):
    return "".join(f'<FollowPath path="{{path}}" server_name="follow_path_{i}"/>' for i in range(count))


def _servers(count, mode):
    return [(f"follow_path_{i}", "FollowPath", mode) for i in range(count)]


def condition_to_cancel(leaves, effort, say):
    """The time from the message that a condition reads to each cancel of the leaves under it."""
    found = Latencies()
    say(f"condition to cancel, {leaves} leaves")
    body = (
        '<ReactiveSequence><Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>'
        f'<Parallel success_count="{leaves}" failure_count="{leaves}">{_leaves(leaves)}</Parallel></ReactiveSequence>'
    )
    with tempfile.TemporaryDirectory() as folder, free_domain() as domain:
        tree = _tree(folder, "Guarded", body)
        servers = _servers(leaves, "stay")
        with MeasuredSystem(domain, servers, tree, patience=10000) as system:
            wait_for(system.battery.get_subscription_count, 20.0, "the node to subscribe to the battery topic")
            while len(found.values) < effort.samples or len(found.values) < leaves * effort.stops:
                system.events.clear()
                system.charge(0.9)
                time.sleep(0.02)
                _, result = system.start([name for name, _, _ in servers])
                time.sleep(random.uniform(0.02, 0.04))
                published = time.time_ns()
                system.charge(0.1)
                assert system.end(result) == "ABORTED"
                cancels = system.cancels(leaves, published)
                assert len(cancels) == leaves, f"{len(cancels)} cancels for {leaves} leaves"
                found.values += [(at - published) / 1e6 for at in cancels]
    return found


def result_to_goal(leaves, effort, say):
    """The time from the write of a result to the write of the next leaf's goal."""
    wanted = max(effort.samples, 4 * leaves)
    say(f"result to next goal, {leaves} leaves")
    body = f'<Repeat num_cycles="-1"><Sequence>{_leaves(leaves)}</Sequence></Repeat>'
    with tempfile.TemporaryDirectory() as folder, free_domain() as domain:
        tree = _tree(folder, "Stepping", body)
        servers = _servers(leaves, "step")
        with MeasuredSystem(domain, servers, tree, patience=10000) as system:
            names = [name for name, _, _ in servers]
            for _ in range(10):
                # Use every server once, so that all endpoints are matched.
                system.events.clear()
                _, result = system.start(names)
                system.events.clear()
                steps = []
                while len(steps) < wanted and not result.done():
                    system.collect(1.0)
                    steps = list(_steps(system.events))
                if len(steps) >= wanted:
                    return Latencies(steps)
            raise AssertionError(f"the navigations ended too early:\n{system.node.output[-3000:]}")


def _steps(events):
    ended = None
    for kind, _, at in events:
        if kind == "result":
            ended = at
        elif kind == "goal" and ended is not None:
            yield (at - ended) / 1e6
            ended = None


def client_to_cancel(effort, say):
    """The time from a client's cancel request to the cancel at the server of the running leaf, with the default tree."""
    found = Latencies()
    say("client's cancel to the server's")
    with free_domain() as domain, MeasuredSystem(domain, DEFAULT_SERVERS) as system:
        while len(found.values) < effort.samples:
            system.events.clear()
            handle, result = system.start(["follow_path"])
            time.sleep(random.uniform(0.05, 0.07))
            sent = time.time_ns()
            handle.cancel_goal_async()
            assert system.end(result) == "CANCELED"
            cancels = system.cancels(1, sent)
            assert cancels, "a cancel did not reach the server"
            found.values.append((cancels[0] - sent) / 1e6)
    return found


@contextlib.contextmanager
def _c_node(name, packages=()):
    """A running node in C."""
    from .c_nodes import build

    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([str(build(folder, name, packages))], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout.readline().strip() == "up", f"the node of {name}.c did not start"
            yield process.pid
        finally:
            process.kill()
            process.wait()


def empty_node():
    """Memory of an empty node in C, on the same rcl and middleware."""
    with _c_node("empty_node") as pid:
        time.sleep(1.0)
        return memory(pid)


def tick_loop(domain, effort, say):
    """Minimum load of ticks at 100 Hz: a node in C with the topics of a navigation, which ignores the messages."""
    servers = [("follow_path", "FollowPath", "stay")]
    with MeasuredSystem(domain, servers, program=None) as system:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        follow = ActionClient(system.graph.node, FollowPath, "follow_path")
        assert follow.wait_for_server(20.0)
        handle = system.graph.result(follow.send_goal_async(FollowPath.Goal()), 10.0, "answer of the server")
        handle.get_result_async()
        with _c_node("tick_loop", ("tf2_msgs", "nav_msgs", "nav2_msgs")) as pid:
            time.sleep(SETTLING)
            say(f"a loop in C with the same topics, {effort.window:.0f} s")
            return processor(pid, effort.window)[0]
