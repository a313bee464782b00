"""An action server with faults, in a process that may be killed."""

import os
import signal
import threading
import time
from dataclasses import dataclass, field

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from nav2_msgs.action import FollowPath
from support.raw_action_server import EventLoop, RawActionServer, reply

from .plan import no_fault

Impl = FollowPath.Impl
#: The server forgets a goal this many seconds after it ended, like a real server after its result timeout.
RETENTION = 30.0


@dataclass
class Goal:
    """One goal, with the plan of the trial that sent it."""

    id: bytes
    plan: object
    rng: object
    status: int = GoalStatus.STATUS_UNKNOWN
    ended: float = 0.0
    cancels: int = 0
    #: Number of cancel requests to ignore, and of result requests not to answer.
    ignored_cancels: int = 0
    unanswered_results: int = 0
    #: Headers of the result requests that wait for the end.
    waiting: list = field(default_factory=list)
    #: Delayed responses: service, response, header.
    delayed: list = field(default_factory=list)
    #: Whether its fault occurred.
    fault_occurred: bool = False
    #: Number of feedback messages sent by a flood.
    sent: int = 0

    def live(self):
        return self.status in (GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class FaultyServer(RawActionServer):
    """The server. It calls `report(kind, goal id, trial number)` for each step before the step is visible to the client."""

    def __init__(self, loop, name, report):
        self.report = report
        self.plan = no_fault()
        self.goals = {}
        super().__init__(loop, name, FollowPath)

    def follow(self, plan):
        """Uses a plan for all goals requested from now on."""
        self.plan = plan

    def later(self, seconds, function, *arguments):
        self.loop.later(seconds, function, *arguments)

    def answer(self, goal, service, response, header):
        if goal is not None and goal.plan.fault == "answer twice":
            self.report_fault(goal)
            reply(service, response, header)
            self.later(goal.rng.choice([0.0, 0.02]), reply, service, response, header)
        else:
            reply(service, response, header)

    def report_fault(self, goal):
        """Reports once that the fault of the goal's plan occurred."""
        if not goal.fault_occurred:
            goal.fault_occurred = True
            self.report("acted", goal.id, goal.plan.number)

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    # Requests and steps of a goal.

    def on_goal(self, request, header):
        identity = bytes(request.goal_id.uuid)
        plan = self.plan
        goal = Goal(identity, plan, plan.rng(identity.hex()))
        self.goals[identity] = goal
        rng = goal.rng
        self.report("requested", identity, plan.number)
        if plan.phase == "request":
            self.die()
        delay = plan.acceptance_delay(rng)
        if plan.fault == "refuse":
            self.later(delay, self.refuse, goal, header)
        elif plan.fault == "never answer" and plan.moment.startswith("before") and rng.random() < 0.5:
            self.report("ignored", identity, plan.number)
            self.report_fault(goal)
        else:
            self.later(delay, self.accept, goal, header)

    def refuse(self, goal, header):
        self.report("refused", goal.id, goal.plan.number)
        self.report_fault(goal)
        self.answer(goal, self.send_goal, Impl.SendGoalService.Response(accepted=False), header)

    def accept(self, goal, header):
        fault, rng = goal.plan.fault, goal.rng
        goal.status = GoalStatus.STATUS_EXECUTING
        goal.ignored_cancels = rng.randint(1, 3) if fault == "ignore cancel" else 0
        goal.unanswered_results = rng.randint(1, 2) if fault == "lose the result" else 0
        self.report("accepted", goal.id, goal.plan.number)
        if fault in ("accept late", "never answer", "out of order", "feedback flood", "wrong goal id"):
            self.report_fault(goal)
        response = Impl.SendGoalService.Response(accepted=True, stamp=self.now())
        if fault == "out of order":
            # Status, feedback and possibly the result come before the acceptance.
            goal.delayed.append((self.send_goal, response, header))
            self.later(rng.uniform(0.02, 0.3), self.release, goal)
            self.publish_feedback(goal.id)
        elif fault != "never answer":
            self.answer(goal, self.send_goal, response, header)
        self.publish_status(goal)
        if fault == "feedback flood":
            self.flood(goal, time.monotonic())
        if fault == "wrong goal id":
            self.publish_feedback(os.urandom(16))
        if goal.plan.phase == "executing":
            # The server must not die after the end of the goal: the next trial has its own faults.
            self.later(rng.uniform(0.0, 0.03), lambda: goal.live() and self.die())
        if goal.plan.moment == "after the result":
            self.later(rng.uniform(0.0, 0.04), self.end, goal, GoalStatus.STATUS_SUCCEEDED)

    def release(self, goal):
        delayed, goal.delayed = goal.delayed, []
        for service, response, header in delayed:
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
        fault, rng = goal.plan.fault, goal.rng
        if fault == "cancel slowly":
            self.report_fault(goal)
        if goal.cancels <= goal.ignored_cancels:
            self.report_fault(goal)
            # Ignore the cancel, reject it, or accept it and continue.
            how = rng.choice(["silent", "refuse", "go on"])
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
            goal.delayed.append((self.cancel_goal, response, header))
            self.later(rng.uniform(0.02, 0.3), self.release, goal)
        else:
            delay = rng.uniform(0.05, 0.3) if slow else 0.0
            self.later(delay, self.answer, goal, self.cancel_goal, response, header)
        goal.status = GoalStatus.STATUS_CANCELING
        self.publish_status(goal)
        seconds = rng.uniform(0.1, 0.6) if slow else rng.uniform(0.0, 0.01)
        if goal.plan.moment == "cancelling":
            seconds = max(seconds, 0.06)
        elif goal.plan.moment == "before send":
            # Time in which another goal waits for this one and is halted while it waits.
            seconds = max(seconds, 0.12)
        self.later(seconds, self.end, goal, GoalStatus.STATUS_CANCELED)

    def end(self, goal, status):
        if not goal.live():
            return
        goal.status, goal.ended = status, time.monotonic()
        self.report("ended", goal.id, goal.plan.number)
        if goal.plan.phase == "end":
            self.die()
        quiet = goal.plan.fault == "lose the result" and goal.rng.random() < 0.5
        if not quiet:
            self.publish_status(goal)
        waiting, goal.waiting = goal.waiting, []
        for header in waiting:
            self.result(goal, header)

    def on_result(self, request, header):
        goal = self.goals.get(bytes(request.goal_id.uuid))
        if goal is None or goal.status == GoalStatus.STATUS_UNKNOWN:
            self.answer(goal, self.get_result, Impl.GetResultService.Response(), header)
        elif goal.live():
            goal.waiting.append(header)
        else:
            self.result(goal, header)

    def result(self, goal, header):
        if goal.unanswered_results > 0:
            goal.unanswered_results -= 1
            self.report_fault(goal)
            return
        response = Impl.GetResultService.Response(status=goal.status)
        # Out of order: the results of later goals come before this one.
        delay = goal.rng.uniform(0.0, 0.4) if goal.plan.fault == "out of order" else 0.0
        self.later(delay, self.answer, goal, self.get_result, response, header)

    # Topics.

    def info(self, identity):
        info = GoalInfo()
        info.goal_id.uuid = list(identity)
        info.stamp = self.now()
        return info

    def publish_status(self, goal):
        now = time.monotonic()
        self.goals = {key: g for key, g in self.goals.items() if not g.ended or now - g.ended < RETENTION}
        message = GoalStatusArray()
        if goal.plan.fault == "wrong goal id":
            for status in (GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_SUCCEEDED):
                message.status_list.append(GoalStatus(goal_info=self.info(os.urandom(16)), status=status))
        for one in self.goals.values():
            # A real server drops ended goals after a while. A short list keeps this server fast.
            if one.status != GoalStatus.STATUS_UNKNOWN and (one.live() or now - one.ended < 2.0):
                message.status_list.append(GoalStatus(goal_info=self.info(one.id), status=one.status))
        self.status_topic.publish(message)

    def flood(self, goal, since):
        """Publishes 10,000 messages per second, or as many as possible."""
        if not goal.live():
            return
        due = int((time.monotonic() - since) * 1e4) - goal.sent
        for _ in range(min(due, 100)):
            self.publish_feedback(goal.id)
        goal.sent += due
        self.later(0.002, self.flood, goal, since)


def serve(pipe, domain, name):
    """The main function of the process. Takes plans from the pipe until it is closed, and sends reports to it."""
    loop = EventLoop(domain, "faulty_server")
    server = FaultyServer(loop, name, lambda *event: pipe.send(event))

    def listen():
        try:
            while True:
                loop.call(server.follow, pipe.recv())
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    pipe.send(("up", b"", -1))
    matched = False
    while True:
        if not matched:
            matched = server.status_topic.get_subscription_count() > 0
            if matched:
                pipe.send(("matched", b"", -1))
            else:
                loop.later(0.02, lambda: None)
        loop.run_once()
