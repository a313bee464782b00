"""Requests that no server answers are counted and bounded (G6): r2r keeps a piece of each for ever."""

import pytest
import rclpy
from nav2_msgs.srv import ClearEntireCostmap
from rclpy.context import Context
from rclpy.node import Node
from support.graph import wait_for

TREE = """
<root BTCPP_format="4"><BehaviorTree ID="Ask">
  <RetryUntilSuccessful num_attempts="-1">
    <ClearEntireCostmap service_name="silent" server_timeout="10"/>
  </RetryUntilSuccessful>
</BehaviorTree></root>
"""


class Silent:
    """A service that is there and never answers: nobody spins its node."""

    def __init__(self, domain):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("silent_server", context=self.context)
        self.node.create_service(ClearEntireCostmap, "silent", lambda request, response: response)

    def close(self):
        self.node.destroy_node()
        self.context.try_shutdown()


@pytest.mark.timeout(400)
def test_g6_a_service_that_never_answers_is_asked_a_thousand_times_and_its_successor_again(
    stack_factory, ros_domain, tmp_path
):
    path = tmp_path / "ask.xml"
    path.write_text(TREE)
    silent = Silent(ros_domain)
    try:
        stack = stack_factory({"default_nav_to_pose_bt_xml": path, "bt_loop_duration": 2})
        goal = stack.navigation.send(1.0, 0.0)
        stack.node.wait_for_line("requests have had no answer so far", 60.0)
        refusal = "the server has left 1000 requests without an answer"
        stack.node.wait_for_line(refusal, 120.0)
        before = stack.node.own_kib()
        wait_for(lambda: len(goal.feedback) > 10, 10, "feedback: the tree goes on ticking and failing")
        assert stack.node.own_kib() - before < 2000
        assert sum(refusal in line for line in stack.node.lines) == 1, "said once"
    finally:
        silent.close()
    stack.graph.node.create_service(
        ClearEntireCostmap, "silent", lambda request, response: response, callback_group=stack.graph.group
    )
    status, result = goal.result(60.0)
    assert status == "SUCCEEDED", result.error_msg
