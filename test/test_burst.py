"""Many goals at once: every client is answered, the newest goal is driven to, and nothing stays alive."""

from nav2_msgs.action import NavigateThroughPoses, NavigateToPose
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import qos_profile_services_default as services
from rclpy.qos import QoSProfile
from support.client import NAMES, Client, pose
from support.graph import PATIENCE, wait_for

MANY = 100

#: So that the test itself loses no answer.
DEEP = QoSProfile(depth=10 * MANY, reliability=services.reliability, durability=services.durability)


def deep(stack, action, name):
    qos = {f"{service}_service_qos_profile": DEEP for service in ("goal", "result", "cancel")}
    client = Client(stack.graph.node, action, name, callback_group=MutuallyExclusiveCallbackGroup(), **qos)
    wait_for(client.server_is_ready, PATIENCE, f"the action {name}")
    # Both sides have to be matched.
    for _ in range(20):
        handle = stack.graph.ask(
            lambda: client.send_goal_async(action.Goal(behavior_tree="/nowhere/warm_up.xml")), "answer", 5
        )
        if handle.accepted:
            break
    return client


def answers(futures, what):
    done = lambda: sum(future.done() for future in futures)  # noqa: E731
    wait_for(lambda: done() == len(futures), PATIENCE, lambda: f"{what}: {done()} of {len(futures)}")
    return [future.result() for future in futures]


def test_g3_of_a_hundred_goals_at_once_every_client_is_answered_and_the_newest_is_driven_to(stack):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    client = deep(stack, NavigateToPose, "navigate_to_pose")
    goals = [NavigateToPose.Goal(pose=pose(0.1 * number, 0.0)) for number in range(MANY)]
    handles = answers([client.send_goal_async(goal) for goal in goals], "goals accepted")
    assert all(handle.accepted for handle in handles)
    results = [handle.get_result_async() for handle in handles]
    ended = [result.result() for result in results[:-1] if answers([result], "a result")]
    assert {NAMES[end.status] for end in ended} == {"ABORTED"}
    assert {end.result.error_msg for end in ended} == {"replaced by a newer goal"}
    wait_for(controller.executing, 10.0, "the newest to be driven to")
    # Twice, and at once.
    answers([handles[-1].cancel_goal_async() for _ in range(2)], "cancels")
    assert NAMES[answers([results[-1]], "the last result")[0].status] == "CANCELED"
    assert stack.robot.executing() == 0


def test_g3_of_goals_to_both_actions_at_once_every_client_is_answered(stack):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    to_pose = deep(stack, NavigateToPose, "navigate_to_pose")
    through = deep(stack, NavigateThroughPoses, "navigate_through_poses")
    futures = []
    for number in range(MANY // 2):
        place = pose(0.1 * number, 0.0)
        futures.append(to_pose.send_goal_async(NavigateToPose.Goal(pose=place)))
        futures.append(through.send_goal_async(NavigateThroughPoses.Goal(poses=[place])))
    handles = answers(futures, "goals accepted")
    results = [handle.get_result_async() for handle in handles]
    wait_for(lambda: sum(result.done() for result in results) >= MANY - 1, PATIENCE, "all but one to end")
    assert {NAMES[result.result().status] for result in results if result.done()} == {"ABORTED"}
    (running,) = [handle for handle, result in zip(handles, results) if not result.done()]
    answers([running.cancel_goal_async()], "the cancel")
    assert {NAMES[end.status] for end in answers(results, "results")} == {"ABORTED", "CANCELED"}
    assert stack.robot.executing() == 0


def test_g3_of_many_requests_for_one_result_the_newest_hundred_are_kept_and_the_others_answered(stack):
    stack.robot.controller.behaviour.duration = None
    client = deep(stack, NavigateToPose, "navigate_to_pose")
    handle = answers([client.send_goal_async(NavigateToPose.Goal(pose=pose(2.0, 0.0)))], "the goal accepted")[0]
    results = [handle.get_result_async() for _ in range(3 * MANY)]
    ended = answers(results[: 2 * MANY], "the oldest requests")
    assert {NAMES.get(end.status, "UNKNOWN") for end in ended} == {"UNKNOWN"}
    assert not any(result.done() for result in results[2 * MANY :])
    answers([handle.cancel_goal_async()], "the cancel")
    assert {NAMES[end.status] for end in answers(results[2 * MANY :], "the newest requests")} == {"CANCELED"}
