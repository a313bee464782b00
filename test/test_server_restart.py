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

        def servers():
            # So slow that the robot never arrives.
            parameters = {"battery_rate": 0.0, "max_speed": 0.02}
            log = {"RUST_LOG": "nav_sim=info,navtree=info,navtree::sim=debug"}
            sim = processes.add(Executable("nav_sim", ros_domain, parameters, environment=log))
            sim.wait_for_line("nav_sim is ready")
            return sim

        def drives(sim):
            return any("follow_path: goal" in line and "accepted" in line for line in sim.lines)

        sim = servers()
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
            sim = servers()
            ready = time.monotonic()
            wait_for(lambda: drives(sim), PATIENCE, lambda: f"round {turn} to continue:\n{node.output}")
            seconds = time.monotonic() - ready
            if seconds > BOUND:
                late.append(f"round {turn}: {seconds:.2f} s\n" + "\n".join(node.lines[said:]))
        assert not late, f"{len(late)} of {ROUNDS} late:\n" + "\n".join(late)
        assert not goal.done(), goal.result()
