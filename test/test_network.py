"""G1 to G6 on a network that breaks: node and client on one host, the servers on another, the wire between them cut.

Each test makes two network namespaces; where the machine does not allow that, they skip and say so.
"""

import time

import pytest
from support.executable import Executable
from support.fixtures import tree
from support.graph import wait_for
from support.network import ENVIRONMENT, Network, unsupported_reason
from support.remote import Remote

PARAMETERS = {
    "autostart_node": True,
    "default_nav_to_pose_bt_xml": str(tree("plan_and_follow.xml")),
    # A tree must not fail of a server that is cut off before its client cancels it.
    "default_server_timeout": 10000,
    "default_cancel_timeout": 500,
    "stop_timeout": 1500,
}
#: How long after the wire is whole again everything may take: the middleware announces itself every 3 s and repeats
#: what was lost every 3 s.
PATIENCE = 60.0
CUTS = [0.1, 1.0, 5.0, 30.0]


class World:
    """What a test sees: `controller` and the other servers on one host, `client` and the node on the other."""

    def __init__(self, domain, request, parameters=None):
        self.network = Network(seed=domain)
        request.addfinalizer(self.network.close)
        right, left = self.network.right.start(Remote()), self.network.left.start(Remote())
        for process in (right, left):
            request.addfinalizer(process.shutdown)
        self.servers, self.client = right.Servers(domain), left.Client(domain)
        self._domain, self._parameters, self._request = domain, PARAMETERS | (parameters or {}), request
        self.start_node()
        self.client.wait()
        self.servers.behave("follow_path", duration=0.05)
        self.recovers()

    def start_node(self):
        with self.network.left.inside():
            self.node = Executable("navtree", self._domain, self._parameters, environment=ENVIRONMENT)
        self._request.addfinalizer(self.node.close)

    def executing(self):
        """A navigation whose controller is executing its goal, and the node knows that: an acceptance that is still on the wire
        when it is cut is another story."""
        self.servers.behave("follow_path", duration=None)
        deadline = time.monotonic() + PATIENCE
        while True:
            goal = self.client.send()
            wait_for(lambda: self._started(goal), PATIENCE, "the controller to execute, and the node to know")
            if not self.client.done(goal):
                return goal
            # A server that a lossy wire kept from answering in time is a failure, and says so.
            status, text = self.client.result(goal, 0.0)
            assert (status, bool(text)) == ("ABORTED", True)
            assert time.monotonic() < deadline, f"{text}\n{self.node.output}"

    def _started(self, goal):
        return self.servers.awaited("follow_path") or self.client.done(goal)

    def requested(self):
        return self.servers.seen("follow_path", "requested")

    def recovers(self):
        """What has to hold whatever was cut: no goal is left alive, and the node takes goals as before."""
        wait_for(self.servers.quiet, PATIENCE, lambda: f"every goal to end on its server: {self.node.output}")
        self.servers.behave("follow_path", duration=0.05, accept_delay=0.0, stop_delay=0.0)
        deadline = time.monotonic() + PATIENCE
        while True:
            # The servers may have to be discovered anew; until then a goal fails, and says why.
            status, text = self.client.result(self.client.send(), PATIENCE)
            if status == "SUCCEEDED":
                break
            assert text
            assert time.monotonic() < deadline, text
        wait_for(self.servers.quiet, PATIENCE, "the last goal to end")
        assert self.node.running()

    def ended(self, goal):
        """A client's cancel is answered in time, whatever the wire does: here its deadline is 1.5 s."""
        self.client.cancel(goal)
        return self.client.result(goal, 15.0)

    def cancelled(self, goal):
        """The same of a goal that nothing else ends."""
        status, text = self.ended(goal)
        assert status == "CANCELED", text
        return text

    def cut(self, seconds, meanwhile):
        """Cuts the wire for so long, and does the deed meanwhile; returns what it returned."""
        self.network.cut()
        started = time.monotonic()
        try:
            answer = meanwhile()
            time.sleep(max(0.0, seconds - (time.monotonic() - started)))
        finally:
            self.network.heal()
        return answer


