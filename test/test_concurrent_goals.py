"""Many concurrent goals: every client gets a result, the newest goal runs, and no goal stays alive."""

from nav2_msgs.action import NavigateThroughPoses, NavigateToPose
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import qos_profile_services_default as services
from rclpy.qos import QoSProfile
from support.client import NAMES, Client, pose
from support.graph import PATIENCE, wait_for

MANY = 100

#: A queue in which the test itself loses no answer.
DEEP_QUEUE = QoSProfile(depth=10 * MANY, reliability=services.reliability, durability=services.durability)


def connected_client(stack, action, name):
    qos = {f"{service}_service_qos_profile": DEEP_QUEUE for service in ("goal", "result", "cancel")}
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


def test_g3_a_hundred_concurrent_goals_get_results(stack):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    client = connected_client(stack, NavigateToPose, "navigate_to_pose")
    goals = [NavigateToPose.Goal(pose=pose(0.1 * number, 0.0)) for number in range(MANY)]
    handles = answers([client.send_goal_async(goal) for goal in goals], "goals accepted")
    assert all(handle.accepted for handle in handles)
    results = [handle.get_result_async() for handle in handles]
    ended = [result.result() for result in results[:-1] if answers([result], "a result")]
    assert {NAMES[end.status] for end in ended} == {"ABORTED"}
    assert {end.result.error_msg for end in ended} == {"replaced by a newer goal"}
    wait_for(controller.executing, 10.0, "the newest goal to be executed")
    # Two cancels at the same time.
    answers([handles[-1].cancel_goal_async() for _ in range(2)], "cancels")
    assert NAMES[answers([results[-1]], "the last result")[0].status] == "CANCELED"
    assert stack.robot.executing() == 0


def test_g3_concurrent_goals_of_both_actions_all_get_results(stack):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    to_pose = connected_client(stack, NavigateToPose, "navigate_to_pose")
    through = connected_client(stack, NavigateThroughPoses, "navigate_through_poses")
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


def test_g3_the_newest_hundred_result_requests_of_a_goal_wait(stack):
    client = connected_client(stack, NavigateToPose, "navigate_to_pose")

    def begin():
        return answers([client.send_goal_async(NavigateToPose.Goal(pose=pose(2.0, 0.0)))], "the goal accepted")[0]

    stack.robot.controller.behaviour.duration = 0.1
    earlier = begin()
    answers([earlier.get_result_async()], "the result of the first goal")
    stack.robot.controller.behaviour.duration = None
    handle = begin()
    results = [handle.get_result_async() for _ in range(3 * MANY)]
    # Requests of one client arrive in their order, so the node has all of them.
    answers([earlier.get_result_async()], "the result of the first goal, again")
    answers([handle.cancel_goal_async()], "the cancel")
    assert {NAMES[end.status] for end in answers(results[2 * MANY :], "the newest requests")} == {"CANCELED"}
    assert not any(result.done() for result in results[: 2 * MANY]), "an older request gets no answer"
