"""An action server in a separate process that a test kills. Arguments: NAME SECONDS. Ends by itself after SECONDS."""

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
    graph = Graph(int(os.environ["ROS_DOMAIN_ID"]), "server_process")
    server = Server(graph, name, Behaviour(duration=None))
    threading.Timer(seconds, os._exit, [1]).start()
    # rclpy drops a goal if no reader receives its acceptance, so wait for a client.
    reply = f"rr/{name}/_action/send_goalReply"
    wait_for(lambda: graph.node.get_subscriptions_info_by_topic(reply, no_mangle=True), PATIENCE, "a client of it")
    print("ready", flush=True)
    while not server.executing():
        time.sleep(0.01)
    print("executing", flush=True)
    while True:
        time.sleep(1.0)


main()
