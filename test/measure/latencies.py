"""The latencies of the node, from one time stamp of the middleware to another."""

import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from support.domains import free_domain
from support.graph import wait_for

from .c_nodes import RELAY, c_node
from .system import DEFAULT_SERVERS, MeasuredSystem

#: The node's `default_server_timeout` in ms: a busy machine may need longer than the default.
SERVER_TIMEOUT = 10000

#: Navigations of the first seconds do not count. The first goal comes before the node has received transforms. And the peers
#: still discover each other: the middleware of a peer opens a port in shared memory for each other peer, once, and sleeps for
#: a third of a second while it holds the lock of its writers (Fast DDS 2.14, `SharedMemGlobal::open_port_internal`). The
#: cancel of a client then leaves 333 ms later. The node has no port in shared memory.
WARM_UP = 5.0


@dataclass
class Latencies:
    """Latencies in ms."""

    values: list = field(default_factory=list)

    def add(self, since, at):
        """Adds a latency between two times in ns."""
        self.values.append((at - since) / 1e6)

    def quantile(self, share):
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def write_tree(folder, name, body):
    """Writes a file with one tree, and returns its path."""
    path = Path(folder) / f"{name}.xml"
    path.write_text(f'<root BTCPP_format="4"><BehaviorTree ID="{name}">{body}</BehaviorTree></root>')
    return path


def _leaves(count):
    return "".join(f'<FollowPath path="{{path}}" server_name="follow_path_{i}"/>' for i in range(count))


def _servers(count, mode):
    return [(f"follow_path_{i}", "FollowPath", mode) for i in range(count)]


def condition_to_cancel(leaves, on_event, effort, say):
    """The time from the message that a condition reads to each cancel of the leaves under it."""
    found = Latencies()
    say(f"condition to cancel, {leaves} leaves, {_setting(on_event)}")
    body = (
        '<ReactiveSequence><Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>'
        f'<Parallel success_count="{leaves}" failure_count="{leaves}">{_leaves(leaves)}</Parallel></ReactiveSequence>'
    )
    with tempfile.TemporaryDirectory() as folder, free_domain() as domain:
        tree = write_tree(folder, "Guarded", body)
        servers = _servers(leaves, "stay")
        with MeasuredSystem(domain, servers, tree, _parameters(on_event)) as system:
            wait_for(system.battery.get_subscription_count, 20.0, "the node to subscribe to the battery topic")
            while len(found.values) < effort.samples or len(found.values) < leaves * effort.stops:
                system.events.clear()
                system.charge(0.9)
                time.sleep(0.02)
                goal = system.start([name for name, _, _ in servers])
                time.sleep(random.uniform(0.02, 0.04))
                published = time.time_ns()
                system.charge(0.1)
                assert system.end(goal) == "ABORTED"
                cancels = system.cancels(leaves, published)
                assert len(cancels) == leaves, f"{len(cancels)} cancels for {leaves} leaves"
                for at in cancels:
                    found.add(published, at)
    return found


def result_to_goal(leaves, on_event, effort, say):
    """The time from the write of a result to the write of the next leaf's goal."""
    wanted = max(effort.samples, 4 * leaves)
    say(f"result to next goal, {leaves} leaves, {_setting(on_event)}")
    body = f'<Repeat num_cycles="-1"><Sequence>{_leaves(leaves)}</Sequence></Repeat>'
    with tempfile.TemporaryDirectory() as folder, free_domain() as domain:
        tree = write_tree(folder, "Stepping", body)
        servers = _servers(leaves, "step")
        with MeasuredSystem(domain, servers, tree, _parameters(on_event)) as system:
            names = [name for name, _, _ in servers]
            for _ in range(10):
                # Use every server once, so that all endpoints are matched.
                system.events.clear()
                goal = system.start(names)
                system.events.clear()
                steps = []
                while len(steps) < wanted and not goal.done():
                    system.loop.run_once(0.0)
                    system.collect(0.1)
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


