"""Runs every tree file of Nav2's releases on nav_sim: to success, to failure, and with a cancel during the drive.

The files are not part of this repository. They are in ../shared/corpus; without them these tests are skipped.
"""

import os
import subprocess

import pytest
from geometry_msgs.msg import PoseStamped
from support.client import pose
from support.domains import free_domain
from support.executable import find
from support.fixtures import CORPUS
from support.graph import wait_for
from support.simulation import Simulation

FILES = sorted(str(path.relative_to(CORPUS)) for path in CORPUS.glob("*/*.xml"))

#: Files that are rejected, and a part of the error message.
REJECTED = {
    # An element in lower case, which BehaviorTree.CPP does not know either.
    "nav2_jazzy/application_example.xml": "inverter",
    "nav2_main/application_example.xml": "inverter",
}
#: Trees that end only with failure or a cancel: KeepRunningUntilFailure is around the drive.
ENDLESS = {f"{release}/follow_point.xml" for release in ("nav2_humble", "nav2_jazzy", "nav2_main")}
NAVIGATIONS = [name for name in FILES if name not in REJECTED]

#: The servers that fail in the failure tests, and their error codes: all that plan, or drive by heading.
FAULTS = {
    "compute_path_to_pose": 208,
    "compute_path_through_poses": 308,
    "compute_route": 405,
    "drive_on_heading": 723,
}
#: The error code of the controller in its failure test, half a simulated second after the start: no progress.
STUCK = 105
#: Maximum time in s of a goal on a busy machine.
PATIENCE = 60.0

pytestmark = [
    pytest.mark.skipif(not FILES, reason=f"the corpus of tree files is not beside the checkout: {CORPUS}"),
    pytest.mark.timeout(180),
]


@pytest.fixture(scope="module")
def simulation():
    """One robot and one node for all trees: this also tests that each tree leaves both ready for the next one."""
    faults = {f"faults.{server}.abort_code": code for server, code in FAULTS.items()}
    faults |= {"faults.follow_path.abort_code": STUCK, "faults.follow_path.abort_after": 0.5}
    with pytest.MonkeyPatch.context() as environment, free_domain() as domain:
        environment.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        simulation = Simulation(domain, sim_parameters=faults)
        yield simulation
        simulation.close()
        # A goal that still executes would drive the robot together with the next one.
        assert "two servers drive the robot at once" not in simulation.sim.output
        assert "panic" not in simulation.node.output + simulation.sim.output


@pytest.fixture
def run(simulation, request):
    """Sends a goal with a tree of the corpus, `distance` metres ahead of the robot."""
    simulation.wait_until_idle()
    sent = []

    def send(name, distance):
        x, y = simulation.position
        # A graph beside the robot and the goal, so that trees with a route have both a first and a last mile.
        places = [f"{index + 1} {x + index * distance / 3} {y + 1.0}" for index in range(4)]
        simulation.set_sim(route_graph="; ".join([*places, "1 2; 2 3; 3 4"]))
        path = CORPUS / name
        if "through_poses" in name:
            points = [(x + distance / 2, y + 0.5), (x + distance, y)]
            goal = simulation.navigation.send_through(points, tree=path)
        else:
            # With a stamp, like goals of RViz: updates of an earlier goal are then too old.
            stamp = simulation.odometry.header.stamp
            goal = simulation.navigation.send(x + distance, y, tree=path, stamp=stamp)
        assert goal.accepted
        sent.append(goal)
        return goal, (x + distance, y)

    yield send
    for goal in sent:
        if not goal.done():
            goal.cancel()
            goal.result(PATIENCE)
    if request.node.has_failed:
        # Ticks are missed because the simulated time is faster than the node reads its clock.
        lines = [line for line in simulation.node.lines if "ticks missed" not in line]
        print("\n".join(["--- navtree", *lines[-60:], "--- nav_sim", *simulation.sim.lines[-20:]]))


@pytest.fixture
def broken(simulation):
    """Planning and driving by heading fail."""
    simulation.set_sim(**{f"faults__{server}__abort_goals": "all" for server in FAULTS})
    yield
    simulation.set_sim(**{f"faults__{server}__abort_goals": "" for server in FAULTS})


@pytest.fixture
def stuck(simulation):
    """Plans succeed, and the robot cannot follow them."""
    simulation.set_sim(faults__follow_path__abort_goals="all")
    yield
    simulation.set_sim(faults__follow_path__abort_goals="")


@pytest.mark.parametrize("name", [name for name in NAVIGATIONS if name not in ENDLESS])
def test_ends_in_success(simulation, run, name):
    goal, there = run(name, 3.0)
    status, result = goal.result(PATIENCE)
    assert (status, result.error_code) == ("SUCCEEDED", 0), result.error_msg
    # The calibration drives squares; all other trees drive to the goal.
    if "odometry_calibration" not in name:
        wait_for(lambda: simulation.distance_to(*there) < 0.3, 30.0, lambda: f"robot at {there}: {simulation.position}")
    simulation.wait_until_idle()


