"""G1: a goal with very many poses does not delay the tick of the running goal."""

from nav2_msgs.action import ComputePathThroughPoses, NavigateThroughPoses
from support.client import Goal, pose
from support.graph import wait_for

BOUND = 10_000

TREE = """<root BTCPP_format="4">
  <BehaviorTree ID="Through">
    <Sequence>
      <ComputePathThroughPoses goals="{goals}" path="{path}"/>
      <FollowPath path="{path}"/>
    </Sequence>
  </BehaviorTree>
</root>
"""


def through(stack, folder, poses):
    path = folder / "through.xml"
    path.write_text(TREE)
    message = NavigateThroughPoses.Goal(poses=poses, behavior_tree=str(path))
    return Goal(stack.graph, stack.navigation.through_poses, message)


def poses_at_different_times(stack, count):
    """Poses in another frame with different stamps, so that each needs its own transform."""
    poses = [pose(0.001 * number, 1.0, "odom") for number in range(count)]
    now = stack.graph.node.get_clock().now().to_msg()
    for number, one in enumerate(poses):
        one.header.stamp.sec, one.header.stamp.nanosec = now.sec - 1, number
    return poses


def test_g1_only_a_goal_above_max_goal_poses_is_aborted(stack, tmp_path):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    running = through(stack, tmp_path, [pose(1.0, 0.0)])
    wait_for(controller.executing, 10, "the controller to execute")
    status, result = through(stack, tmp_path, poses_at_different_times(stack, 2 * BOUND)).result()
    reason = "the goal has 20000 poses, more than max_goal_poses (10000): send fewer, or raise max_goal_poses"
    assert (status, result.error_code, result.error_msg) == ("ABORTED", 9100, reason)
    stack.node.wait_for_line(f"aborted before it started: {reason}")
    stack.wait_for_ticks(running)
    assert not running.done() and len(controller.requests()) == 1
    running.cancel()
    assert running.result()[0] == "CANCELED"


def path_of_the_goals(request):
    """The result of a planner: the poses of the goals, not eleven for each, which would be 8 MB for rclpy to convert."""
    result = ComputePathThroughPoses.Result()
    result.path.header.frame_id = "map"
    result.path.poses = request.goals
    return result


def test_g1_goal_of_max_goal_poses_with_different_stamps_succeeds(stack, tmp_path):
    stack.robot.planner_through.behaviour.result = path_of_the_goals
    goal = through(stack, tmp_path, poses_at_different_times(stack, BOUND))
    assert goal.result()[0] == "SUCCEEDED"
    (planned,) = stack.robot.planner_through.requests()
    assert len(planned.goals) == BOUND
    assert {one.header.frame_id for one in planned.goals} == {"map"}
    assert [one.pose.position.x for one in planned.goals] == [0.001 * number for number in range(BOUND)]
