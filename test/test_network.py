"""G1 to G6 on a network with faults: node and client on one host, servers on another, and a link that is cut between them.

Each test makes two network namespaces. If the machine does not allow that, the tests are skipped with the reason.
"""

import shutil
import time

import pytest
from support.executable import Executable, Process
from support.fixtures import tree
from support.graph import wait_for
from support.network import ENVIRONMENT, Network, unsupported_reason
from support.remote import Remote

PARAMETERS = {
    "autostart_node": True,
    "default_nav_to_pose_bt_xml": str(tree("plan_and_follow.xml")),
    # The tree must not fail because of an unreachable server before the client cancels it.
    "default_server_timeout": 10000,
    "default_cancel_timeout": 500,
    "stop_timeout": 1500,
}
#: Maximum time in s for each step after the link is restored: the middleware announces itself and repeats lost messages
#: every 3 s.
PATIENCE = 60.0
CUTS = [0.1, 1.0, 5.0, 30.0]
#: The port of the discovery server; its default.
DISCOVERY_PORT = 11811


class TwoHosts:
    """The client and the node on the left host, the servers on the right host."""

    def __init__(self, domain, request, parameters=None, discovery_server=False):
        self.network = Network(seed=domain)
        request.addfinalizer(self.network.close)
        self._environment = dict(ENVIRONMENT)
        if discovery_server:
            request.addfinalizer(self._serve_discovery().close)
        right = self.network.right.start(Remote(), self._environment)
        left = self.network.left.start(Remote(), self._environment)
        for process in (right, left):
            request.addfinalizer(process.shutdown)
        self.servers, self.client = right.Servers(domain), left.Client(domain)
        self._domain, self._parameters, self._request = domain, PARAMETERS | (parameters or {}), request
        self.start_node()
        self.client.wait()
        self.servers.behave("follow_path", duration=0.05)
        self.recovers()

    def _serve_discovery(self):
        """Starts a discovery server on the left host, and makes all later processes its clients."""
        address = self.network.left.address
        self._environment["ROS_DISCOVERY_SERVER"] = f"{address}:{DISCOVERY_PORT}"
        with self.network.left.inside():
            return Process(["fast-discovery-server", "-i", "0", "-l", address, "-p", str(DISCOVERY_PORT)])

    def start_node(self):
        with self.network.left.inside():
            self.node = Executable("navtree", self._domain, self._parameters, environment=self._environment)
        self._request.addfinalizer(self.node.close)

    def executing(self):
        """Starts a navigation. Waits until the controller executes its goal and the node knows it: a lost acceptance is
        another case."""
        self.servers.behave("follow_path", duration=None)
        deadline = time.monotonic() + PATIENCE
        while True:
            goal = self.client.send()
            wait_for(lambda: self._started(goal), PATIENCE, "the controller to execute, and the node to know")
            if not self.client.done(goal):
                return goal
            # On a lossy link a server may answer too late; then the result must have an error message.
            status, text = self.client.result(goal, 0.0)
            assert (status, bool(text)) == ("ABORTED", True)
            assert time.monotonic() < deadline, f"{text}\n{self.node.output}"

    def _started(self, goal):
        return self.servers.awaited("follow_path") or self.client.done(goal)

    def requested(self):
        return self.servers.seen("follow_path", "requested")

    def recovers(self):
        """Checks that no goal is left alive and that the node accepts goals, as after every cut."""
        wait_for(self.servers.quiet, PATIENCE, lambda: f"every goal to end on its server: {self.node.output}")
        self.servers.behave("follow_path", duration=0.05, accept_delay=0.0, stop_delay=0.0)
        deadline = time.monotonic() + PATIENCE
        while True:
            # The servers may have to be discovered again. Until then goals fail with an error message.
            status, text = self.client.result(self.client.send(), PATIENCE)
            if status == "SUCCEEDED":
                break
            assert text
            assert time.monotonic() < deadline, text
        wait_for(self.servers.quiet, PATIENCE, "the last goal to end")
        assert self.node.running()

    def ended(self, goal):
        """Cancels a goal. The result must come in time, whatever the state of the link: `stop_timeout` is 1.5 s."""
        self.client.cancel(goal)
        return self.client.result(goal, 15.0)

    def cancelled(self, goal):
        """Cancels a goal that does not end otherwise."""
        status, text = self.ended(goal)
        assert status == "CANCELED", text
        return text

    def cut(self, seconds, meanwhile):
        """Cuts the link for a time, and calls `meanwhile` during the cut. Returns its result."""
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
def hosts(machine, ros_domain, request):
    return TwoHosts(ros_domain, request)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_before_the_goal_is_sent(hosts, seconds):
    hosts.servers.behave("follow_path", duration=None)

    def meanwhile():
        goal = hosts.client.send()
        wait_for(lambda: hosts.client.feedback(goal), 15.0, "the tree to be ticked")
        hosts.cancelled(goal)

    hosts.cut(seconds, meanwhile)
    hosts.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_before_the_goal_is_accepted(hosts, seconds):
    hosts.servers.behave("follow_path", duration=None, accept_delay=600.0)
    requests = hosts.requested()
    goal = hosts.client.send()
    wait_for(lambda: hosts.requested() > requests, 15.0, "the goal request at the controller")

    def meanwhile():
        hosts.servers.behave("follow_path", accept_delay=0.3)
        hosts.cancelled(goal)

    hosts.cut(seconds, meanwhile)
    hosts.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_while_executing(hosts, seconds):
    goal = hosts.executing()
    text = hosts.cut(seconds, lambda: hosts.cancelled(goal))
    if seconds >= 5.0:
        # The controller cannot have received the cancel: the result names the goal that does not stop.
        assert "follow_path" in text
    hosts.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g3_cut_while_cancelling(hosts, seconds):
    hosts.servers.behave("follow_path", stop_delay=0.3)
    goal = hosts.executing()
    hosts.client.cancel(goal)
    wait_for(lambda: hosts.servers.seen("follow_path", "cancel"), 15.0, "the cancel request at the controller")
    status, text = hosts.cut(seconds, lambda: hosts.client.result(goal, 15.0))
    assert status == "CANCELED", text
    hosts.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("seconds", CUTS)
