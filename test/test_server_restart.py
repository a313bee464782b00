"""G6: servers are killed and restarted during a navigation."""

import random
import time

import pytest
from support.client import Navigation
from support.executable import Executable, ProcessStack
from support.graph import PATIENCE, Graph, wait_for

#: Retries at once after the loss of a server.
TREE = """
<root BTCPP_format="4"><BehaviorTree ID="GoOn">
  <RetryUntilSuccessful num_attempts="-1">
    <Sequence>
      <ComputePathToPose goal="{goal}" path="{path}"/>
      <FollowPath path="{path}"/>
    </Sequence>
  </RetryUntilSuccessful>
</BehaviorTree></root>
"""
ROUNDS = 15
#: Maximum time in s from the start of the new servers until the controller has a goal.
BOUND = 2.0


def servers(processes, domain, parameters=None):
    """A nav_sim that is so slow that the robot never arrives."""
    parameters = {"battery_rate": 0.0, "max_speed": 0.02} | (parameters or {})
    log = {"RUST_LOG": "nav_sim=info,navtree=info,navtree::sim=debug"}
    sim = processes.add(Executable("nav_sim", domain, parameters, environment=log))
    sim.wait_for_line("nav_sim is ready")
    return sim


@pytest.mark.alone
@pytest.mark.timeout(300)
def test_g6_navigation_continues_soon_after_all_servers_restarted(
    ros_domain, request, tmp_path
):
    tree = tmp_path / "go_on.xml"
    tree.write_text(TREE)
    rng = random.Random(1)
    with ProcessStack(request) as processes:
        graph = Graph(ros_domain)
        processes.callback(graph.close)

        def drives(sim):
            return any("follow_path: goal" in line and "accepted" in line for line in sim.lines)

        sim = servers(processes, ros_domain)
        node = processes.add(
            Executable("navtree", ros_domain, {"autostart_node": True, "default_nav_to_pose_bt_xml": tree})
        )
        navigation = Navigation(graph)
        navigation.wait()
        navigation.warm_up()
        goal = navigation.send(3.0, 0.0)
        wait_for(lambda: drives(sim), PATIENCE, "the controller to have a goal")
        late = []
        for turn in range(ROUNDS):
            # A random moment relative to the ticks and the periods of the middleware.
            moment = time.monotonic() + rng.uniform(0.1, 0.6)
            wait_for(lambda: time.monotonic() > moment, 1.0, "the moment")
            sim.kill()
            absence = time.monotonic() + rng.choice([0.0, 0.3, 1.0])
            wait_for(lambda: time.monotonic() > absence, 2.0, "the end of the absence")
            said = len(node.lines)
            sim = servers(processes, ros_domain)
            ready = time.monotonic()
            wait_for(lambda: drives(sim), PATIENCE, lambda: f"round {turn} to continue:\n{node.output}")
            seconds = time.monotonic() - ready
            if seconds > BOUND:
                late.append(f"round {turn}: {seconds:.2f} s\n" + "\n".join(node.lines[said:]))
        assert not late, f"{len(late)} of {ROUNDS} late:\n" + "\n".join(late)
        assert not goal.done(), goal.result()


#: The time in s after which the middleware removes the endpoints of a killed process.
LEASE = 20.0
#: Opens a server that no other tree has: its checks are frequent then.
OTHER_TREE = """
<root BTCPP_format="4"><BehaviorTree ID="Other">
  <Sequence>
    <ComputePathToPose goal="{goal}" path="{path}"/>
    <FollowPath path="{path}"/>
    <Spin server_name="other_spin"/>
  </Sequence>
</BehaviorTree></root>
"""


@pytest.mark.timeout(120)
def test_g6_goal_of_a_restarted_server_goes_on_when_its_killed_predecessors_leave_the_graph(
    ros_domain, request, tmp_path
):
    tree = tmp_path / "other.xml"
    tree.write_text(OTHER_TREE)
    with ProcessStack(request) as processes:
        graph = Graph(ros_domain)
        processes.callback(graph.close)
        # Many servers: the longer it takes to remove them, the longer the graph is incomplete.
        robots = ", ".join(f"r{number}" for number in range(20))
        remappings = {"__ns": "/r0", "/tf": "tf", "/tf_static": "tf_static"}
        # The machine may be busy with other tests: its servers may be found late.
        parameters = {"autostart_node": True, "wait_for_service_timeout": 10000}
        node = processes.add(Executable("navtree", ros_domain, parameters, remappings))
        # Fast enough for the progress checker of the controller, and too slow to arrive.
        sim_parameters = {"robots": f"[{robots}]", "max_speed": 0.08}
        kills = []
        for number in range(6):
            if number > 0:
                sim.kill()
                kills.append(time.monotonic())
            sim = servers(processes, ros_domain, sim_parameters)
        navigation = Navigation(graph, "r0")
        navigation.wait()
        navigation.warm_up()
        begin = kills[0] + LEASE - 2.0
        wait_for(lambda: time.monotonic() > begin, LEASE, "the leases to end soon")
        said = len(node.lines)
        goal = navigation.send(3.0, 0.0, str(tree))
        end = kills[-1] + LEASE + 2.0
        wait_for(lambda: time.monotonic() > end or goal.done(), 2 * LEASE, "the leases to end")
        assert not goal.done(), f"{goal.result()}\n" + "\n".join(node.lines[said:])
