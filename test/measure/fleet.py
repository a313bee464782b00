"""Many robots: their navigators in one navtree, their servers in one nav_sim."""

import contextlib
import subprocess
import tempfile
import time
from dataclasses import dataclass

from nav2_msgs.action import NavigateToPose
from rclpy.node import NodeNameNonExistentError
from support.client import pose
from support.domains import free_domain
from support.executable import Executable, find
from support.graph import wait_for
from support.raw_action_server import EventLoop

from .c_nodes import DRIVING_ROBOTS, c_node
from .latencies import SERVER_TIMEOUT, write_tree
from .process import memory, processor, processors
from .system import Peer, tick_statistics

COUNTS = (1, 2, 20, 200)
#: The rate of the ticks, in Hz.
RATE = 10.0

#: Plans once a second and follows the path: what a robot does for most of its time.
TREE = """<PipelineSequence>
  <RateController hz="1.0"><ComputePathToPose goal="{goal}" path="{path}"/></RateController>
  <FollowPath path="{path}"/>
</PipelineSequence>"""

#: A pace that leaves most of two processors to the navigators of 200 robots: the robots drive 20 m at 0.1 m/s, with paths of a
#: hundred poses at most.
SIMULATION = {
    "servers": "[compute_path_to_pose, follow_path]",
    "control_rate": 20.0,
    "state_rate": 10.0,
    "feedback_rate": 5.0,
    "battery_rate": 0.0,
    "max_speed": 0.1,
    "path_spacing": 0.2,
}
GOAL = (20.0, 0.0)
#: Maximum time in s for each step of a start with many robots.
PATIENCE = 600.0


@dataclass
class Fleet:
    """The resources of a navtree with some robots."""

    robots: int
    #: Percent of a core.
    processor: float
    memory: object
    ticks: int
    missed: int
    #: Percent of a core that nav_sim used.
    simulation: float

    @property
    def missed_share(self):
        """Missed ticks in percent."""
        return 100 * self.missed / (self.ticks + self.missed)


def is_supported():
    """Whether this navtree has the option `--robots`."""
    answer = subprocess.run([find("navtree"), "run", "--help"], capture_output=True, text=True, timeout=30)
    return "--robots" in answer.stdout


def send_goals(pipe, domain, names):
    """The main function of a process that sends a goal to each robot and ends: its clients are no part of the load."""
    loop = EventLoop(domain, "fleet_client")
    impl, clients = NavigateToPose.Impl, {}
    #: None: the answer has not come.
    answers = dict.fromkeys(names, False)
    for name in names:

        def on_answer(response, _, name=name):
            answers[name] = response.accepted

        clients[name] = loop.client(impl.SendGoalService, f"/{name}/navigate_to_pose/_action/send_goal", on_answer)
    pipe.send(("up", "", 0))
    for name, client in clients.items():
        # Not all at once and not often: each check reads the whole graph, while the robots start.
        wait_for(client.service_is_ready, PATIENCE, f"the action of {name}", work=lambda: loop.run_once(0.2))
    # Not while others start: on a slow machine, the first robots would arrive before the last one starts.
    for number, (name, client) in enumerate(clients.items()):
        request = impl.SendGoalService.Request(goal=NavigateToPose.Goal(pose=pose(*GOAL)))
        request.goal_id.uuid = list(number.to_bytes(16, "big"))

        def is_accepted(client=client, request=request, name=name):
            # A robot that is not active yet rejects goals.
            if answers[name] is False:
                answers[name] = None
                client.handle.send_request(request)
            return answers[name]

        wait_for(is_accepted, PATIENCE, f"the acceptance by {name}", work=lambda: loop.run_once(0.2))
    loop.close()
    pipe.send(("sent", "", 0))


