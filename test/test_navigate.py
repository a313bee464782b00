"""Navigation goals of an rclpy client, through a tree to rclpy servers and back."""

import time

import pytest
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import PoseStamped
from rclpy.qos import qos_profile_action_status_default
from support.client import pose
from support.fixtures import corpus
from support.graph import PATIENCE, wait_for


def test_goal_is_accepted_executed_and_succeeds(stack):
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(2.0, 1.0)
    assert goal.accepted
    wait_for(lambda: goal.feedback, 10, "feedback")
    stack.robot.controller.behaviour.duration = 0.0
    status, result = goal.result()
    assert (status, result.error_code) == ("SUCCEEDED", 0), result.error_msg
    assert goal.feedback[0].current_pose.header.frame_id == "map"

    planned = stack.robot.planner.requests()
    assert [(p.goal.pose.position.x, p.goal.pose.position.y) for p in planned] == [(2.0, 1.0)]
    followed = stack.robot.controller.requests()
    assert len(followed) == 1
    assert followed[0].path.poses[-1].pose.position.x == 2.0
    assert len(followed[0].path.poses) == 11
    assert stack.robot.executing() == 0


def test_distance_remaining_comes_from_the_path(stack):
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(3.0, 4.0)
    wait_for(lambda: any(f.distance_remaining > 4.9 for f in goal.feedback), 10, "the path's length as distance")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"


def test_goal_in_another_frame_is_expressed_in_the_global_frame(stack):
    status, result = stack.navigation.send(1.0, 0.0, frame="odom").result()
    assert status == "SUCCEEDED", result.error_msg
    assert stack.robot.planner.requests()[0].goal.header.frame_id == "map"


def test_goal_in_an_unknown_frame_is_aborted_with_a_reason(stack):
    status, result = stack.navigation.send(1.0, 0.0, frame="nowhere").result()
    assert status == "ABORTED"
    assert result.error_code == 9002
    assert "nowhere" in result.error_msg
    assert not stack.robot.planner.seen("requested")


def test_tree_of_a_goal_is_used_for_that_goal_only(stack, tmp_path):
    other = tmp_path / "wait_only.xml"
    other.write_text(
        '<root BTCPP_format="4"><BehaviorTree ID="W"><Wait wait_duration="0.1"/></BehaviorTree></root>'
    )
    assert stack.navigation.send(1.0, 0.0, tree=other).result()[0] == "SUCCEEDED"
    assert len(stack.robot.wait.requests()) == 1
    assert not stack.robot.planner.requests()
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    assert len(stack.robot.planner.requests()) == 1


@pytest.mark.parametrize("allowed", [True, False])
def test_goal_with_another_tree_preempts_only_if_allowed(stack_factory, tmp_path, allowed):
    stack = stack_factory({"allow_tree_preemption": allowed})
    tree = tmp_path / "other.xml"
    tree.write_text('<root BTCPP_format="4"><BehaviorTree ID="Other"><Wait wait_duration="0.1"/></BehaviorTree></root>')
    controller = stack.robot.controller
    controller.behaviour.duration = None
    first = stack.navigation.send(2.0, 0.0)
    wait_for(controller.executing, PATIENCE, "the controller to execute")
    second = stack.navigation.send(3.0, 0.0, tree=tree)
    status, result = second.result()
    if allowed:
        assert (status, first.result()[0]) == ("SUCCEEDED", "ABORTED")
        return
    assert (status, result.error_code) == ("ABORTED", 9000)
    assert "another tree" in result.error_msg and "allow_tree_preemption" in result.error_msg
    stack.wait_for_ticks(first)
    assert not controller.seen("cancel")
    controller.behaviour.duration = 0.0
    assert first.result()[0] == "SUCCEEDED"


def test_a_failure_has_the_same_message_in_the_result_and_the_log(stack, tmp_path):
    tree = tmp_path / "planning.xml"
    tree.write_text(
        '<root BTCPP_format="4"><BehaviorTree ID="Planning"><Sequence name="Navigate"><RecoveryNode number_of_retries="2">'
        '<ComputePathToPose goal="{goal}" path="{path}" error_code_id="{compute_path_error_code}"/>'
        '<Wait wait_duration="0.1"/></RecoveryNode></Sequence></BehaviorTree></root>'
    )
    stack.robot.planner.behaviour.error_code = 206
    status, result = stack.navigation.send(2.0, 1.0, tree=tree).result()
    assert (status, result.error_code) == ("ABORTED", 206)
    words = "(ComputePathToPose) failed: GOAL_OCCUPIED (206) (recoveries: 2)"
    assert result.error_msg.startswith("ComputePathToPose::") and result.error_msg.endswith(words)
    stack.node.wait_for_line(result.error_msg)
    lines = [line for line in stack.node.lines if result.error_msg in line]
    assert len(lines) == 1 and "WARN" in lines[0], lines


