"""A client that cannot hear its answers holds up no other client, and no cancel."""

import time

import pytest
from nav2_msgs.action import ComputePathToPose, NavigateToPose
from rclpy.qos import DurabilityPolicy, QoSProfile
from support.executable import Executable, Kept
from support.graph import Graph

#: Each held up its server for 0.1 s, and again with each new attempt to answer.
REQUESTS = 60
#: All of them took 6 s at least.
BOUND = 3.0

SERVERS = {
    # Answers from the thread of its simulation.
    "nav_sim": (ComputePathToPose.Impl.SendGoalService, "compute_path_to_pose/_action/send_goal"),
    # Answers from the thread of its node.
    "navtree": (NavigateToPose.Impl.GetResultService, "navigate_to_pose/_action/get_result"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_a_client_that_cannot_hear_holds_up_no_other(request, ros_domain, name):
    kind, service = SERVERS[name]
    with Kept(request) as kept:
        graph = Graph(ros_domain)
        kept.callback(graph.close)
        # A service offers no samples of the past, so its answers are never matched to a reader that asks for them.
        qos = QoSProfile(depth=REQUESTS, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        deaf = graph.node.create_client(kind, service, qos_profile=qos, callback_group=graph.group)
        client = graph.node.create_client(kind, service, callback_group=graph.group)
        server = kept.keep(Executable(name, ros_domain, {"autostart_node": True}))

        # Until the server answers: then it has found both clients.
        graph.ask(lambda: client.call_async(kind.Request()), "the first answer", tries=20)
        for _ in range(REQUESTS):
            deaf.call_async(kind.Request())
        sent = time.monotonic()
        graph.result(client.call_async(kind.Request()), 60.0, "an answer")
        assert time.monotonic() - sent < BOUND
        server.wait_for_line("it could not be sent to its client")
