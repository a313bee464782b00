"""G6: the number of unanswered requests is limited, because r2r never frees their memory."""

import sys

import pytest
from nav2_msgs.srv import ClearEntireCostmap
from support.graph import wait_for

TREE = """
<root BTCPP_format="4"><BehaviorTree ID="Ask">
  <RetryUntilSuccessful num_attempts="-1">
    <ClearEntireCostmap service_name="silent" server_timeout="10"/>
  </RetryUntilSuccessful>
</BehaviorTree></root>
"""


#: A service that never answers, because its node is not spun. Ends by itself.
SILENT = """
import time
import rclpy
from nav2_msgs.srv import ClearEntireCostmap
rclpy.init()
node = rclpy.create_node("silent_server")
node.create_service(ClearEntireCostmap, "silent", lambda request, response: response)
time.sleep(300)
"""


@pytest.mark.timeout(400)
def test_g6_silent_service_gets_at_most_a_thousand_requests(
    stack_factory, start, tmp_path
):
    path = tmp_path / "ask.xml"
    path.write_text(TREE)
    silent = start(sys.executable, "-c", SILENT)
    stack = stack_factory({"default_nav_to_pose_bt_xml": path, "bt_loop_duration": 2})
    goal = stack.navigation.send(1.0, 0.0)
    stack.node.wait_for_line("requests are unanswered, and each uses memory", 60.0)
    refusal = "1000 requests unanswered; sending one every 10 s"
    stack.node.wait_for_line(refusal, 120.0)
    before = stack.node.own_kib()
    wait_for(lambda: len(goal.feedback) > 10, 10, "feedback: the tree goes on ticking and failing")
    assert stack.node.own_kib() - before < 2000
    assert sum(refusal in line for line in stack.node.lines) == 1, "logged more than once"
    # The endpoints of a killed process stay on the graph for 20 s.
    silent.kill()
    stack.graph.node.create_service(
        ClearEntireCostmap, "silent", lambda request, response: response, callback_group=stack.graph.group
    )
    status, result = goal.result(8.0)
    assert status == "SUCCEEDED", result.error_msg