def test_the_log_has_one_line_for_the_start_and_the_end_of_each_goal(stack):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    # The line of the goal with which the stack settled may come after its result.
    stack.node.wait_for_line(" succeeded")
    after = len(stack.node.lines)
    first = stack.navigation.send(7.0, 0.5)
    wait_for(controller.executing, PATIENCE, "the controller to execute")
    second = stack.navigation.send(8.0, 0.5)
    assert first.result()[0] == "ABORTED"
    controller.behaviour.duration = 0.0
    assert second.result()[0] == "SUCCEEDED"
    stack.node.wait_for_line(" succeeded", after=after)
    lines = [line for line in stack.node.lines[after:] if "navigate_to_pose: goal" in line]
    expected = [" was preempted: replaced by a newer goal", "to (8.00, 0.50) with tree", " succeeded"]
    assert len(lines) == 4 and "to (7.00, 0.50) with tree" in lines[0], lines
    for line, words in zip(lines[1:], expected):
        assert words in line
    assert all("INFO" in line for line in lines), lines


def test_goal_that_arrives_after_the_tree_used_the_goal_is_still_reached(stack, tmp_path):
    tree = tmp_path / "waits.xml"
    wait = '<Wait wait_duration="0.1"/>'
    tree.write_text(
        '<root BTCPP_format="4"><BehaviorTree ID="Waits"><Sequence><ComputePathToPose goal="{goal}" path="{path}"/>'
        f'<FollowPath path="{{path}}"/>{wait}{wait}</Sequence></BehaviorTree></root>'
    )
    waiting, controller = stack.robot.wait, stack.robot.controller
    waiting.behaviour.duration = None
    first = stack.navigation.send(1.0, 0.0, tree=tree)
    wait_for(waiting.executing, PATIENCE, "the first wait")
    second = stack.navigation.send(2.0, 0.0, tree=tree)
    assert first.result()[0] == "ABORTED"
    waiting.behaviour.duration = 0.0
    status, result = second.result()
    assert status == "SUCCEEDED", result.error_msg
    assert [followed.path.poses[-1].pose.position.x for followed in controller.requests()] == [1.0, 2.0]


def test_goal_update_of_an_earlier_navigation_does_not_affect_a_later_one(stack, tmp_path):
    tree = tmp_path / "updated.xml"
    tree.write_text(
        '<root BTCPP_format="4"><BehaviorTree ID="Updated"><GoalUpdater input_goal="{goal}" output_goal="{updated}">'
        '<PipelineSequence><RateController hz="20"><ComputePathToPose goal="{updated}" path="{path}"/></RateController>'
        '<FollowPath path="{path}"/></PipelineSequence></GoalUpdater></BehaviorTree></root>'
    )
    updates = stack.graph.node.create_publisher(PoseStamped, "goal_update", 10)
    planner, controller = stack.robot.planner, stack.robot.controller
    controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0, tree=tree)
    wait_for(lambda: updates.get_subscription_count() > 0, PATIENCE, "a subscription of goal_update")
    update = pose(7.0, 0.0)

    def is_updated():
        update.header.stamp = stack.graph.node.get_clock().now().to_msg()
        updates.publish(update)
        return planner.requests() and planner.requests()[-1].goal.pose.position.x == 7.0

    wait_for(is_updated, PATIENCE, "the update to be planned for")
    controller.behaviour.duration = 0.0
    assert goal.result()[0] == "SUCCEEDED"
    planner.forget()
    # A goal without a stamp, like from `ros2 action send_goal`: every update is newer.
    assert stack.navigation.send(2.0, 0.0, tree=tree).result()[0] == "SUCCEEDED"
    assert {planned.goal.pose.position.x for planned in planner.requests()} == {2.0}


