"""Action servers that record the time at which a request was written. They run in their own process and thread.

The header of a request has the time at which its writer passed it to the middleware. This time is measured; the time that
Python needs to take the request does not count.
"""

import os
import random
import threading
import time

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from nav2_msgs import action as nav2
from nav2_msgs.srv import ClearEntireCostmap
from support.raw_action_server import EventLoop, RawActionServer, reply
from support.servers import straight_path

#: Feedback period of a goal of mode `stay`, in s: that of the Nav2 measurement.
FEEDBACK_PERIOD = 0.05
#: A process whose parent does not end it ends itself after this time, in s.
LIFETIME = 1800.0


class Server(RawActionServer):
    """One action. ``mode``: `stay` executes until cancelled, `step` ends at a random time shortly after the result request,
    `plan` ends at once, `silent` answers nothing. ``record(kind, name, time)`` is called for each event."""

    def __init__(self, loop, record, name, action, mode):
        self.record, self.mode = record, mode
        self.goals = {}
        #: The responses to repeated result requests.
        self.ended = {}
        super().__init__(loop, name, action, silent=mode == "silent")

    def on_goal(self, request, header):
        identity = bytes(request.goal_id.uuid)
        self.record("goal", self.name, header.source_timestamp)
        reply(self.send_goal, self.action.Impl.SendGoalService.Response(accepted=True, stamp=self.now()), header)
        self.goals[identity] = (request.goal, None)
        if self.mode == "stay":
            self.loop.later(FEEDBACK_PERIOD, self.send_feedback, identity)

    def send_feedback(self, identity):
        if identity in self.goals:
            self.publish_feedback(identity)
            self.loop.later(FEEDBACK_PERIOD, self.send_feedback, identity)

    def on_result(self, request, header):
        identity = bytes(request.goal_id.uuid)
        if identity not in self.goals:
            reply(self.get_result, self.ended.get(identity, self.action.Impl.GetResultService.Response()), header)
            return
        goal, first = self.goals[identity]
        self.goals[identity] = (goal, header)
        if first is not None:
            return
        # The client knows that its goal was accepted, and both sides of the service are matched.
        self.record("asked", self.name, header.source_timestamp)
        if self.mode == "plan":
            self.end(identity, GoalStatus.STATUS_SUCCEEDED)
        elif self.mode == "step":
            # A random moment between two ticks of the node.
            self.loop.later(random.uniform(0.002, 0.012), self.end, identity, GoalStatus.STATUS_SUCCEEDED)

    def on_cancel(self, request, header):
        self.record("cancel", self.name, header.source_timestamp)
        identity = bytes(request.goal_info.goal_id.uuid)
        response = CancelGoal.Response()
        if identity in self.goals:
            response.goals_canceling.append(request.goal_info)
        reply(self.cancel_goal, response, header)
        self.end(identity, GoalStatus.STATUS_CANCELED)

    def end(self, identity, status):
        if identity not in self.goals:
            return
        goal, header = self.goals.pop(identity)
        response = self.action.Impl.GetResultService.Response(status=status)
        if hasattr(response.result, "planning_time"):
            response.result = straight_path(goal)
        self.ended[identity] = response
        if header is None:
            return
        written = time.time_ns()
        reply(self.get_result, response, header)
        self.record("result", self.name, written)


def serve(pipe, domain, servers):
    """The main function of the process. ``servers`` are tuples of name, action and mode. Ends when the pipe is closed."""
    threading.Timer(LIFETIME, os._exit, [1]).start()
    loop = EventLoop(domain, "measured_servers")

    def record(*event):
        pipe.send(event)

    for name, action, mode in servers:
        Server(loop, record, name, getattr(nav2, action), mode)
    clears = {}
    for costmap in ("global", "local"):
        name = f"{costmap}_costmap/clear_entirely_{costmap}_costmap"

        def clear(_, header, name=name):
            reply(clears[name], ClearEntireCostmap.Response(), header)

        clears[name] = loop.serve(ClearEntireCostmap, name, clear)

    def listen():
        try:
            pipe.recv()
        except (EOFError, OSError):
            pass
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    record("up", "", 0)
    while True:
        loop.run_once()
