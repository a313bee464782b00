"""A client whose QoS is incompatible gets no answers, and delays no other client and no cancel."""

import time

import pytest
from nav2_msgs.action import ComputePathToPose, NavigateToPose
from rclpy.qos import DurabilityPolicy, QoSProfile
from support.client import pose
from support.executable import Executable, ProcessStack
from support.graph import Graph

#: In an earlier version each request blocked its server for 0.1 s, and again at each new attempt to answer.
REQUESTS = 60
#: In s. In the earlier version all requests took at least 6 s.
BOUND = 3.0

#: A service has volatile answers, so they never match a reader with transient local durability.
INCOMPATIBLE = QoSProfile(depth=REQUESTS, durability=DurabilityPolicy.TRANSIENT_LOCAL)

SERVERS = {
    # Answers on the simulation thread.
    "nav_sim": (ComputePathToPose.Impl.SendGoalService, "compute_path_to_pose/_action/send_goal"),
    # Answers on the node's thread.
    "navtree": (NavigateToPose.Impl.GetResultService, "navigate_to_pose/_action/get_result"),
}


def client_without_answers(graph, kind, service):
    return graph.node.create_client(kind, service, qos_profile=INCOMPATIBLE, callback_group=graph.group)


@pytest.mark.parametrize("name", SERVERS)
def test_client_with_incompatible_qos_delays_no_other_client(request, ros_domain, name):
    kind, service = SERVERS[name]
    with ProcessStack(request) as processes:
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        incompatible = client_without_answers(graph, kind, service)
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


def test_g3_goal_whose_client_cannot_be_answered_does_not_start(stack):
    kind = NavigateToPose.Impl.SendGoalService
    client = client_without_answers(stack.graph, kind, "navigate_to_pose/_action/send_goal")
    # Then the node has discovered both clients.
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    planned = len(stack.robot.planner.seen("requested"))
    client.call_async(kind.Request(goal=NavigateToPose.Goal(pose=pose(2.0, 0.0))))
    stack.node.wait_for_line("it could not be sent to its client")
    assert stack.navigation.send(3.0, 0.0).result()[0] == "SUCCEEDED"
    poses = [request.goal.pose.position.x for request in stack.robot.planner.requests()[planned:]]
    assert set(poses) == {3.0}, poses
