"""An action server with faults, in a process that may be killed.

It is made of the three services and two topics of an action instead of rclpy's `ActionServer`, which would not answer
twice, answer for another goal, or answer a result before the acceptance. One thread: requests and timed deeds in turn.
"""

import heapq
import os
import signal
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import rclpy
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from nav2_msgs.action import FollowPath
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_services_default

from .plan import calm

Impl = FollowPath.Impl
#: Goals are forgotten this long after they ended, as a real server does by its result timeout.
RETENTION = 30.0


@dataclass
class Goal:
    """One goal, with the plan of the trial in which it was requested."""

    id: bytes
    plan: object
    dice: object
    status: int = GoalStatus.STATUS_UNKNOWN
    ended: float = 0.0
    cancels: int = 0
    #: Cancel requests that are not heeded, and result requests that are not answered.
    deaf: int = 0
    lost: int = 0
    #: Result requests that wait for the end.
    asked: list = field(default_factory=list)
    #: What is held back until the goal has ended.
    held: list = field(default_factory=list)
    #: Whether its fault has acted.
    acted: bool = False
    #: Feedback messages of a flood so far.
    sent: int = 0

    def live(self):
        return self.status in (GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class Server:
    """The server. Every step is told through `report(kind, goal id, trial number)` before it can be seen on the wire."""

    def __init__(self, node, name, report):
        self.node, self.report = node, report
        self.plan = calm()
        self.goals = {}
        self.deeds = []
        self._count = 0
        qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.status_topic = node.create_publisher(GoalStatusArray, f"{name}/_action/status", qos)
        self.feedback_topic = node.create_publisher(Impl.FeedbackMessage, f"{name}/_action/feedback", 10)
        self.services = []
        for suffix, kind, handler in (
            ("send_goal", Impl.SendGoalService, self.on_goal),
            ("cancel_goal", CancelGoal, self.on_cancel),
            ("get_result", Impl.GetResultService, self.on_result),
        ):
            service = node.create_service(
                kind, f"{name}/_action/{suffix}", lambda *_: None, qos_profile=qos_profile_services_default
            )
            self.services.append((service, handler))
        self.send_goal, self.cancel_goal, self.get_result = (service for service, _ in self.services)

    # The loop.

    def later(self, seconds, deed, *arguments):
        self._count += 1
        heapq.heappush(self.deeds, (time.monotonic() + seconds, self._count, deed, arguments))

    def step(self, wait_set, commands, guard):
        """Waits for a request, a command or the next deed, and does what is due."""
        left = max(0.0, self.deeds[0][0] - time.monotonic()) if self.deeds else 1.0
        wait_set.clear_entities()
        wait_set.add_guard_condition(guard.handle)
        for service, _ in self.services:
            wait_set.add_service(service.handle)
        wait_set.wait(int(left * 1e9))
        while commands:
            self.plan = commands.popleft()
        for service, handler in self.services:
            while True:
                request, header = service.handle.service_take_request(service.srv_type.Request)
                if request is None:
                    break
                handler(request, header.request_id)
        while self.deeds and self.deeds[0][0] <= time.monotonic():
            _, _, deed, arguments = heapq.heappop(self.deeds)
            deed(*arguments)

    def answer(self, goal, service, response, header):
        if goal is not None and goal.plan.fault == "answer twice":
            self.act(goal)
            service.handle.service_send_response(response, header)
            self.later(goal.dice.choice([0.0, 0.02]), service.handle.service_send_response, response, header)
        else:
            service.handle.service_send_response(response, header)

    def act(self, goal):
        """Tells, once, that the fault of a goal's plan has acted."""
        if not goal.acted:
            goal.acted = True
            self.report("acted", goal.id, goal.plan.number)

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    # A goal's life.

    def on_goal(self, request, header):
        identity = bytes(request.goal_id.uuid)
        plan = self.plan
        goal = Goal(identity, plan, plan.dice(identity.hex()))
        self.goals[identity] = goal
        dice = goal.dice
        self.report("requested", identity, plan.number)
        if plan.phase == "request":
            self.die()
        delay = plan.acceptance_delay(dice)
        if plan.fault == "refuse":
            self.later(delay, self.refuse, goal, header)
        elif plan.fault == "never answer" and plan.moment.startswith("before") and dice.random() < 0.5:
            self.report("ignored", identity, plan.number)
            self.act(goal)
        else:
            self.later(delay, self.accept, goal, header)

    def refuse(self, goal, header):
        self.report("refused", goal.id, goal.plan.number)
        self.act(goal)
        self.answer(goal, self.send_goal, Impl.SendGoalService.Response(accepted=False), header)

    def accept(self, goal, header):
        fault, dice = goal.plan.fault, goal.dice
        goal.status = GoalStatus.STATUS_EXECUTING
        goal.deaf = dice.randint(1, 3) if fault == "ignore cancel" else 0
        goal.lost = dice.randint(1, 2) if fault == "lose the result" else 0
        self.report("accepted", goal.id, goal.plan.number)
        if fault in ("accept late", "never answer", "out of order", "feedback flood", "wrong goal id"):
            self.act(goal)
        response = Impl.SendGoalService.Response(accepted=True, stamp=self.node.get_clock().now().to_msg())
        if fault == "out of order":
            # Status, feedback and perhaps the result come before the acceptance.
            goal.held.append((self.send_goal, response, header))
            self.later(dice.uniform(0.02, 0.3), self.release, goal)
            self.feedback(goal.id)
        elif fault != "never answer":
            self.answer(goal, self.send_goal, response, header)
        self.publish_status(goal)
        if fault == "feedback flood":
            self.flood(goal, time.monotonic())
        if fault == "wrong goal id":
            self.feedback(os.urandom(16))
        if goal.plan.phase == "executing":
            # Not later than its goal: the next trial's faults are its own.
            self.later(dice.uniform(0.0, 0.03), lambda: goal.live() and self.die())
        if goal.plan.moment == "after the result":
            self.later(dice.uniform(0.0, 0.04), self.end, goal, GoalStatus.STATUS_SUCCEEDED)

    def release(self, goal):
        held, goal.held = goal.held, []
        for service, response, header in held:
            self.answer(goal, service, response, header)

    def on_cancel(self, request, header):
        identity = bytes(request.goal_info.goal_id.uuid)
        goal = self.goals.get(identity)
        response = CancelGoal.Response()
        if goal is None or goal.status == GoalStatus.STATUS_UNKNOWN:
            response.return_code = CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID
            self.answer(goal, self.cancel_goal, response, header)
            return
        if not goal.live():
            response.return_code = CancelGoal.Response.ERROR_GOAL_TERMINATED
            self.answer(goal, self.cancel_goal, response, header)
            return
        goal.cancels += 1
        self.report("cancel", identity, goal.plan.number)
        if goal.plan.phase == "cancel":
            self.die()
        fault, dice = goal.plan.fault, goal.dice
        if fault == "cancel slowly":
            self.act(goal)
        if goal.cancels <= goal.deaf:
            self.act(goal)
            # Silent, refusing, or saying yes and going on.
            how = dice.choice(["silent", "refuse", "go on"])
            if how == "refuse":
                response.return_code = CancelGoal.Response.ERROR_REJECTED
            elif how == "go on":
                response.goals_canceling.append(self.info(goal.id))
            if how != "silent":
                self.answer(goal, self.cancel_goal, response, header)
            return
        if fault == "wrong goal id":
            response.goals_canceling.append(self.info(os.urandom(16)))
        response.goals_canceling.append(self.info(goal.id))
        slow = fault == "cancel slowly"
        if fault == "out of order":
            goal.held.append((self.cancel_goal, response, header))
            self.later(dice.uniform(0.02, 0.3), self.release, goal)
        else:
            delay = dice.uniform(0.05, 0.3) if slow else 0.0
            self.later(delay, self.answer, goal, self.cancel_goal, response, header)
        goal.status = GoalStatus.STATUS_CANCELING
        self.publish_status(goal)
        seconds = dice.uniform(0.1, 0.6) if slow else dice.uniform(0.0, 0.01)
        if goal.plan.moment == "cancelling":
            seconds = max(seconds, 0.06)
        elif goal.plan.moment == "before send":
            # Time for another goal to wait for this one, and to be halted while it waits.
            seconds = max(seconds, 0.12)
        self.later(seconds, self.end, goal, GoalStatus.STATUS_CANCELED)

    def end(self, goal, status):
        if not goal.live():
            return
        goal.status, goal.ended = status, time.monotonic()
        self.report("ended", goal.id, goal.plan.number)
        if goal.plan.phase == "end":
            self.die()
        quiet = goal.plan.fault == "lose the result" and goal.dice.random() < 0.5
        if not quiet:
            self.publish_status(goal)
        asked, goal.asked = goal.asked, []
        for header in asked:
            self.result(goal, header)

    def on_result(self, request, header):
        goal = self.goals.get(bytes(request.goal_id.uuid))
        if goal is None or goal.status == GoalStatus.STATUS_UNKNOWN:
            self.answer(goal, self.get_result, Impl.GetResultService.Response(), header)
        elif goal.live():
            goal.asked.append(header)
        else:
            self.result(goal, header)

    def result(self, goal, header):
        if goal.lost > 0:
            goal.lost -= 1
            self.act(goal)
            return
        response = Impl.GetResultService.Response(status=goal.status)
        # Out of order: the results of later goals overtake this one.
        delay = goal.dice.uniform(0.0, 0.4) if goal.plan.fault == "out of order" else 0.0
        self.later(delay, self.answer, goal, self.get_result, response, header)

    # What is published.

    def info(self, identity):
        info = GoalInfo()
        info.goal_id.uuid = list(identity)
        info.stamp = self.node.get_clock().now().to_msg()
        return info

    def publish_status(self, goal):
        now = time.monotonic()
        self.goals = {key: g for key, g in self.goals.items() if not g.ended or now - g.ended < RETENTION}
        message = GoalStatusArray()
        if goal.plan.fault == "wrong goal id":
            for status in (GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_SUCCEEDED):
                message.status_list.append(GoalStatus(goal_info=self.info(os.urandom(16)), status=status))
        for one in self.goals.values():
            # A real server drops what has ended after a while; a short list keeps this one fast.
            if one.status != GoalStatus.STATUS_UNKNOWN and (one.live() or now - one.ended < 2.0):
                message.status_list.append(GoalStatus(goal_info=self.info(one.id), status=one.status))
        self.status_topic.publish(message)

    def feedback(self, identity):
        message = Impl.FeedbackMessage()
        message.goal_id.uuid = list(identity)
        self.feedback_topic.publish(message)

    def flood(self, goal, since):
        """Ten thousand a second, or as many as there is time for."""
        if not goal.live():
            return
        due = int((time.monotonic() - since) * 1e4) - goal.sent
        for _ in range(min(due, 100)):
            self.feedback(goal.id)
        goal.sent += due
        self.later(0.002, self.flood, goal, since)


def serve(pipe, domain, name):
    """The process: takes plans from the pipe until it is closed, and reports into it."""
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = Node("faulty_server", context=context, enable_rosout=False, start_parameter_services=False)
    server = Server(node, name, lambda *event: pipe.send(event))
    commands = deque()
    guard = node.create_guard_condition(lambda: None)

    def listen():
        try:
            while True:
                commands.append(pipe.recv())
                guard.trigger()
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    pipe.send(("up", b"", -1))
    matched = False
    wait_set = rcl.WaitSet(0, 1, 0, 0, len(server.services), 0, context.handle)
    while True:
        if not matched:
            matched = server.status_topic.get_subscription_count() > 0
            if matched:
                pipe.send(("matched", b"", -1))
            else:
                server.later(0.02, lambda: None)
        server.step(wait_set, commands, guard)
