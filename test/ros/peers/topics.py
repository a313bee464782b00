"""Publish what the process under test subscribes to, and check what it publishes."""

import math

import rclpy
from geometry_msgs.msg import TransformStamped
from nav2_msgs.msg import BehaviorTreeLog
from nav_msgs.msg import Path
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import BatteryState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

rclpy.init()
node = rclpy.create_node("peer")
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
text = node.create_publisher(String, "text", latched)
text.publish(String(data="latched"))
battery = node.create_publisher(BatteryState, "battery", 10)
tf = node.create_publisher(TFMessage, "/tf", 100)
tf_static = node.create_publisher(TFMessage, "/tf_static", QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
fixed = TransformStamped()
fixed.header.frame_id, fixed.child_frame_id = "base_link", "laser"
fixed.transform.translation.x, fixed.transform.rotation.w = 0.5, 1.0
tf_static.publish(TFMessage(transforms=[fixed]))
logs, paths = [], []
node.create_subscription(BehaviorTreeLog, "behavior_tree_log", logs.append, 10)
node.create_subscription(Path, "path", paths.append, 10)


def publish():
    battery.publish(BatteryState(percentage=0.5, voltage=math.nan))
    moving = TransformStamped()
    moving.header.stamp = node.get_clock().now().to_msg()
    moving.header.frame_id, moving.child_frame_id = "map", "base_link"
    moving.transform.translation.x, moving.transform.rotation.w = 2.0, 1.0
    tf.publish(TFMessage(transforms=[moving]))


node.create_timer(0.02, publish)
while not (logs and paths):
    rclpy.spin_once(node, timeout_sec=0.1)
change = logs[0].event_log[0]
assert (change.node_name, change.uid, change.current_status) == ("Spin", 3, "RUNNING"), logs[0]
assert [p.pose.position.x for p in paths[0].poses] == [1.0, 2.0] and paths[0].header.frame_id == "map"
print("good", flush=True)
while True:
    rclpy.spin_once(node, timeout_sec=0.1)