def start(domain, names, folder):
    """A navtree with some robots, all active."""
    parameters = {
        "autostart_node": True,
        "bt_loop_duration": round(1000 / RATE),
        # All robots send their first goals at once.
        "default_server_timeout": SERVER_TIMEOUT,
        "navigators": "[navigate_to_pose]",
        "default_nav_to_pose_bt_xml": str(write_tree(folder, "Replan", TREE)),
    }
    remappings = {"/tf": "tf", "/tf_static": "tf_static"}
    return Executable("navtree", domain, parameters, remappings, ("run", "--robots", ",".join(names)))


def entities(domain):
    """The number of publishers, subscriptions, services and clients of a robot."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as closers:
        closers.callback(start(domain, ["r1", "r2"], folder).close)
        loop = EventLoop(domain, "entity_counter")
        closers.callback(loop.close)
        node, found = loop.node, []

        def have_settled():
            loop.run_once(1.0)
            readers = (
                node.get_publisher_names_and_types_by_node,
                node.get_subscriber_names_and_types_by_node,
                node.get_service_names_and_types_by_node,
                node.get_client_names_and_types_by_node,
            )
            with contextlib.suppress(NodeNameNonExistentError):
                found.append([len(read("bt_navigator", "/r2")) for read in readers])
            return len(found) > 2 and found[-1] == found[-3] and all(found[-1])

        wait_for(have_settled, PATIENCE, "the entities of a robot")
        return found[-1]


@contextlib.contextmanager
def simulate(domain, names):
    """A nav_sim with some robots."""
    robots = {"robots": f"[{', '.join(names)}]"}
    with contextlib.closing(Executable("nav_sim", domain, robots | SIMULATION)) as simulation:
        simulation.wait_for_line("nav_sim is ready", PATIENCE)
        yield simulation


def robot_names(count):
    return [f"r{number}" for number in range(1, count + 1)]


def further_c_robot(effort, say):
    """Percent of a core for each further robot of a loop in C with the messages of such a robot."""
    most, used = COUNTS[-1], []
    for count in (1, most):
        with free_domain() as domain, simulate(domain, robot_names(count)):
            with c_node(domain, *DRIVING_ROBOTS, [round(RATE), count]) as pid:
                time.sleep(effort.settling)
                say(f"a loop in C drives the robots, {count} at {RATE:.0f} Hz, {effort.window:.0f} s")
                used.append(processor(pid, effort.window)[0])
    return (used[1] - used[0]) / (most - 1)


def fleet(count, effort, say):
    """The resources of one navtree with ``count`` robots that drive."""
    names = robot_names(count)
    say(f"{count} robots")
    with tempfile.TemporaryDirectory() as folder, free_domain() as domain, contextlib.ExitStack() as closers:
        simulation = closers.enter_context(simulate(domain, names))
        navigators = start(domain, names, folder)
        closers.callback(navigators.close)
        client = Peer(send_goals, domain, names)
        closers.callback(client.close)
        assert client.pipe.poll(PATIENCE) and client.pipe.recv()[0] == "sent", f"no goals sent:\n{navigators.output[-3000:]}"
        client.close()
        time.sleep(effort.settling)
        say(f"{count} robots drive, {effort.window:.0f} s")
        (used, _), (simulated, _) = processors((navigators.pid, simulation.pid), effort.window)
        held = memory(navigators.pid)
        navigators.interrupt()
        navigators.wait(60.0)
        statistics = list(tick_statistics(navigators.output))
        ticks, missed = (sum(found[index] for found in statistics) for index in (0, 1))
        expected = 0.9 * count * RATE * effort.window
        assert ticks + missed > expected, f"only {ticks} ticks; {expected:.0f} expected:\n{navigators.output[-3000:]}"
        return Fleet(count, used, held, ticks, missed, simulated)


def fleet_if_it_starts(count, effort, say):
    """The same; None if the robots do not all drive: the page then says so, and keeps its other figures."""
    try:
        return fleet(count, effort, say)
    except (AssertionError, EOFError) as error:
        say(f"{count} robots: not measured: {error}")
        return None
