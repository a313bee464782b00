"""Kills a driving navigator COUNT times, and prints how long the robot continued to drive. See docs/guardian.md."""

import os
import signal
import sys
import time

from support.client import Navigation
from support.domains import free_domain
from support.executable import Executable
from support.fixtures import DEFAULTS
from support.graph import PATIENCE, Graph, wait_for
from support.servers import Robot


def kill_one(graph, robot, domain):
    """Kills a navigator. Returns the seconds until its goal ended."""
    controller = robot.controller
    robot.forget()
    node = Executable("navtree", domain, DEFAULTS)
    navigation = Navigation(graph)
    try:
        navigation.wait()
        navigation.warm_up()
        wait_for(robot.has_listener, PATIENCE, "the node to subscribe to the transforms")
        navigation.send(2.0, 0.0)
        wait_for(controller.awaited, PATIENCE, "the controller to execute")
        since = time.monotonic()
        node.process.send_signal(signal.SIGKILL)
        wait_for(lambda: controller.seen("ended"), PATIENCE, lambda: f"the goal to be cancelled: {node.output}")
        return controller.seen("ended")[0].time - since
    finally:
        node.kill()
        navigation.to_pose.destroy()
        navigation.through_poses.destroy()


def main():
    count = int(sys.argv[1])
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    with free_domain() as domain:
        os.environ["ROS_DOMAIN_ID"] = str(domain)
        graph = Graph(domain)
        robot = Robot(graph)
        robot.controller.behaviour.duration = None
        seconds = sorted(kill_one(graph, robot, domain) for _ in range(count))
        robot.destroy()
        graph.close()
    at = {name: seconds[min(count - 1, int(count * part))] for name, part in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))}
    print(f"{count} kills: " + ", ".join(f"{name} {value:.2f} s" for name, value in at.items()))
    late = [round(value, 2) for value in seconds if value > 1.0]
    print(f"later than 1 s: {late or 'none'}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


main()
