"""Runs trials one after another, in a ROS domain with one navtree node, one faulty server and one client."""

import time
from collections import namedtuple

from sensor_msgs.msg import BatteryState
from support.client import Navigation
from support.executable import Executable
from support.graph import Graph
from support.transforms import publish_fixed_transforms

from .goal_counter import GoalCounter
from .plan import no_fault
from .rclpy_server import RclpyServer
from .sim_server import SimServer

#: A leaf under a condition. If the condition fails, the tree fails.
GUARDED = """
<root BTCPP_format="4"><BehaviorTree ID="Guarded">
  <Sequence>
    {prepare}
    <ReactiveSequence>
      <Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>
      {follow}
    </ReactiveSequence>
  </Sequence>
</BehaviorTree></root>
"""

#: Adds a second goal on the same server, which must wait until the first goal has stopped (G5).
REPLACED = """
<root BTCPP_format="4"><BehaviorTree ID="Replaced">
  <Sequence>
    {prepare}
    <ReactiveFallback>
      <ReactiveSequence>
        <Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>
        {follow}
      </ReactiveSequence>
      {other}
    </ReactiveFallback>
  </Sequence>
</BehaviorTree></root>
"""

#: Nav2's leaf, which does not use feedback, so nothing subscribes to it.
WITHOUT_FEEDBACK = '<FollowPath path="{{path}}" {more}/>'

#: A leaf with a port for feedback.
WITH_FEEDBACK = (
    '<RosAction server_name="follow_path" action_type="nav2_msgs/action/FollowPath" feedback.speed="{{speed}}"'
    " {goal} {more}/>"
)

PARAMETERS = {
    "autostart_node": True,
    "response_timeout": 200,
    "wait_for_service_timeout": 200,
    "default_cancel_timeout": 500,
    # The client gets its result soon. The trial continues until every goal has stopped.
    "stop_timeout": 400,
    "action_server_result_timeout": 10.0,
}

#: Number of trials after which the node is restarted.
TRIALS_PER_NODE = 100
#: Maximum time in s for all goals to end after a halt. The goal tracker gives up after 60 s.
PATIENCE = 30.0

Outcome = namedtuple("Outcome", "plan reached fault_occurred problems seconds")


