"""Action servers that note when a request was written to the wire, in a process and a thread of their own.

Made of the three services and two topics of an action instead of rclpy's `ActionServer`: a request's header carries the
time at which its writer handed it to the middleware, which is what is measured, whatever Python needs to take it.
"""

import heapq
import os
import random
import threading
import time

import rclpy
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from nav2_msgs import action as nav2
from nav2_msgs.srv import ClearEntireCostmap
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from support.servers import straight_path

#: Feedback of a goal that stays, as in `nav2_measured.md`.
FEEDBACK_PERIOD = 0.05
#: A process that nobody ends does so itself, seconds.
LIFETIME = 1800.0


class Server:
    """One action. ``mode``: `stay` executes until cancelled, `step` ends a moment after its result was asked for,
    `plan` ends at once, `silent` is there and answers nothing."""

    def __init__(self, host, name, action, mode):
        self.host, self.name, self.action, self.mode = host, name, action, mode
        node, impl = host.node, action.Impl
        qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.status = node.create_publisher(GoalStatusArray, f"{name}/_action/status", qos)
        self.feedback = node.create_publisher(impl.FeedbackMessage, f"{name}/_action/feedback", 10)
        self.goals = {}
        #: Results are asked for again where an answer was late.
        self.ended = {}
        for suffix, kind, handler in (
            ("send_goal", impl.SendGoalService, self.on_goal),
            ("cancel_goal", CancelGoal, self.on_cancel),
            ("get_result", impl.GetResultService, self.on_result),
        ):
            host.serve(kind, f"{name}/_action/{suffix}", handler if mode != "silent" else None)

    def on_goal(self, service, request, header):
        identity = bytes(request.goal_id.uuid)
        self.host.note("goal", self.name, header.source_timestamp)
        response = self.action.Impl.SendGoalService.Response(accepted=True)
        response.stamp = self.host.node.get_clock().now().to_msg()
        service.handle.service_send_response(response, header.request_id)
        self.goals[identity] = (request.goal, None)
        if self.mode == "stay":
            self.host.later(FEEDBACK_PERIOD, self.send_feedback, identity)

    def send_feedback(self, identity):
        if identity in self.goals:
            message = self.action.Impl.FeedbackMessage()
            message.goal_id.uuid = list(identity)
            self.feedback.publish(message)
            self.host.later(FEEDBACK_PERIOD, self.send_feedback, identity)

    def on_result(self, service, request, header):
        identity = bytes(request.goal_id.uuid)
        if identity not in self.goals:
            response = self.ended.get(identity, self.action.Impl.GetResultService.Response())
            service.handle.service_send_response(response, header.request_id)
            return
        goal, asked = self.goals[identity]
        self.goals[identity] = (goal, (service, header.request_id))
        if asked is not None:
            return
        # Its goal was accepted, and both sides of the service are matched.
        self.host.note("asked", self.name, header.source_timestamp)
        if self.mode == "plan":
            self.end(identity, GoalStatus.STATUS_SUCCEEDED)
        elif self.mode == "step":
            # Anywhere between two ticks of the node.
            self.host.later(random.uniform(0.002, 0.012), self.end, identity, GoalStatus.STATUS_SUCCEEDED)

    def on_cancel(self, service, request, header):
        self.host.note("cancel", self.name, header.source_timestamp)
        identity = bytes(request.goal_info.goal_id.uuid)
        response = CancelGoal.Response()
        if identity in self.goals:
            response.goals_canceling.append(request.goal_info)
        service.handle.service_send_response(response, header.request_id)
        self.end(identity, GoalStatus.STATUS_CANCELED)

    def end(self, identity, status):
        if identity not in self.goals:
            return
        goal, asked = self.goals.pop(identity)
        response = self.action.Impl.GetResultService.Response(status=status)
        if self.mode == "plan":
            response.result = straight_path(goal)
        self.ended[identity] = response
        if asked is None:
            return
        service, header = asked
        written = time.time_ns()
        service.handle.service_send_response(response, header)
        self.host.note("result", self.name, written)


class Host:
    """Everything on one node and one thread: requests and timed deeds in turn."""

    def __init__(self, pipe, domain, name):
        self.pipe = pipe
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node(name, context=self.context, enable_rosout=False, start_parameter_services=False)
        self.services, self.deeds, self._count = [], [], 0

    def serve(self, kind, name, handler):
        service = self.node.create_service(kind, name, lambda *_: None)
        if handler:
            self.services.append((service, handler))

    def note(self, *event):
        self.pipe.send(event)

    def later(self, seconds, deed, *arguments):
        self._count += 1
        heapq.heappush(self.deeds, (time.monotonic() + seconds, self._count, deed, arguments))

    def run(self):
        wait_set = rcl.WaitSet(0, 0, 0, 0, len(self.services), 0, self.context.handle)
        while True:
            left = max(0.0, self.deeds[0][0] - time.monotonic()) if self.deeds else 1.0
            wait_set.clear_entities()
            for service, _ in self.services:
                wait_set.add_service(service.handle)
            wait_set.wait(int(left * 1e9))
            for service, handler in self.services:
                while True:
                    request, header = service.handle.service_take_request(service.srv_type.Request)
                    if request is None:
                        break
                    handler(service, request, header)
            while self.deeds and self.deeds[0][0] <= time.monotonic():
                _, _, deed, arguments = heapq.heappop(self.deeds)
                deed(*arguments)


def serve(pipe, domain, servers):
    """The process: ``servers`` are names, names of actions and modes. Ends when the pipe is closed."""
    threading.Timer(LIFETIME, os._exit, [1]).start()
    host = Host(pipe, domain, "measured_servers")
    for name, action, mode in servers:
        Server(host, name, getattr(nav2, action), mode)
    for costmap in ("global", "local"):
        host.serve(
            ClearEntireCostmap,
            f"{costmap}_costmap/clear_entirely_{costmap}_costmap",
            lambda service, _, header: service.handle.service_send_response(
                ClearEntireCostmap.Response(), header.request_id
            ),
        )

    def listen():
        try:
            pipe.recv()
        except (EOFError, OSError):
            pass
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    host.note("up", "", 0)
    host.run()