@dataclass
class Navigation:
    """The latencies of one navigation with the default tree, in the order of its events."""

    #: From the client's goal to the planner's.
    goal: Latencies = field(default_factory=Latencies)
    #: From the planner's result to the controller's goal.
    plan: Latencies = field(default_factory=Latencies)
    #: From the client's cancel to the cancel at the controller.
    cancel: Latencies = field(default_factory=Latencies)
    #: From the client's cancel until the client has the result, after the controller's.
    canceled: Latencies = field(default_factory=Latencies)
    #: From the controller's result until the client has that of the navigation.
    succeeded: Latencies = field(default_factory=Latencies)


def navigation(on_event, effort, say):
    """The latencies of navigations with the default tree: first of cancelled ones, then of ones that succeed."""
    found, parameters = Navigation(), {"tick_on_event": on_event}
    say(f"navigations that are cancelled, {_setting(on_event)}")
    with free_domain() as domain, MeasuredSystem(domain, _default_servers("stay"), None, parameters) as system:
        for counts in _rounds(found.goal, effort):
            system.events.clear()
            goal = system.start(["follow_path"])
            time.sleep(random.uniform(0.05, 0.07))
            cancelled = system.client.cancel(goal)
            assert system.end(goal) == "CANCELED"
            assert system.cancels(1, cancelled), "a cancel did not reach the server"
            planned = system.first("result", "compute_path_to_pose", goal.sent)
            stopped = system.first("result", "follow_path", cancelled)
            assert stopped < goal.ended, "the client has its result before the robot has stopped"
            if not counts:
                continue
            found.goal.add(goal.sent, system.first("goal", "compute_path_to_pose", goal.sent))
            found.plan.add(planned, system.first("goal", "follow_path", planned))
            found.cancel.add(cancelled, system.first("cancel", "follow_path", cancelled))
            found.canceled.add(cancelled, goal.ended)
    say(f"navigations that succeed, {_setting(on_event)}")
    with free_domain() as domain, MeasuredSystem(domain, _default_servers("step"), None, parameters) as system:
        for counts in _rounds(found.succeeded, effort):
            system.events.clear()
            goal = system.start(["follow_path"])
            assert system.end(goal) == "SUCCEEDED"
            if counts:
                found.succeeded.add(system.first("result", "follow_path", goal.sent), goal.ended)
    return found


def relay(effort, say):
    """The latencies of a relay in C that passes goals and cancels on: those of `Navigation` that it has."""
    found = Navigation()
    say("a relay in C")
    with free_domain() as domain, MeasuredSystem(domain, _default_servers("stay"), program=None) as system:
        with c_node(domain, *RELAY):
            system.until(system.client.is_ready, 20.0, "the relay")
            for counts in _rounds(found.goal, effort):
                system.events.clear()
                goal = system.send()
                time.sleep(random.uniform(0.05, 0.07))
                cancelled = system.client.cancel(goal)
                planned = system.first("goal", "compute_path_to_pose", goal.sent)
                stopped = system.first("cancel", "follow_path", cancelled)
                if counts:
                    found.goal.add(goal.sent, planned)
                    found.cancel.add(cancelled, stopped)
    return found


def _rounds(found, effort):
    """Rounds until the samples are complete. Yields whether the round counts."""
    warm = time.monotonic() + WARM_UP
    while len(found.values) < effort.samples:
        yield time.monotonic() >= warm


def _default_servers(controller):
    """The servers of the default tree. The planner ends at a random time between two ticks; the mode of the controller."""
    modes = {"compute_path_to_pose": "step", "follow_path": controller}
    return [(name, action, modes.get(name, mode)) for name, action, mode in DEFAULT_SERVERS]


def _parameters(on_event):
    return {"default_server_timeout": SERVER_TIMEOUT, "tick_on_event": on_event}


def _setting(on_event):
    return f"tick_on_event {str(on_event).lower()}"
