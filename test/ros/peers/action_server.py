"""Serve the action `spin` and two services. The target angle of a goal decides what happens to it. Print each event."""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nav2_msgs.action import Spin  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402
from support.graph import Graph  # noqa: E402
from support.servers import Behaviour, Server  # noqa: E402


def feedback(elapsed):
    return Spin.Feedback(angular_distance_traveled=0.25 + elapsed)


BEHAVIOURS = {
    1.0: Behaviour(duration=0.2, feedback=feedback, result=lambda _: Spin.Result(error_code=7)),
    2.0: Behaviour(duration=None, feedback=feedback),
    3.0: Behaviour(accept=False),
    4.0: Behaviour(accept_delay=0.5, duration=None, feedback=feedback),
}
#: The target angle of each goal.
angles = {}


def print_event(event):
    match event.kind:
        case "requested":
            print_line("requested", event.detail.target_yaw)
        case "accepted":
            angles[event.goal] = event.detail.target_yaw
        case "cancel":
            print_line("cancel", time.time_ns())
        case "ended":
            print_line(event.detail, angles[event.goal])


def print_line(*words):
    # One write: several threads print lines.
    sys.stdout.write(" ".join(map(str, words)) + "\n")


def trigger(_, response):
    response.success = True
    response.message = "triggered"
    return response


def set_bool(request, response):
    response.success = request.data
    response.message = "set"
    return response


graph = Graph(int(os.environ["ROS_DOMAIN_ID"]), "peer")
server = Server(graph, "spin", action=Spin, choose=lambda goal: BEHAVIOURS[goal.target_yaw], on_event=print_event)
graph.node.create_service(Trigger, "trigger", trigger)
graph.node.create_service(SetBool, "set_bool", set_bool)
print_line("ready")
input()
server.leave()
print_line("gone")
input()