@pytest.fixture(scope="session")
def machine():
    reason = unsupported_reason()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def world(machine, ros_domain, request):
    return World(ros_domain, request)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_before_the_goal_is_sent(world, seconds):
    world.servers.behave("follow_path", duration=None)

    def meanwhile():
        goal = world.client.send()
        wait_for(lambda: world.client.feedback(goal), 15.0, "the tree to be ticked")
        world.cancelled(goal)

    world.cut(seconds, meanwhile)
    world.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_before_the_goal_is_accepted(world, seconds):
    world.servers.behave("follow_path", duration=None, accept_delay=600.0)
    requests = world.requested()
    goal = world.client.send()
    wait_for(lambda: world.requested() > requests, 15.0, "the goal request at the controller")

    def meanwhile():
        world.servers.behave("follow_path", accept_delay=0.3)
        world.cancelled(goal)

    world.cut(seconds, meanwhile)
    world.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_while_executing(world, seconds):
    goal = world.executing()
    text = world.cut(seconds, lambda: world.cancelled(goal))
    if seconds >= 5.0:
        # The controller cannot have heard of it: what does not stop is named.
        assert "follow_path" in text
    world.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_while_cancelling(world, seconds):
    world.servers.behave("follow_path", stop_delay=0.3)
    goal = world.executing()
    world.client.cancel(goal)
    wait_for(lambda: world.servers.seen("follow_path", "cancel"), 15.0, "the cancel request at the controller")
    status, text = world.cut(seconds, lambda: world.client.result(goal, 15.0))
    assert status == "CANCELED", text
    world.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g1_cut_before_the_result_is_sent(world, seconds):
    goal = world.executing()

    def meanwhile():
        # The result is on a wire that is cut; the tree goes on being ticked.
        seen = world.client.feedback(goal)
        world.servers.behave("follow_path", duration=0.0)
        wait_for(lambda: not world.servers.executing("follow_path"), 15.0, "the controller to end its goal")
        wait_for(lambda: world.client.feedback(goal) > seen + 1, 15.0, "the navigation to go on")

    world.cut(seconds, meanwhile)
    # Its result is asked for again, or its server was given up for dead: it ends either way.
    status, text = world.client.result(goal, PATIENCE)
    assert status == "SUCCEEDED" or text
    world.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("loss", "delay"), [(0.2, 0.0), (0.0, 0.2), (0.2, 0.2)])
def test_g3_lossy_and_slow_network(machine, ros_domain, request, loss, delay):
    # An answer that was lost is repeated every three seconds: whoever has such a wire waits for the third time.
    world = World(ros_domain, request, {"default_server_timeout": 10000})
    world.network.loss, world.network.delay = loss, delay
    for _ in range(3):
        # A tree that fails of an answer which is later still may be winding up when the cancel comes.
        status, text = world.ended(world.executing())
        assert status == "CANCELED" or "the tree failed" in text, (status, text)
        wait_for(world.servers.quiet, PATIENCE, f"every goal to end on its server: {world.node.output}")
    # A goal may fail of such a wire at any time; from now on none may.
    world.network.loss = world.network.delay = 0.0
    world.recovers()


@pytest.mark.timeout(400)
def test_g3_lost_goal_request_is_sent_again_at_once(world):
    """A goal request is lost in a cut of 0.3 s. The middleware alone would repeat it 3 s after it was sent."""
    planner = "compute_path_to_pose"
    requests = world.servers.seen(planner, "requested")

    def meanwhile():
        goal = world.client.send()
        wait_for(lambda: world.client.feedback(goal), 15.0, "the tree to be ticked")
        return goal

    goal = world.cut(0.3, meanwhile)
    assert world.servers.seen(planner, "requested") == requests
    wait_for(lambda: world.servers.seen(planner, "requested") > requests, 2.0, "the goal request at the planner")
    assert world.client.result(goal, PATIENCE)[0] == "SUCCEEDED"
    world.recovers()


#: After so long without a word the middleware takes the other host for gone, and forgets what it had to tell it.
LEASE = 20.0


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("patience", "report"),
    [
        (LEASE + 4.0, "server did not come back"),
        # Given up before its server seems to vanish.
        (3.0, "goal did not stop; given up"),
    ],
)
def test_g3_cut_for_longer_than_give_up_timeout(machine, ros_domain, request, patience, report):
    world = World(ros_domain, request, {"give_up_timeout": int(1000 * patience)})
    goal = world.executing()

    def meanwhile():
        world.cancelled(goal)
        world.node.wait_for_line(report, patience + 30.0)

    world.cut(LEASE + 8.0, meanwhile)
    world.recovers()
    # Nobody but the node stopped it. Its list says nothing new and may not be shown again: the node asks by itself.
    world.node.wait_for_line("had been given up")


@pytest.mark.timeout(400)
def test_g3_cut_for_longer_than_give_up_timeout_before_the_acceptance(machine, ros_domain, request):
    world = World(ros_domain, request, {"give_up_timeout": 3000})
    world.servers.behave("follow_path", duration=None, accept_delay=600.0)
    requests = world.requested()
    goal = world.client.send()
    wait_for(lambda: world.requested() > requests, 15.0, "the goal request at the controller")

    def meanwhile():
        world.servers.behave("follow_path", accept_delay=0.0)
        world.cancelled(goal)
        world.node.wait_for_line("goal request never answered; given up")

    world.cut(LEASE + 8.0, meanwhile)
    world.recovers()


@pytest.mark.timeout(400)
def test_g3_node_is_killed_and_restarted_during_a_cut(world):
    world.executing()

    def meanwhile():
        world.node.kill()
        world.start_node()
        world.node.wait_for_line("goals are accepted")
        # For longer than goals of an earlier run are looked for on a server that is there.
        time.sleep(12.0)

    world.cut(0.0, meanwhile)
    wait_for(lambda: not world.servers.executing("follow_path"), PATIENCE, lambda: f"the orphan's end: {world.node.output}")
    # Until both sides of the actions are matched anew.
    world.client.wait()
    world.recovers()
