"""An action client that records when a response arrived.

rclpy's `ActionClient` hides the header of a response, which has the time at which the middleware received it. The time that
Python needs to take the response does not count.
"""

import time
import uuid

from action_msgs.msg import GoalStatusArray
from action_msgs.srv import CancelGoal


class SentGoal:
    """A goal of the client. Times are nanoseconds of the system clock."""

    def __init__(self, identity):
        self.identity = identity
        self.sent = time.time_ns()
        #: Whether the server accepted the goal; None before its answer.
        self.accepted = None
        #: The final status; None before the result.
        self.status = None
        #: The time at which the result was received.
        self.ended = None

    def done(self):
        return self.ended is not None


class MeasuringClient:
    """The client of one action, on the node of an `EventLoop`. It requests the result of each goal that is accepted."""

    def __init__(self, loop, action, name):
        impl = self._impl = action.Impl
        self._goals = {}
        self._goal_client = loop.client(impl.SendGoalService, f"{name}/_action/send_goal", self._on_answer)
        self._cancel_client = loop.client(CancelGoal, f"{name}/_action/cancel_goal", lambda *_: None)
        self._result_client = loop.client(impl.GetResultService, f"{name}/_action/get_result", self._on_result)
        # The topics that a client of rclpy subscribes to: they are part of the load. Nothing reads them.
        node = loop.node
        self._topics = [
            node.create_subscription(impl.FeedbackMessage, f"{name}/_action/feedback", lambda _: None, 10),
            node.create_subscription(GoalStatusArray, f"{name}/_action/status", lambda _: None, 10),
        ]

    def is_ready(self):
        clients = (self._goal_client, self._cancel_client, self._result_client)
        return all(client.service_is_ready() for client in clients)

    def send(self, message):
        """Sends a goal. Its answers arrive while the loop runs."""
        identity = uuid.uuid4().bytes
        request = self._impl.SendGoalService.Request(goal=message)
        request.goal_id.uuid = list(identity)
        goal = SentGoal(identity)
        self._goals["goal", self._goal_client.handle.send_request(request)] = goal
        return goal

    def cancel(self, goal):
        """Cancels a goal. Returns the time before the request is written."""
        request = CancelGoal.Request()
        request.goal_info.goal_id.uuid = list(goal.identity)
        sent = time.time_ns()
        self._cancel_client.handle.send_request(request)
        return sent

    def _on_answer(self, response, header):
        goal = self._goals.pop(("goal", header.request_id.sequence_number))
        goal.accepted = response.accepted
        if goal.accepted:
            request = self._impl.GetResultService.Request()
            request.goal_id.uuid = list(goal.identity)
            self._goals["result", self._result_client.handle.send_request(request)] = goal

    def _on_result(self, response, header):
        goal = self._goals.pop(("result", header.request_id.sequence_number))
        goal.status, goal.ended = response.status, header.received_timestamp
