"""An event loop with raw services, and an action server without rclpy's `ActionServer`: base of the servers that break the
protocol or measure it.

It has the three services and the two topics of an action. rclpy's `ActionServer` cannot answer a request twice or out of
order, and it hides the header of a request, which has the time at which the client wrote it.
"""

import heapq
import time
from collections import deque

import rclpy
from action_msgs.msg import GoalStatusArray
from action_msgs.srv import CancelGoal
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile


def reply(service, response, header):
    """Sends the response to a request."""
    service.handle.service_send_response(response, header.request_id)


class EventLoop:
    """One node and one thread, which handles calls of other threads, requests, responses and timers in turn."""

    def __init__(self, domain, node_name):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node(node_name, context=self.context, enable_rosout=False, start_parameter_services=False)
        self._services, self._clients, self._timers, self._calls = [], [], [], deque()
        self._timer_count = 0
        self._guard = self.node.create_guard_condition(lambda: None)
        self._wait_set = None

    def serve(self, kind, name, handler):
        """Creates a service. ``handler(request, header)`` calls `reply`; without a handler no request is answered."""
        service = self.node.create_service(kind, name, lambda *_: None)
        if handler:
            self._services.append((service, handler))
        return service

    def client(self, kind, name, handler):
        """Creates a client of a service. Its ``handle`` sends requests; ``handler(response, header)`` takes the responses."""
        client = self.node.create_client(kind, name)
        self._clients.append((client, handler))
        return client

    def later(self, seconds, function, *arguments):
        """Calls a function after a time."""
        self._timer_count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._timer_count, function, arguments))

    def call(self, function, *arguments):
        """Calls a function on the thread of the loop. Any thread may use this."""
        self._calls.append((function, arguments))
        self._guard.trigger()

    def run_once(self, longest=1.0):
        """Waits for an event, for a time at most, and handles all that are due."""
        if self._wait_set is None:
            self._wait_set = rcl.WaitSet(0, 1, 0, len(self._clients), len(self._services), 0, self.context.handle)
        left = min(longest, max(0.0, self._timers[0][0] - time.monotonic())) if self._timers else longest
        self._wait_set.clear_entities()
        self._wait_set.add_guard_condition(self._guard.handle)
        for service, _ in self._services:
            self._wait_set.add_service(service.handle)
        for client, _ in self._clients:
            self._wait_set.add_client(client.handle)
        self._wait_set.wait(int(left * 1e9))
        while self._calls:
            function, arguments = self._calls.popleft()
            function(*arguments)
        for service, handler in self._services:
            while True:
                request, header = service.handle.service_take_request(service.srv_type.Request)
                if request is None:
                    break
                handler(request, header)
        for client, handler in self._clients:
            while True:
                header, response = client.handle.take_response(client.srv_type.Response)
                if header is None:
                    break
                handler(response, header)
        # Runs only the timers due now. A timer that restarts itself may be due at once, and requests would never be read.
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            _, _, function, arguments = heapq.heappop(self._timers)
            function(*arguments)

    def close(self):
        """Ends the node."""
        self.node.destroy_node()
        self.context.try_shutdown()


class RawActionServer:
    """The endpoints of one action. Subclasses implement ``on_goal``, ``on_cancel`` and ``on_result``."""

    def __init__(self, loop, name, action, silent=False):
        self.loop, self.name, self.action = loop, name, action
        impl = action.Impl
        qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.status_topic = loop.node.create_publisher(GoalStatusArray, f"{name}/_action/status", qos)
        self.feedback_topic = loop.node.create_publisher(impl.FeedbackMessage, f"{name}/_action/feedback", 10)
        self.send_goal, self.cancel_goal, self.get_result = (
            loop.serve(kind, f"{name}/_action/{suffix}", None if silent else handler)
            for suffix, kind, handler in (
                ("send_goal", impl.SendGoalService, self.on_goal),
                ("cancel_goal", CancelGoal, self.on_cancel),
                ("get_result", impl.GetResultService, self.on_result),
            )
        )

    def on_goal(self, request, header):
        """A goal request."""
        raise NotImplementedError

    def on_cancel(self, request, header):
        """A cancel request."""
        raise NotImplementedError

    def on_result(self, request, header):
        """A result request."""
        raise NotImplementedError

    def now(self):
        """The current ROS time as a message."""
        return self.loop.node.get_clock().now().to_msg()

    def publish_feedback(self, goal_id):
        """Publishes empty feedback."""
        message = self.action.Impl.FeedbackMessage()
        message.goal_id.uuid = list(goal_id)
        self.feedback_topic.publish(message)