class TrialRunner:
    """One node, one server and one client."""

    def __init__(self, domain, folder, kind):
        self.domain = domain
        self.counter = GoalCounter()
        # One thread: with several, rclpy's action client may remove a goal twice, and the exception ends its executor.
        self.graph = Graph(domain, "soak", threads=1)
        self.server = RclpyServer(domain) if kind == "rclpy" else SimServer(domain, self.graph)
        self.trees = {}
        for with_feedback in (False, True):
            for name, text in (("guarded", GUARDED), ("replaced", REPLACED)):
                path = folder / f"{name}-{'feedback' if with_feedback else 'no_feedback'}-{domain}.xml"
                path.write_text(self._fill(text, with_feedback))
                self.trees[name, with_feedback] = path
        self.battery = self.graph.node.create_publisher(BatteryState, "/battery_status", 10)
        if self.server.NEEDS_TRANSFORMS:
            self.transforms = publish_fixed_transforms(self.graph.node)
        self.navigation = Navigation(self.graph)
        self.node = None
        self.needs_warm_up = True
        self.seen = []
        self.failures = self.server.failures

    def _fill(self, text, with_feedback):
        goal = 'goal.path="{path}"' if self.server.PREPARE else ""
        if with_feedback:
            leaves = [WITH_FEEDBACK.format(goal=goal, more=more) for more in ("", 'goal.controller_id="other"')]
        else:
            leaves = [WITHOUT_FEEDBACK.format(more=more) for more in ("", 'controller_id="other"')]
        return text.format(prepare=self.server.PREPARE, follow=leaves[0], other=leaves[1])

    # The server.

    def start_server(self):
        self.server.start()
        self.needs_warm_up = True

    def drain(self, timeout):
        """Counts the events of the server."""
        for kind, goal, trial in self.server.events(timeout):
            self.seen.append(kind)
            self.counter.note(kind, goal, trial)
            if kind == "died":
                self.needs_warm_up = True

    def until(self, condition, seconds):
        """Waits for a condition. Returns whether it became true in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.drain(0.002)
        return True

    # The node.

    def start_node(self):
        parameters = PARAMETERS | {"default_nav_to_pose_bt_xml": self.trees["guarded", False]}
        self.node = Executable("navtree", self.domain, parameters)
        self.navigation.wait(60.0)
        self.charge(0.9)
        assert self.warm_up(60.0), f"no goal of the node reached the server; seen {self.seen}"

    def warm_up(self, seconds):
        """Sends goals until one is accepted: the node creates its clients with the first, and both sides must be matched."""
        deadline = time.monotonic() + seconds
        self.seen.clear()
        while not ("accepted" in self.seen and self.battery.get_subscription_count()):
            if time.monotonic() > deadline:
                return False
            if not self.server.alive():
                # On a busy machine, the fault of the trial before may kill it as late as now.
                self.start_server()
            try:
                goal = self.navigation.send(1.0, 0.0, patience=3.0)
            except AssertionError:
                # The answer of the node was lost: the middleware matches endpoints one after another.
                continue
            self.until(lambda: goal.done() or "accepted" in self.seen, 2.0)
            if not goal.done():
                goal.cancel()
            self.until(lambda: goal.done() and self.counter.quiet(), PATIENCE)
        return True

    def restart_node(self):
        if self.node is not None and self.node.running():
            self.stop_node()
        self.start_node()

    def stop_node(self):
        """Ends the node as Ctrl-C does; its exit code must be 0."""
        self.node.interrupt()
        code, _ = self.node.wait(15.0)
        if code != 0:
            self.failures.append(f"the node ended with code {code}:\n{self.node.output[-4000:]}")
        self.node.close()

    def charge(self, level):
        self.battery.publish(BatteryState(percentage=level))

    # Trials.

    def trial(self, plan):
        started = time.monotonic()
        rng = plan.rng("lane")
        if not self.server.alive():
            self.start_server()
        if self.needs_warm_up:
            self.charge(0.9)
            self.needs_warm_up = not self.warm_up(15.0)
        self.seen.clear()
        self.charge(0.9)
        self.server.set_plan(plan)
        problems = []
        twice = plan.moment == "cancelling"
        with_feedback = plan.fault == "feedback flood" or rng.random() < 0.3
        goal = self.navigation.send(1.0, 0.0, tree=self.trees["replaced" if twice else "guarded", with_feedback])
        if not goal.accepted:
            return Outcome(plan, False, False, ["the navigation was rejected"], time.monotonic() - started)
        queued = plan.moment == "before send" and plan.fault != "refuse" and rng.random() < 0.7
        if queued:
            # The first goal is still stopping after its tree failed. The second goal waits for that (G5).
            self.until(lambda: "accepted" in self.seen or "died" in self.seen or goal.done(), 1.0)
            self.charge(0.1)
            self.until(goal.done, 2.0)
            self.charge(0.9)
            requests = self.seen.count("requested")
            goal = self.navigation.send(1.0, 0.0, tree=self.trees["guarded", with_feedback])
        reached = self.wait_for_moment(plan, goal, rng)
        if queued:
            reached = self.seen.count("requested") == requests
        by_battery = rng.random() < 0.5
        if twice:
            # The condition halts the leaf. While that goal stops and another goal waits for it, the client cancels.
            self.charge(0.1)
            reached = self.until(lambda: "cancel" in self.seen or goal.done(), 1.0) and "cancel" in self.seen
            self.until(lambda: False, rng.uniform(0.0, 0.03))
            by_battery = False
        if by_battery:
            self.charge(0.1)
        elif not goal.done():
            goal.cancel()
        if plan.phase is not None:
            # The server may die as late as now.
            self.until(lambda: "died" in self.seen or self.counter.quiet(), 0.3)
        if not self.server.alive():
            self.until(goal.done, 0.0 if plan.fault == "restart" else rng.uniform(0.1, 0.6))
            self.start_server()
        if not self.until(goal.done, PATIENCE):
            problems.append("the navigation had no result")
        self.charge(0.9)
        if not self.settled():
            problems.append(f"{len(self.counter.live)} goals still alive after {PATIENCE} s")
        if not self.node.running():
            problems.append("the node has ended")
        fault_occurred = plan.fault == "none" or ("died" if plan.phase else "acted") in self.seen
        self.server.set_plan(no_fault())
        return Outcome(plan, reached, fault_occurred, problems, time.monotonic() - started)

    def wait_for_moment(self, plan, goal, rng):
        """Waits for the moment of halting. Returns whether it came: a rejected goal never executes."""
        event = {
            "before send": None,
            "before acceptance": "requested",
            "executing": "accepted",
            "cancelling": "accepted",
            "after the result": "ended",
        }[plan.moment]
        if event is None:
            # Around the first tick, or the last tick of the planner: nothing was sent, or the goal was just sent.
            self.until(lambda: False, rng.choice([0.0, 0.0, 0.005, 0.01 if plan.server == "rclpy" else 0.05]))
            return "requested" not in self.seen
        self.until(lambda: event in self.seen or "died" in self.seen or goal.done(), 3.0)
        reached = event in self.seen
        if plan.moment in ("executing", "cancelling"):
            self.until(lambda: False, rng.uniform(0.0, 0.05))
        return reached

    def settled(self):
        """Waits until no goal executes for a moment: a request may still be on its way. Returns whether that is so."""
        if not self.until(self.counter.quiet, PATIENCE):
            return False
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            before = len(self.seen)
            self.until(lambda: False, 0.03)
            if self.counter.quiet() and len(self.seen) == before:
                return True
        return False

    def run(self, plans, until):
        """Runs the plans that can be started before a time, and yields their outcomes."""
        since_start = TRIALS_PER_NODE
        for plan in plans:
            if time.time() > until:
                break
            try:
                if since_start == TRIALS_PER_NODE or not self.node.running():
                    self.restart_node()
                    since_start = 0
                outcome = self.trial(plan)
            except AssertionError as failure:
                logs = f"the node:\n{self.node.output[-4000:]}\nthe server:\n{self.server.log()}"
                raise AssertionError(f"{plan}: {failure}; {logs}") from failure
            since_start += 1
            if outcome.problems:
                tail = "\n".join(self.node.lines[-60:])
                self.failures.append(f"{plan}: {'; '.join(outcome.problems)}; seen {self.seen}\n{tail}")
            yield outcome
        self.settled()
        if self.node is not None:
            self.stop_node()

    def close(self):
        if self.node is not None:
            self.node.close()
        self.server.close()
        self.graph.close()
