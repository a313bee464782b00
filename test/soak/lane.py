"""One lane: a domain with one navtree node, one faulty server and one client that runs trials one after another."""

import time
from collections import namedtuple

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState
from support.client import Navigation
from support.executable import Executable
from support.graph import Graph
from tf2_msgs.msg import TFMessage

from .ledger import Ledger
from .plan import calm
from .rclpy_server import RclpyServer
from .sim_server import SimServer

#: A leaf under a condition; when the condition fails, so does the tree.
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

#: The same with a replacement on the same server, which has to wait until the first goal has stopped (G5).
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

#: Nav2's leaf, which has no use for feedback, so that nobody listens to it.
DEAF = '<FollowPath path="{{path}}" {more}/>'

#: A leaf with a port for feedback.
HEARING = (
    '<RosAction server_name="follow_path" action_type="nav2_msgs/action/FollowPath" feedback.speed="{{speed}}"'
    " {goal} {more}/>"
)

PARAMETERS = {
    "autostart_node": True,
    "response_timeout": 200,
    "wait_for_service_timeout": 200,
    "default_cancel_timeout": 500,
    # A client is told soon what did not stop; the trial goes on until everything has.
    "stop_timeout": 400,
    "action_server_result_timeout": 10.0,
}

#: After how many trials the node is restarted.
TRIALS_A_NODE = 100
#: How long everything may take to be over after a halt. The goal tracker would give up after 60.
PATIENCE = 30.0

Outcome = namedtuple("Outcome", "plan reached acted problems seconds")