def test_g1_cut_before_the_result_is_sent(hosts, seconds):
    goal = hosts.executing()

    def meanwhile():
        # The link is cut when the controller sends the result. The ticks of the tree continue.
        seen = hosts.client.feedback(goal)
        hosts.servers.behave("follow_path", duration=0.0)
        wait_for(lambda: not hosts.servers.executing("follow_path"), 15.0, "the controller to end its goal")
        wait_for(lambda: hosts.client.feedback(goal) > seen + 1, 15.0, "the navigation to go on")

    hosts.cut(seconds, meanwhile)
    # The goal ends in any case: the node requests the result again, or it treats the server as dead.
    status, text = hosts.client.result(goal, PATIENCE)
    assert status == "SUCCEEDED" or text
    hosts.recovers()


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("loss", "delay"), [(0.2, 0.0), (0.0, 0.2), (0.2, 0.2)])
def test_g3_lossy_and_slow_network(machine, ros_domain, request, loss, delay):
    # Lost answers are repeated every three seconds. The timeout is long enough for three repetitions.
    hosts = TwoHosts(ros_domain, request, {"default_server_timeout": 10000})
    hosts.network.loss, hosts.network.delay = loss, delay
    for _ in range(3):
        # A tree that failed because of a late answer may be stopping when the cancel arrives.
        status, text = hosts.ended(hosts.executing())
        assert status == "CANCELED" or "the tree failed" in text, (status, text)
        wait_for(hosts.servers.quiet, PATIENCE, f"every goal to end on its server: {hosts.node.output}")
    # On such a link a goal may fail at any time. From now on none may fail.
    hosts.network.loss = hosts.network.delay = 0.0
    hosts.recovers()


