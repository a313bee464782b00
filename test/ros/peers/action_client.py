"""Use the action `spin` of the process under test like a client, and check every answer."""

import uuid

import rclpy
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from nav2_msgs.action import Spin
from rclpy.action import ActionClient
from rclpy.action.graph import get_action_names_and_types
from unique_identifier_msgs.msg import UUID

PATIENCE = 20.0

rclpy.init()
node = rclpy.create_node("peer")
client = ActionClient(node, Spin, "spin")
assert client.wait_for_server(PATIENCE)


def wait(future):
    rclpy.spin_until_future_complete(node, future, timeout_sec=PATIENCE)
    assert future.done(), "no answer"
    return future.result()


def send(yaw, **options):
    return wait(client.send_goal_async(Spin.Goal(target_yaw=yaw), **options))


def cancel(goal_id):
    request = CancelGoal.Request()
    request.goal_info.goal_id = goal_id
    return wait(canceler.call_async(request))



canceler = node.create_client(CancelGoal, "spin/_action/cancel_goal")
assert canceler.wait_for_service(PATIENCE)
assert ("/spin", ["nav2_msgs/action/Spin"]) in get_action_names_and_types(node)

for attempt in range(20):
    feedbacks = []
    goal = send(1.0, feedback_callback=lambda message: feedbacks.append(message.feedback))
    assert goal.accepted and goal.stamp.sec > 0
    answer = wait(goal.get_result_async())
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    assert answer.result.error_code == 9 and answer.result.error_msg == "turned"
    # Feedback before discovery is lost, and rclpy takes no feedback after the result.
    if len(feedbacks) == 2:
        break
assert [f.angular_distance_traveled for f in feedbacks] == [0.5, 1.0], feedbacks
# A second request: the server keeps the result.
assert wait(goal.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED

assert not send(3.0).accepted

goal = send(2.0)
assert goal.accepted
answer = wait(goal.cancel_goal_async())
assert answer.return_code == CancelGoal.Response.ERROR_NONE and len(answer.goals_canceling) == 1
assert wait(goal.get_result_async()).status == GoalStatus.STATUS_CANCELED

# The return codes of rcl: 3 for finished, 2 for unknown goals.
assert cancel(goal.goal_id).return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED
unknown = UUID(uuid=list(uuid.uuid4().bytes))
assert cancel(unknown).return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID

# A goal that the server drops.
goal = send(5.0)
answer = wait(goal.get_result_async())
assert answer.status == GoalStatus.STATUS_ABORTED and answer.result.error_code == 700

# One cancel for all goals.
goals = [send(2.0) for _ in range(3)]
assert len(cancel(UUID()).goals_canceling) == 3
for goal in goals:
    assert wait(goal.get_result_async()).status == GoalStatus.STATUS_CANCELED

# The id of a goal cannot be used twice.
request = client._action_type.Impl.SendGoalService.Request()
request.goal_id = goals[0].goal_id
request.goal.target_yaw = 1.0
sender = node.create_client(Spin.Impl.SendGoalService, "spin/_action/send_goal")
assert sender.wait_for_service(PATIENCE)
assert not wait(sender.call_async(request)).accepted
print("good", flush=True)