class Lane:
    def __init__(self, domain, folder, kind):
        self.domain = domain
        self.ledger = Ledger()
        # One thread: with more, rclpy's action client sometimes forgets a goal twice, and its executor ends with that.
        self.graph = Graph(domain, "soak", threads=1)
        self.server = RclpyServer(domain) if kind == "rclpy" else SimServer(domain, self.graph)
        self.trees = {}
        for hearing in (False, True):
            for name, text in (("guarded", GUARDED), ("replaced", REPLACED)):
                path = folder / f"{name}-{'hearing' if hearing else 'deaf'}-{domain}.xml"
                path.write_text(self._fill(text, hearing))
                self.trees[name, hearing] = path
        self.battery = self.graph.node.create_publisher(BatteryState, "/battery_status", 10)
        if self.server.NEEDS_TRANSFORMS:
            self._transforms()
        self.navigation = Navigation(self.graph)
        self.node = None
        self.fresh = True
        self.seen = []
        self.failures = self.server.failures

    def _fill(self, text, hearing):
        goal = 'goal.path="{path}"' if self.server.PREPARE else ""
        if hearing:
            leaves = [HEARING.format(goal=goal, more=more) for more in ("", 'goal.controller_id="other"')]
        else:
            leaves = [DEAF.format(more=more) for more in ("", 'controller_id="other"')]
        return text.format(prepare=self.server.PREPARE, follow=leaves[0], other=leaves[1])

    def _transforms(self):
        qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.transforms = self.graph.node.create_publisher(TFMessage, "/tf_static", qos)
        message = TFMessage()
        for parent, child in (("map", "odom"), ("odom", "base_link")):
            transform = TransformStamped(child_frame_id=child)
            transform.header.frame_id = parent
            transform.transform.rotation.w = 1.0
            message.transforms.append(transform)
        self.transforms.publish(message)

    # The server.

    def start_server(self):
        self.server.start()
        self.fresh = True

    def drain(self, timeout):
        """Books what the server says."""
        for kind, goal, trial in self.server.events(timeout):
            self.seen.append(kind)
            self.ledger.note(kind, goal, trial)
            if kind == "died":
                self.fresh = True

    def until(self, condition, seconds):
        """Whether the condition came true in time."""
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
        if not self.server.alive():
            self.start_server()
        self.charge(0.9)
        assert self.warm_up(60.0), "the node did not reach the server"

    def warm_up(self, seconds):
        """Goals until one gets through: the node opens its clients with the first, and both sides have to be matched."""
        deadline = time.monotonic() + seconds
        self.seen.clear()
        while not ("accepted" in self.seen and self.battery.get_subscription_count()):
            if time.monotonic() > deadline:
                return False
            try:
                goal = self.navigation.send(1.0, 0.0, patience=3.0)
            except AssertionError:
                # The node's answer found no way yet: the middleware matches one endpoint after the other.
                continue
            self.until(lambda: goal.done() or "accepted" in self.seen, 2.0)
            if not goal.done():
                goal.cancel()
            self.until(lambda: goal.done() and self.ledger.quiet(), PATIENCE)
        return True

    def restart_node(self):
        if self.node is not None and self.node.running():
            self.stop_node()
        self.start_node()

    def stop_node(self):
        """Ends it as Ctrl-C does, which it must answer with exit code 0."""
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
        dice = plan.dice("lane")
        if not self.server.alive():
            self.start_server()
        if self.fresh:
            self.charge(0.9)
            self.fresh = not self.warm_up(15.0)
        self.seen.clear()
        self.charge(0.9)
        self.server.tell(plan)
        problems = []
        twice = plan.moment == "cancelling"
        hearing = plan.fault == "feedback flood" or dice.random() < 0.3
        goal = self.navigation.send(1.0, 0.0, tree=self.trees["replaced" if twice else "guarded", hearing])
        if not goal.accepted:
            return Outcome(plan, False, False, ["the navigation was refused"], time.monotonic() - started)
        queued = plan.moment == "before send" and plan.fault != "refuse" and dice.random() < 0.7
        if queued:
            # The first goal goes on stopping when its tree has failed; the second waits for that (G5).
            self.until(lambda: "accepted" in self.seen or "died" in self.seen or goal.done(), 1.0)
            self.charge(0.1)
            self.until(goal.done, 2.0)
            self.charge(0.9)
            requests = self.seen.count("requested")
            goal = self.navigation.send(1.0, 0.0, tree=self.trees["guarded", hearing])
        reached = self.come_to(plan, goal, dice)
        if queued:
            reached = self.seen.count("requested") == requests
        by_battery = dice.random() < 0.5
        if twice:
            # Halted by the condition; then, while that goal is stopping and another waits for it, by the client.
            self.charge(0.1)
            reached = self.until(lambda: "cancel" in self.seen or goal.done(), 1.0) and "cancel" in self.seen
            self.until(lambda: False, dice.uniform(0.0, 0.03))
            by_battery = False
        if by_battery:
            self.charge(0.1)
        elif not goal.done():
            goal.cancel()
        if plan.phase is not None:
            # It may die only now.
            self.until(lambda: "died" in self.seen or self.ledger.quiet(), 0.3)
        if not self.server.alive():
            self.until(goal.done, 0.0 if plan.fault == "restart" else dice.uniform(0.1, 0.6))
            self.start_server()
        if not self.until(goal.done, PATIENCE):
            problems.append("the navigation had no result")
        self.charge(0.9)
        if not self.settled():
            problems.append(f"{len(self.ledger.live)} goals still alive after {PATIENCE} s")
        if not self.node.running():
            problems.append("the node has ended")
        acted = plan.fault == "none" or ("died" if plan.phase else "acted") in self.seen
        self.server.tell(calm())
        return Outcome(plan, reached, acted, problems, time.monotonic() - started)

    def come_to(self, plan, goal, dice):
        """Waits for the moment of halting. Whether it came: a goal that is refused never executes."""
        event = {
            "before send": None,
            "before acceptance": "requested",
            "executing": "accepted",
            "cancelling": "accepted",
            "after the result": "ended",
        }[plan.moment]
        if event is None:
            # Around the first tick, or the last of the planner: sometimes nothing has been sent, sometimes just so.
            self.until(lambda: False, dice.choice([0.0, 0.0, 0.005, 0.01 if plan.server == "rclpy" else 0.05]))
            return "requested" not in self.seen
        self.until(lambda: event in self.seen or "died" in self.seen or goal.done(), 3.0)
        reached = event in self.seen
        if plan.moment in ("executing", "cancelling"):
            self.until(lambda: False, dice.uniform(0.0, 0.05))
        return reached

    def settled(self):
        """Whether nothing executes any more, and nothing has for a moment: a request may be on its way."""
        if not self.until(self.ledger.quiet, PATIENCE):
            return False
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            before = len(self.seen)
            self.until(lambda: False, 0.03)
            if self.ledger.quiet() and len(self.seen) == before:
                return True
        return False

    def run(self, plans, until):
        """Yields an outcome for each plan, as many as are begun by a time."""
        since_start = TRIALS_A_NODE
        for plan in plans:
            if time.time() > until:
                break
            try:
                if since_start == TRIALS_A_NODE or not self.node.running():
                    self.restart_node()
                    since_start = 0
                outcome = self.trial(plan)
            except AssertionError as failure:
                said = f"the node:\n{self.node.output[-4000:]}\nthe server:\n{self.server.said()}"
                raise AssertionError(f"{plan}: {failure}; {said}") from failure
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