@pytest.mark.timeout(400)
def test_g3_lost_goal_request_is_sent_again_at_once(hosts):
    """A goal request is lost in a cut of 0.3 s. The middleware alone would repeat it after 3 s."""
    planner = "compute_path_to_pose"
    requests = hosts.servers.seen(planner, "requested")

    def meanwhile():
        goal = hosts.client.send()
        wait_for(lambda: hosts.client.feedback(goal), 15.0, "the tree to be ticked")
        return goal

    goal = hosts.cut(0.3, meanwhile)
    assert hosts.servers.seen(planner, "requested") == requests
    wait_for(lambda: hosts.servers.seen(planner, "requested") > requests, 2.0, "the goal request at the planner")
    assert hosts.client.result(goal, PATIENCE)[0] == "SUCCEEDED"
    hosts.recovers()


#: After this time in s without a message the middleware removes the other host and its pending messages.
LEASE = 20.0


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("patience", "report"),
    [
        (LEASE + 4.0, "server did not return"),
        # Given up before the server leaves the graph.
        (3.0, "goal did not stop; given up"),
    ],
)
def test_g3_cut_for_longer_than_give_up_timeout(machine, ros_domain, request, patience, report):
    hosts = TwoHosts(ros_domain, request, {"give_up_timeout": int(1000 * patience)})
    goal = hosts.executing()

    def meanwhile():
        hosts.cancelled(goal)
        hosts.node.wait_for_line(report, patience + 30.0)

    hosts.cut(LEASE + 8.0, meanwhile)
    hosts.recovers()
    # Only the node can have stopped the goal. The status list may not be published again, so the node requests it.
    hosts.node.wait_for_line("that was given up")


@pytest.mark.timeout(400)
def test_g3_cut_for_longer_than_give_up_timeout_before_the_acceptance(machine, ros_domain, request):
    hosts = TwoHosts(ros_domain, request, {"give_up_timeout": 3000})
    hosts.servers.behave("follow_path", duration=None, accept_delay=600.0)
    requests = hosts.requested()
    goal = hosts.client.send()
    wait_for(lambda: hosts.requested() > requests, 15.0, "the goal request at the controller")

    def meanwhile():
        hosts.servers.behave("follow_path", accept_delay=0.0)
        hosts.cancelled(goal)
        hosts.node.wait_for_line("goal request not answered; given up")

    hosts.cut(LEASE + 8.0, meanwhile)
    hosts.recovers()


@pytest.mark.timeout(400)
def test_g3_node_is_killed_and_restarted_during_a_cut(hosts):
    hosts.executing()

    def meanwhile():
        hosts.node.kill()
        hosts.start_node()
        hosts.node.wait_for_line("goals are accepted")
        # Longer than the node searches for goals of an earlier run on a reachable server.
        time.sleep(12.0)

    hosts.cut(0.0, meanwhile)
    stopped = lambda: not hosts.servers.executing("follow_path")  # noqa: E731
    wait_for(stopped, PATIENCE, lambda: f"the orphan goal to end: {hosts.node.output}")
    # Wait until both sides of the actions are matched again.
    hosts.client.wait()
    hosts.recovers()


@pytest.mark.timeout(400)
@pytest.mark.skipif(shutil.which("fast-discovery-server") is None, reason="fast-discovery-server is not installed")
@pytest.mark.parametrize("seconds", [1.0, 5.0])
def test_g3_cut_between_hosts_that_find_each_other_by_a_discovery_server(machine, ros_domain, request, seconds):
    hosts = TwoHosts(ros_domain, request, discovery_server=True)
    goal = hosts.executing()
    hosts.cut(seconds, lambda: hosts.cancelled(goal))
    hosts.recovers()