@pytest.mark.parametrize("name", NAVIGATIONS)
def test_ends_in_failure(simulation, run, broken, name):
    goal, _ = run(name, 3.0)
    status, result = goal.result(PATIENCE)
    assert status == "ABORTED"
    text = (CORPUS / name).read_text()
    if "{compute_path_error_code}" in text and "ComputeRoute" not in text:
        assert result.error_code == (308 if "through_poses" in name else 208), result.error_msg
    assert result.error_msg
    simulation.wait_until_idle()


@pytest.mark.parametrize("name", [name for name in NAVIGATIONS if "<FollowPath" in (CORPUS / name).read_text()])
def test_ends_in_failure_when_the_controller_fails(simulation, run, stuck, name):
    goal, there = run(name, 30.0)
    status, result = goal.result(PATIENCE)
    assert status == "ABORTED"
    text = (CORPUS / name).read_text()
    if "{follow_path_error_code}" in text:
        assert result.error_code == STUCK, result.error_msg
    assert result.error_msg
    if "<RecoveryNode" in text and "<Wait " in text:
        assert goal.feedback[-1].number_of_recoveries > 0
    simulation.wait_until_idle()
    wait_for(lambda: simulation.speed < 0.01, 30.0, "the robot to stand")
    assert simulation.distance_to(*there) > 5.0


@pytest.mark.parametrize("name", NAVIGATIONS)
def test_is_cancelled_while_it_drives(simulation, run, name):
    # The drive takes some seconds of real time. The calibration uses no distance: it drives two metres.
    goal, there = run(name, 80.0)
    wait_for(lambda: simulation.speed > 0.1, PATIENCE, "the robot to drive")
    assert goal.cancel().goals_canceling
    status, result = goal.result(PATIENCE)
    assert status == "CANCELED", result.error_msg
    simulation.wait_until_idle()
    wait_for(lambda: simulation.speed < 0.01, 30.0, "the robot to stand")
    assert simulation.distance_to(*there) > 5.0


@pytest.mark.parametrize("name", sorted(ENDLESS & set(FILES)))
def test_follows_a_dynamic_goal_until_it_is_cancelled(simulation, run, name):
    updates = simulation.graph.node.create_publisher(PoseStamped, "goal_update", 1)
    goal, (x, y) = run(name, 3.0)
    wait_for(lambda: simulation.distance_to(x, y) < 1.3, PATIENCE, "a robot a metre away from the goal")
    wait_for(lambda: updates.get_subscription_count() > 0, 10.0, "a subscription of goal_update")
    further = pose(x + 3.0, y)
    further.header.stamp = simulation.odometry.header.stamp
    updates.publish(further)
    wait_for(lambda: simulation.distance_to(x + 3.0, y) < 1.3, PATIENCE, "a robot a metre away from the new goal")
    assert not goal.done()
    goal.cancel()
    assert goal.result(PATIENCE)[0] == "CANCELED"
    simulation.wait_until_idle()


@pytest.mark.parametrize("name", sorted(set(REJECTED) & set(FILES)))
def test_is_rejected_with_its_position(simulation, run, name):
    goal, _ = run(name, 3.0)
    status, result = goal.result(PATIENCE)
    assert (status, result.error_code) == ("ABORTED", 9001)
    assert name in result.error_msg and REJECTED[name] in result.error_msg


#: The example application is a tree above navigation: it sends goals to the actions that this node serves. With the word
#: corrected, it runs on mocks.
APPLICATION = """\
- name: succeeds
  tree: {tree}
  mocks: {{IsBatteryCharging: [SUCCESS], UndockRobot: [RUNNING, SUCCESS], NavigateToPose: [RUNNING, SUCCESS],
    Wait: [RUNNING, SUCCESS], DockRobot: [RUNNING, SUCCESS]}}
  expect: {{root: R R R R R R S}}
- name: fails where the robot cannot be docked
  tree: {tree}
  mocks: {{IsBatteryCharging: [FAILURE], NavigateToPose: [FAILURE], DockRobot: [RUNNING, FAILURE]}}
  expect: {{root: R F}}
- name: is cancelled on its way
  tree: {tree}
  mocks: {{IsBatteryCharging: [FAILURE], NavigateToPose: [RUNNING]}}
  events: {{3: {{halt: true}}}}
  expect: {{root: R R I, halted: {{3: ["NavigateToPose::8"]}}}}
"""


@pytest.mark.parametrize("name", sorted(set(REJECTED) & set(FILES)))
def test_corrected_application_runs_on_mocks(tmp_path, name):
    (tmp_path / "tree.xml").write_text((CORPUS / name).read_text().replace("inverter>", "Inverter>"))
    (tmp_path / "scenarios.yaml").write_text(APPLICATION.format(tree="tree.xml"))
    command = [find("navtree"), "test", str(tmp_path / "scenarios.yaml")]
    answer = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=30)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "3 passed, 0 failed" in answer.stdout
