"""Run by test_whole_nav2.py in the environment that it built. A client with all imports of the module robot_navigator of
nav2_simple_commander (Jazzy), and all clients that the module creates."""

import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from geographic_msgs.msg import GeoPose
from geometry_msgs.msg import Point, PoseStamped, PoseWithCovarianceStamped
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from nav2_msgs.action import (
    AssistedTeleop,
    BackUp,
    ComputePathThroughPoses,
    ComputePathToPose,
    DockRobot,
    DriveOnHeading,
    FollowGPSWaypoints,
    FollowPath,
    FollowWaypoints,
    NavigateThroughPoses,
    NavigateToPose,
    SmoothPath,
    Spin,
    UndockRobot,
)
from nav2_msgs.msg import MissedWaypoint
from nav2_msgs.srv import (
    ClearCostmapAroundPose,
    ClearCostmapAroundRobot,
    ClearCostmapExceptRegion,
    ClearEntireCostmap,
    GetCostmap,
    LoadMap,
    ManageLifecycleNodes,
)
from rclpy.action import ActionClient
from support.graph import PATIENCE, wait_for
from support.servers import Behaviour, Server

ACTIONS = {
    "navigate_through_poses": NavigateThroughPoses,
    "navigate_to_pose": NavigateToPose,
    "follow_waypoints": FollowWaypoints,
    "follow_gps_waypoints": FollowGPSWaypoints,
    "follow_path": FollowPath,
    "compute_path_to_pose": ComputePathToPose,
    "compute_path_through_poses": ComputePathThroughPoses,
    "smooth_path": SmoothPath,
    "spin": Spin,
    "backup": BackUp,
    "drive_on_heading": DriveOnHeading,
    "assisted_teleop": AssistedTeleop,
    "dock_robot": DockRobot,
    "undock_robot": UndockRobot,
}

SERVICES = {
    "map_server/load_map": LoadMap,
    "global_costmap/clear_entirely_global_costmap": ClearEntireCostmap,
    "local_costmap/clear_costmap_except_region": ClearCostmapExceptRegion,
    "local_costmap/clear_costmap_around_robot": ClearCostmapAroundRobot,
    "local_costmap/clear_costmap_around_pose": ClearCostmapAroundPose,
    "global_costmap/get_costmap": GetCostmap,
    "lifecycle_manager_navigation/manage_nodes": ManageLifecycleNodes,
    "bt_navigator/get_state": GetState,
}


@pytest.fixture
def commander(stack):
    """The action and service clients of a commander, by name."""
    node = stack.graph.node
    actions = {name: ActionClient(node, kind, name) for name, kind in ACTIONS.items()}
    services = {name: node.create_client(kind, name) for name, kind in SERVICES.items()}
    node.create_publisher(PoseWithCovarianceStamped, "initialpose", 10)
    yield actions | services
    for name in ACTIONS:
        actions[name].destroy()


def run_goal(graph, client, goal):
    """Sends a goal that must succeed, and returns its result."""
    wait_for(client.server_is_ready, PATIENCE, "the server")
    handle = graph.ask(lambda: client.send_goal_async(goal), "answer to the goal")
    assert handle.accepted
    answer = graph.ask(handle.get_result_async, "result")
    assert answer.status == GoalStatus.STATUS_SUCCEEDED, answer.result
    return answer.result


def test_a_commander_navigates_with_navtree(stack, commander):
    state = stack.graph.call(commander["bt_navigator/get_state"], GetState.Request())
    assert state.current_state.id == State.PRIMARY_STATE_ACTIVE
    pose = PoseStamped()
    pose.header.frame_id, pose.pose.orientation.w = "map", 1.0
    run_goal(stack.graph, commander["navigate_to_pose"], NavigateToPose.Goal(pose=pose))
    assert stack.robot.controller.seen("requested")


def test_interfaces_that_navtree_does_not_use_work(stack, commander):
    missed = MissedWaypoint(index=1, error_code=601)
    result = FollowGPSWaypoints.Result(missed_waypoints=[missed])
    server = Server(
        stack.graph, "follow_gps_waypoints", Behaviour(duration=0.1, result=lambda _: result), FollowGPSWaypoints
    )
    try:
        goal = FollowGPSWaypoints.Goal(gps_poses=[GeoPose()])
        found = run_goal(stack.graph, commander["follow_gps_waypoints"], goal)
        assert [(waypoint.index, waypoint.error_code) for waypoint in found.missed_waypoints] == [(1, 601)]
    finally:
        server.destroy()

    def costmap(request, response):
        response.map.metadata.layer = request.specs.layer
        return response

    node = stack.graph.node
    service = node.create_service(GetCostmap, "global_costmap/get_costmap", costmap, callback_group=stack.graph.group)
    request = GetCostmap.Request()
    request.specs.layer = "inflation"
    answer = stack.graph.call(commander["global_costmap/get_costmap"], request)
    assert answer.map.metadata.layer == "inflation"
    node.destroy_service(service)


def test_messages_of_a_commander_can_be_created():
    assert BackUp.Goal(target=Point(x=0.15), speed=0.025, time_allowance=Duration(sec=10)).target.x == 0.15
    assert ManageLifecycleNodes.Request.PAUSE == 1
    assert LoadMap.Response.RESULT_UNDEFINED_FAILURE == 255
