"""A client whose QoS is incompatible gets no answers, and delays no other client and no cancel."""

import time

import pytest
from nav2_msgs.action import ComputePathToPose, NavigateToPose
from rclpy.qos import DurabilityPolicy, QoSProfile
from support.executable import Executable, ProcessStack
from support.graph import Graph

#: In an earlier version each request blocked its server for 0.1 s, and again at each new attempt to answer.
REQUESTS = 60
#: In s. In the earlier version all requests took at least 6 s.
BOUND = 3.0

SERVERS = {
    # Answers on the simulation thread.
    "nav_sim": (ComputePathToPose.Impl.SendGoalService, "compute_path_to_pose/_action/send_goal"),
    # Answers on the node's thread.
    "navtree": (NavigateToPose.Impl.GetResultService, "navigate_to_pose/_action/get_result"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_client_with_incompatible_qos_delays_no_other_client(request, ros_domain, name):
    kind, service = SERVERS[name]
    with ProcessStack(request) as processes:
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        # A service has volatile answers, so they never match a reader with transient local durability.
        qos = QoSProfile(depth=REQUESTS, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        incompatible = graph.node.create_client(kind, service, qos_profile=qos, callback_group=graph.group)
        client = graph.node.create_client(kind, service, callback_group=graph.group)
        server = processes.add(Executable(name, ros_domain, {"autostart_node": True}))

        # When the server answers, it has discovered both clients.
        graph.ask(lambda: client.call_async(kind.Request()), "the first answer", tries=20)
        for _ in range(REQUESTS):
            incompatible.call_async(kind.Request())
        sent = time.monotonic()
        graph.result(client.call_async(kind.Request()), 60.0, "an answer")
        assert time.monotonic() - sent < BOUND
        server.wait_for_line("it could not be sent to its client")
