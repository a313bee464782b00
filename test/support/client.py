"""A navigation client, like RViz or a fleet manager."""

import threading
import time

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped
from nav2_msgs.action import NavigateThroughPoses, NavigateToPose
from rclpy.action import ActionClient
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import QoSProfile

from .graph import PATIENCE, wait_for

NAMES = {
    GoalStatus.STATUS_SUCCEEDED: "SUCCEEDED",
    GoalStatus.STATUS_CANCELED: "CANCELED",
    GoalStatus.STATUS_ABORTED: "ABORTED",
}


def pose(x, y, frame="map"):
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x = float(x)
    message.pose.position.y = float(y)
    message.pose.orientation.w = 1.0
    return message


class Client(ActionClient):
    """An action client without rclpy's race: rclpy sends a request before it stores its number, and drops an answer that
    arrives in between."""

    def __init__(self, *arguments, **options):
        self._send_lock = threading.RLock()
        super().__init__(*arguments, **options)

    def send_goal_async(self, *arguments, **options):
        with self._send_lock:
            return super().send_goal_async(*arguments, **options)

    def _cancel_goal_async(self, goal_handle):
        with self._send_lock:
            return super()._cancel_goal_async(goal_handle)

    def _get_result_async(self, goal_handle):
        with self._send_lock:
            return super()._get_result_async(goal_handle)

    async def execute(self, taken_data):
        with self._send_lock:
            pass
        await super().execute(taken_data)


class Goal:
    """A goal that was sent."""

    def __init__(self, graph, client, message, patience=PATIENCE):
        self.graph = graph
        self.feedback = []
        self.sent = time.monotonic()
        future = client.send_goal_async(message, feedback_callback=self._on_feedback)
        self.handle = graph.result(future, patience, "answer to the goal request")
        self._result = self.handle.get_result_async() if self.handle.accepted else None
        #: The time at which the result arrived.
        self.ended = None
        if self._result:
            self._result.add_done_callback(self._on_result)

    def _on_result(self, _):
        self.ended = time.monotonic()

    def _on_feedback(self, message):
        self.feedback.append(message.feedback)

    @property
    def accepted(self):
        return self.handle.accepted

    def cancel(self):
        """Sends a cancel request and returns its answer."""
        return self.graph.result(self.handle.cancel_goal_async(), PATIENCE, "answer to the cancel request")

    def result(self, timeout=PATIENCE):
        """The name of the final status and the result."""
        answer = self.graph.result(self._result, timeout, "result of the navigation")
        return NAMES.get(answer.status, answer.status), answer.result

    def done(self):
        return self._result.done()


class Navigation:
    """Clients of both navigate actions."""

    def __init__(self, graph, namespace=""):
        self.graph = graph
        prefix = f"{namespace}/" if namespace else ""

        def client(action, name):
            # One thread at a time: two threads change the order of feedback, and if both see the end of a goal, both remove
            # it and the exception ends the executor. The queue holds all feedback, also while the reader waits.
            feedback = QoSProfile(depth=1000)
            group = MutuallyExclusiveCallbackGroup()
            return Client(graph.node, action, f"{prefix}{name}", callback_group=group, feedback_sub_qos_profile=feedback)

        self.to_pose = client(NavigateToPose, "navigate_to_pose")
        self.through_poses = client(NavigateThroughPoses, "navigate_through_poses")

    def wait(self, timeout=PATIENCE):
        """Waits until the node has its action servers."""

        def what():
            node = self.graph.node
            return f"the navigate actions; services: {node.get_service_names_and_types()}; nodes: {node.get_node_names()}"

        for client in (self.to_pose, self.through_poses):
            wait_for(client.server_is_ready, timeout, what)

    def warm_up(self, tries=10):
        """Waits until both sides of the actions are matched. Sends goals that are aborted before they reach any server."""
        for client, action in ((self.to_pose, NavigateToPose), (self.through_poses, NavigateThroughPoses)):
            message = action.Goal(behavior_tree="/nowhere/warm_up.xml")
            handle = self.graph.ask(lambda: client.send_goal_async(message), "answer to the first goal request", tries)
            if handle.accepted:
                self.graph.ask(handle.get_result_async, "result of the first goal")

    def send(self, x, y, tree="", frame="map", stamp=None, patience=PATIENCE):
        message = NavigateToPose.Goal(pose=pose(x, y, frame), behavior_tree=str(tree))
        if stamp is not None:
            message.pose.header.stamp = stamp
        return Goal(self.graph, self.to_pose, message, patience)

    def send_through(self, points, tree=""):
        message = NavigateThroughPoses.Goal(poses=[pose(x, y) for x, y in points], behavior_tree=str(tree))
        return Goal(self.graph, self.through_poses, message)
