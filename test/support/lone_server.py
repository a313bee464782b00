"""An action server in a process of its own, to be killed: NAME SECONDS. Ends by itself after SECONDS."""

import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.graph import PATIENCE, Graph, wait_for  # noqa: E402
from support.servers import Behaviour, Server  # noqa: E402


def main():
    import os

    name, seconds = sys.argv[1], float(sys.argv[2])
    graph = Graph(int(os.environ["ROS_DOMAIN_ID"]), "lone_server")
    server = Server(graph, name, Behaviour(duration=None))
    threading.Timer(seconds, os._exit, [1]).start()
    # Of a goal whose acceptance finds no reader rclpy does not speak again.
    reply = f"rr/{name}/_action/send_goalReply"
    wait_for(lambda: graph.node.get_subscriptions_info_by_topic(reply, no_mangle=True), PATIENCE, "a client of it")
    print("ready", flush=True)
    while not server.executing():
        time.sleep(0.01)
    print("executing", flush=True)
    while True:
        time.sleep(1.0)


main()