@pytest.mark.parametrize("release", ["nav2_humble", "nav2_jazzy", "nav2_main"])
def test_stock_tree_with_recovery_runs_unchanged(stack_factory, release):
    name = "navigate_to_pose_w_replanning_and_recovery.xml"
    stack = stack_factory({"default_nav_to_pose_bt_xml": corpus(f"{release}/{name}")})
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(2.0, 0.0)
    # The tree plans again every one to three seconds, without a cancel of the controller.
    wait_for(lambda: len(stack.robot.planner.seen("ended")) >= 2, 30, "a second plan")
    stack.wait_for_ticks(goal)
    stack.robot.controller.behaviour.duration = 0.0
    status, result = goal.result()
    assert status == "SUCCEEDED", result.error_msg
    assert not stack.robot.controller.seen("cancel")
    assert stack.robot.executing() == 0


def test_stock_through_poses_tree_runs_unchanged(stack_factory):
    path = corpus("nav2_jazzy/navigate_through_poses_w_replanning_and_recovery.xml")
    stack = stack_factory({"default_nav_through_poses_bt_xml": path})
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send_through([(1.0, 0.0), (2.0, 1.0), (3.0, 1.0)])
    wait_for(lambda: goal.feedback and goal.feedback[-1].number_of_poses_remaining == 3, 10, "three poses to go")
    stack.robot.controller.behaviour.duration = 0.0
    status, result = goal.result()
    assert status == "SUCCEEDED", result.error_msg
    assert [p.pose.position.x for p in stack.robot.planner_through.requests()[0].goals] == [1.0, 2.0, 3.0]
    assert stack.robot.executing() == 0


def test_recovery_branch_is_taken_when_the_controller_fails(stack_factory):
    path = corpus("nav2_jazzy/navigate_to_pose_w_replanning_and_recovery.xml")
    stack = stack_factory({"default_nav_to_pose_bt_xml": path})
    controller = stack.robot.controller.behaviour
    controller.error_code, controller.abort_first, controller.duration = 105, 1, 0.05
    status, result = stack.navigation.send(2.0, 0.0).result()
    assert status == "SUCCEEDED", result.error_msg
    assert result.error_code == 0
    assert "local" in stack.robot.clears


def test_goal_from_the_topic_is_listed_and_cancelled_with_all(stack):
    stack.robot.controller.behaviour.duration = None
    node = stack.graph.node
    statuses = []
    node.create_subscription(
        GoalStatusArray,
        "navigate_to_pose/_action/status",
        lambda message: statuses.append([goal.status for goal in message.status_list]),
        qos_profile_action_status_default,
        callback_group=stack.graph.group,
    )
    cancel = node.create_client(CancelGoal, "navigate_to_pose/_action/cancel_goal", callback_group=stack.graph.group)
    rviz = node.create_publisher(PoseStamped, "goal_pose", 10)
    wait_for(lambda: rviz.get_subscription_count() and cancel.service_is_ready(), PATIENCE, "the goal topic")

    def accepted():
        # A message before discovery is lost. A second goal would preempt the first one.
        rviz.publish(pose(2.0, 1.0))
        since = time.monotonic()
        while not stack.robot.controller.executing() and time.monotonic() - since < 5.0:
            time.sleep(0.01)
        return stack.robot.controller.executing()

    wait_for(accepted, PATIENCE, "the controller to execute")
    assert stack.robot.planner.requests()[-1].goal.pose.position.x == 2.0
    wait_for(lambda: statuses and GoalStatus.STATUS_EXECUTING in statuses[-1], PATIENCE, "the goal in the list")
    # A request of zeros cancels all goals.
    answer = stack.graph.ask(lambda: cancel.call_async(CancelGoal.Request()), "the answer to the cancel")
    assert answer.goals_canceling
    wait_for(lambda: not stack.robot.executing(), PATIENCE, "the robot to stop")
    stack.node.wait_for_line("was canceled")
    wait_for(lambda: GoalStatus.STATUS_CANCELED in statuses[-1], PATIENCE, "the canceled goal in the list")


def test_g5_a_rule_for_an_action_applies_to_its_topics_and_services(stack_factory, tmp_path):
    stack = stack_factory(remappings={"drive": "/follow_path"})
    tree = tmp_path / "drive.xml"
    tree.write_text(
        '<root BTCPP_format="4"><BehaviorTree ID="Drive"><Sequence><ComputePathToPose goal="{goal}" path="{path}"/>'
        '<FollowPath path="{path}" server_name="drive"/></Sequence></BehaviorTree></root>'
    )
    controller = stack.robot.controller
    before = len(controller.requests())
    controller.behaviour.duration = None
    goal = stack.navigation.send(2.0, 0.0, tree=tree)
    wait_for(controller.executing, PATIENCE, "the controller to execute")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    assert len(controller.requests()) == before + 1
    assert stack.robot.executing() == 0
