"""G8: a text with a zero byte, which no ROS string can hold, ends only its navigation."""

import json

from rcl_interfaces.msg import Log
from std_msgs.msg import String
from support.graph import wait_for

#: The second branch receives a text while the first branch drives.
TREE = """<root BTCPP_format="4">
  <BehaviorTree ID="ZeroByte">
    <Sequence>
      <ComputePathToPose goal="{{goal}}" path="{{path}}"/>
      <Parallel success_count="2" failure_count="1">
        <FollowPath path="{{path}}"/>
        <Sequence>
          <RosSubscribe topic_name="/next" message_type="std_msgs/msg/String" mode="fresh" message.data="{{next}}"/>
          {node}
        </Sequence>
      </Parallel>
    </Sequence>
  </BehaviorTree>
</root>
"""


def publish_while_driving(stack, folder, node, text):
    """Publishes a text to the tree while the robot drives. Returns the goal."""
    path = folder / "zero_byte.xml"
    path.write_text(TREE.format(node=node))
    stack.robot.controller.behaviour.duration = None
    publisher = stack.graph.node.create_publisher(String, "/next", 10)
    goal = stack.navigation.send(1.0, 0.0, tree=path)
    wait_for(stack.robot.controller.executing, 10, "the controller to execute")
    wait_for(publisher.get_subscription_count, 10, "the tree to subscribe")
    publisher.publish(String(data=text))
    return goal


def assert_robot_stopped_and_node_survived(stack):
    controller = stack.robot.controller
    wait_for(lambda: stack.robot.executing() == 0, 10, "every goal to end")
    assert len(controller.cancelled()) == 1
    assert len(stack.robot.planner.requests()) == 1
    assert stack.node.running()
    controller.behaviour.duration = 0.1
    assert stack.navigation.send(1.0, 0.0).result()[0] == "SUCCEEDED"


def test_g8_zero_byte_from_a_topic_fails_only_the_navigation(stack, tmp_path):
    pose = {"header": {"frame_id": "ma\0p"}}
    goal = publish_while_driving(
        stack, tmp_path, '<ComputePathToPose goal="{next}" path="{other}"/>', f"json:{json.dumps(pose)}"
    )
    status, result = goal.result()
    assert status == "ABORTED"
    assert "`header.frame_id`: the text contains a zero byte" in result.error_msg, result.error_msg
    assert_robot_stopped_and_node_survived(stack)


def test_g8_zero_byte_written_by_a_leaf_is_not_sent(stack_factory, tmp_path):
    stack = stack_factory(program="examples/faulty_leaves")
    lines = []
    stack.graph.node.create_subscription(Log, "/rosout", lambda line: lines.append(line.msg), 100)
    node = (
        '<WritesZeroByte text="{planner}"/>'
        '<ComputePathToPose goal="{goal}" path="{other}" planner_id="{planner}"'
        ' error_code_id="{compute_path_error_code}" error_msg="{compute_path_error_msg}"/>'
    )
    goal = publish_while_driving(stack, tmp_path, node, "go")
    status, result = goal.result()
    assert (status, result.error_code) == ("ABORTED", 2), result.error_msg
    assert_robot_stopped_and_node_survived(stack)
    wait_for(lambda: "WritesZeroByte has written `Grid␀Based`" in lines, 10, lambda: f"the line of the leaf in {lines}")
