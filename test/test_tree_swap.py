"""G7: a parameter swaps the tree, and a broken tree never replaces a valid one."""

import nav2_msgs.srv
import pytest
from support.fixtures import tree
from support.graph import wait_for

WAIT = '<root BTCPP_format="4">\n  <BehaviorTree ID="W">\n    <Wait wait_duration="0.1"/>\n  </BehaviorTree>\n</root>\n'


def test_good_tree_takes_effect_with_the_next_goal(stack, tmp_path):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    running = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    path = tmp_path / "wait.xml"
    path.write_text(WAIT)
    answer = stack.set_tree(path)
    assert answer.successful, answer.reason
    assert stack.get_tree() == str(path)
    # The running goal continues.
    assert controller.executing() == 1 and not controller.seen("cancel")
    running.cancel()
    running.result()
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    assert len(stack.robot.wait.requests()) == 1


def test_g7_broken_tree_is_rejected_and_the_old_one_is_kept(stack, tmp_path):
    path = tmp_path / "broken.xml"
    path.write_text(WAIT.replace("<Wait", "<Wiat"))
    answer = stack.set_tree(path)
    assert not answer.successful
    assert f"{path}:3:" in answer.reason
    assert "Wiat" in answer.reason and "Wait" in answer.reason
    assert stack.get_tree() == str(tree("plan_and_follow.xml"))
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
    assert len(stack.robot.controller.requests()) == 1


def test_g7_missing_file_is_rejected_and_the_old_tree_kept(stack, tmp_path):
    answer = stack.set_tree(tmp_path / "missing.xml")
    assert not answer.successful
    assert "missing.xml" in answer.reason
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_g7_goal_with_a_broken_tree_does_not_stop_the_running_goal(stack, tmp_path):
    controller = stack.robot.controller
    controller.behaviour.duration = None
    running = stack.navigation.send(1.0, 0.0)
    wait_for(controller.executing, 10, "the controller to execute")
    path = tmp_path / "broken.xml"
    path.write_text("<root BTCPP_format='4'><BehaviorTree ID='X'></BehaviorTree>")
    status, result = stack.navigation.send(2.0, 0.0, tree=path).result()
    assert (status, result.error_code) == ("ABORTED", 9001)
    assert str(path) in result.error_msg
    assert controller.executing() == 1 and not controller.seen("cancel")
    running.cancel()
    assert running.result()[0] == "CANCELED"


COSTS = """<root BTCPP_format="4">
  <BehaviorTree ID="W">
    <Fallback>
      <AlwaysSuccess/>
      {}
    </Fallback>
  </BehaviorTree>
</root>
"""


@pytest.mark.skipif(hasattr(nav2_msgs.srv, "GetCosts"), reason="this ROS 2 has nav2_msgs/srv/GetCosts")
@pytest.mark.parametrize(
    "node",
    [
        '<CheckPoseOccupancy pose="{goal}"/>',
        '<RemoveInCollisionGoals input_goals="{goals}" output_goals="{goals}"/>',
    ],
)
def test_g7_tree_with_an_unknown_interface_is_rejected(stack, tmp_path, node):
    path = tmp_path / "costs.xml"
    path.write_text(COSTS.format(node))
    answer = stack.set_tree(path)
    assert not answer.successful
    assert f"{path}:5:" in answer.reason and "nav2_msgs/srv/GetCosts" in answer.reason
    assert stack.get_tree() == str(tree("plan_and_follow.xml"))
    status, result = stack.navigation.send(1.0, 0.0, tree=path).result()
    assert (status, result.error_code) == ("ABORTED", 9001)
    assert f"{path}:5:" in result.error_msg and "GetCosts" in result.error_msg
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"
