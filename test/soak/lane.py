"""One lane: a domain with one navtree node, one faulty server and one client that runs trials one after another."""

import multiprocessing
import os
import signal
import time
from collections import namedtuple

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState
from support.client import Navigation
from support.executable import Executable
from support.graph import Graph, wait_for
from tf2_msgs.msg import TFMessage

from .ledger import Ledger
from .plan import Plan
from .server import serve

#: A leaf under a condition; when the condition fails, so does the tree.
GUARDED = """
<root BTCPP_format="4"><BehaviorTree ID="Guarded">
  <ReactiveSequence>
    <Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>
    <FollowPath path="{path}"/>
  </ReactiveSequence>
</BehaviorTree></root>
"""

#: The same with a replacement on the same server, which has to wait until the first goal has stopped (G5).
REPLACED = """
<root BTCPP_format="4"><BehaviorTree ID="Replaced">
  <ReactiveFallback>
    <ReactiveSequence>
      <Inverter><IsBatteryLow min_battery="0.25" battery_topic="/battery_status"/></Inverter>
      <FollowPath path="{path}"/>
    </ReactiveSequence>
    <FollowPath path="{other_path}"/>
  </ReactiveFallback>
</BehaviorTree></root>
"""

PARAMETERS = {
    "autostart_node": True,
    "default_server_timeout": 200,
    "default_cancel_timeout": 500,
    "stop_timeout": 1500,
    "action_server_result_timeout": 10.0,
}

#: After how many trials the node is restarted.
TRIALS_A_NODE = 100
#: How long everything may take to be over after a halt. The Custodian would give up after 60.
PATIENCE = 30.0

Outcome = namedtuple("Outcome", "plan reached problems seconds")
_fork = multiprocessing.get_context("forkserver")


class Lane:
    def __init__(self, domain, folder, verbose=False):
        # A process that is made by forking is up in a tenth of the time of a new interpreter.
        _fork.set_forkserver_preload(["soak.server"])
        self.domain, self.verbose = domain, verbose
        self.ledger = Ledger()
        self.trees = {}
        for name, text in (("guarded", GUARDED), ("replaced", REPLACED)):
            self.trees[name] = folder / f"{name}-{domain}.xml"
            self.trees[name].write_text(text)
        self.graph = Graph(domain, "soak")
        self.battery = self.graph.node.create_publisher(BatteryState, "/battery_status", 10)
        self._transforms()
        self.navigation = Navigation(self.graph)
        self.node = self.pipe = self.process = None
        self.fresh = True
        self.seen = []
        self.failures = []

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

    # The server's process.

    def start_server(self, plan=None):
        self.pipe, other = _fork.Pipe()
        self.process = _fork.Process(target=serve, args=(other, self.domain, "follow_path"), daemon=True)
        self.process.start()
        self.fresh = True
        other.close()
        self.pipe.send(plan or Plan(-1, "none", "executing", 0))

    def drain(self, timeout):
        """Books what the server says. The end of its pipe is its death."""
        try:
            while self.pipe is not None and self.pipe.poll(timeout):
                event = self.pipe.recv()
                self.seen.append(event[0])
                self.ledger.note(*event)
                timeout = 0
        except (EOFError, OSError):
            self.pipe.close()
            self.pipe = None
            self.process.join(5.0)
            if self.process.exitcode != -signal.SIGKILL:
                self.failures.append(f"the server ended with code {self.process.exitcode}: a fault of the soak itself")
            self.seen.append("died")
            self.ledger.died()
        if self.pipe is None:
            time.sleep(timeout)

    def tell(self, plan):
        """From now on the server follows this plan, if it lives."""
        try:
            if self.pipe is not None:
                self.pipe.send(plan)
        except OSError:
            self.drain(0.0)

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
        parameters = PARAMETERS | {"default_nav_to_pose_bt_xml": self.trees["guarded"]}
        self.node = Executable("navtree", self.domain, parameters)
        self.navigation.wait(30.0)
        if self.pipe is None:
            self.start_server()
        self.charge(0.9)
        assert self.warm_up(30.0), f"the node did not reach the server:\n{self.node.output[-4000:]}"

    def warm_up(self, seconds):
        """Goals until one gets through: the node opens its clients with the first, and both sides have to be matched."""
        deadline = time.monotonic() + seconds
        self.seen.clear()
        while not ("accepted" in self.seen and self.battery.get_subscription_count()):
            if time.monotonic() > deadline:
                return False
            try:
                goal = self.navigation.send(1.0, 0.0)
            except AssertionError:
                # The node's answer found no way yet: the middleware matches one endpoint after the other.
                continue
            self.until(lambda: goal.done() or "accepted" in self.seen, 2.0)
            if not goal.done():
                goal.cancel()
            self.until(lambda: goal.done() and self.ledger.quiet(), PATIENCE)
        return True

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
        if self.pipe is None:
            self.start_server()
        if self.fresh:
            self.fresh = False
            self.charge(0.9)
            self.warm_up(5.0)
        self.seen.clear()
        self.charge(0.9)
        self.tell(plan)
        problems = []
        twice = plan.moment == "cancelling"
        goal = self.navigation.send(1.0, 0.0, tree=self.trees["replaced" if twice else "guarded"])
        if not goal.accepted:
            return Outcome(plan, False, ["the navigation was refused"], time.monotonic() - started)
        queued = plan.moment == "before send" and dice.random() < 0.5
        if queued:
            # The first goal goes on stopping when its tree has failed; the second waits for that (G5).
            self.until(lambda: "accepted" in self.seen or goal.done(), 1.0)
            self.charge(0.1)
            self.until(goal.done, 2.0)
            self.charge(0.9)
            requests = self.seen.count("requested")
            goal = self.navigation.send(1.0, 0.0, tree=self.trees["guarded"])
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
        if self.pipe is None:
            self.until(lambda: goal.done(), 0.0 if plan.fault == "restart" else dice.uniform(0.1, 0.6))
            self.start_server()
        if not self.until(goal.done, PATIENCE):
            problems.append("the navigation had no result")
        self.charge(0.9)
        if not self.settled():
            problems.append(f"{len(self.ledger.live)} goals still alive after {PATIENCE} s")
        if not self.node.running():
            problems.append("the node has ended")
        self.tell(Plan(-1, "none", "executing", 0))
        return Outcome(plan, reached, problems, time.monotonic() - started)

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
            # Around the first tick: sometimes nothing has been sent, sometimes just so.
            self.until(lambda: False, dice.choice([0.0, 0.0, 0.005, 0.01]))
            return not any(seen == "accepted" for seen in self.seen)
        self.until(lambda: event in self.seen or "died" in self.seen or goal.done(), 1.0)
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

    def run(self, plans):
        """Yields an outcome for each plan."""
        since_start = 0
        self.start_node()
        for plan in plans:
            if since_start == TRIALS_A_NODE or not self.node.running():
                if self.node.running():
                    self.stop_node()
                self.start_node()
                since_start = 0
            since_start += 1
            outcome = self.trial(plan)
            if outcome.problems:
                tail = "\n".join(self.node.lines[-40:])
                self.failures.append(f"{plan}: {'; '.join(outcome.problems)}; seen {self.seen}\n{tail}")
            yield outcome
        self.settled()
        self.stop_node()

    def close(self):
        if self.node is not None:
            self.node.close()
        if self.process is not None and self.process.is_alive():
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.join(5.0)
        self.graph.close()


assert GoalStatus.STATUS_CANCELED == 5
