"""The resources of the node: processor, memory, threads, the durations of its ticks and of its start."""

import time
from dataclasses import dataclass

from nav2_msgs.action import FollowPath
from support.domains import free_domain

from . import fleet
from .c_nodes import TICK_LOOP, c_node
from .latencies import Latencies
from .process import memory, processor
from .system import DEFAULT_SERVERS, MeasuredSystem


@dataclass
class Effort:
    """Duration and number of the measurements."""

    window: float = 30.0
    windows: int = 3
    samples: int = 200
    #: Minimum number of halts by the condition.
    stops: int = 60
    #: Number of starts of the process.
    starts: int = 10
    #: Time in s until the node is idle except for its load. It searches for goals of an earlier run for 30 s.
    settling: float = 35.0


QUICK = Effort(window=5.0, windows=1, samples=40, stops=10, starts=3, settling=5.0)


@dataclass
class Usage:
    """Resources of the node with the default tree."""

    idle: float
    navigating: list
    by_thread: dict
    memory: object
    ticks: tuple


def usage(effort, say):
    """Resources under the load of the Nav2 measurement: a bond with the lifecycle manager at 10 Hz, /tf and /odom at 20 Hz,
    feedback at 20 Hz, ticks at 100 Hz."""
    with free_domain() as domain, MeasuredSystem(domain, DEFAULT_SERVERS) as system:
        goal = system.start(["follow_path"])
        time.sleep(effort.settling)
        windows = []
        for _ in range(effort.windows):
            say(f"navigating, {effort.window:.0f} s")
            system.manager.heartbeats()
            windows.append(processor(system.pid, effort.window))
            assert system.manager.heartbeats() > 5 * effort.window, "the node has no bond"
            # A full pipe would block the servers.
            system.collect(0.0)
            system.loop.run_once(0.0)
            assert not goal.done(), "the navigation ended during the measurement"
        held = memory(system.pid)
        system.client.cancel(goal)
        assert system.end(goal) == "CANCELED"
        time.sleep(1.0)
        say(f"idle, {effort.window:.0f} s")
        system.manager.heartbeats()
        idle, _ = processor(system.pid, effort.window)
        assert system.manager.heartbeats() > 5 * effort.window, "the node has no bond"
        return Usage(idle, [used for used, _ in windows], windows[-1][1], held, system.ticks())


def start_to_active(effort, say):
    """The time from the start of the process to the answer to the manager's last transition."""
    found = Latencies()
    say(f"{effort.starts} starts of the process")
    with free_domain() as domain, MeasuredSystem(domain, DEFAULT_SERVERS) as system:
        for _ in range(effort.starts):
            system.stop_node()
            found.values.append(1e3 * system.start_node())
    return found


def silent_ticks(effort, say):
    """Ticks of the default tree while no server answers."""
    servers = [(name, action, "silent") for name, action, _ in DEFAULT_SERVERS]
    say("servers that never answer")
    with free_domain() as domain, MeasuredSystem(domain, servers) as system:
        until = time.monotonic() + effort.window
        while time.monotonic() < until:
            goal = system.send()
            while not goal.done() and time.monotonic() < until:
                system.loop.run_once(0.02)
        return system.ticks()


def empty_node(domain):
    """Memory of an empty node in C, on the same rcl and middleware."""
    with c_node(domain, "empty_node") as pid:
        time.sleep(1.0)
        return memory(pid)


def further_empty_robot(domain, say):
    """Resident memory in MiB of each further node in C with as many entities as a robot of navtree."""
    entities = fleet.entities(domain)
    say("a robot has {} publishers, {} subscriptions, {} services, {} clients".format(*entities))
    resident = []
    for nodes in (1, 21):
        with c_node(domain, "empty_robots", ("std_msgs", "std_srvs"), (*entities, nodes)) as pid:
            time.sleep(1.0)
            resident.append(memory(pid).resident)
    return (resident[1] - resident[0]) / 20


def tick_loops(domain, effort, say):
    """Minimum load of ticks at 100 Hz, and of no ticks: a node in C with the topics of a navigation, which ignores the messages.
    It publishes at 10 Hz: the feedback, or without ticks the heartbeat of a bond. Returns the load by the rate of the loop."""
    servers = [("follow_path", "FollowPath", "stay")]
    with MeasuredSystem(domain, servers, program=None) as system:
        system.until(system.follow_path.is_ready, 20.0, "the server")
        goal = system.follow_path.send(FollowPath.Goal())
        system.until(lambda: goal.accepted, 10.0, "answer of the server")
        found = {}
        for rate in (100, 10):
            with c_node(domain, *TICK_LOOP, [rate]) as pid:
                time.sleep(effort.settling)
                say(f"a loop in C with the same topics at {rate} Hz, {effort.window:.0f} s")
                found[rate] = processor(pid, effort.window)[0]
        return found
