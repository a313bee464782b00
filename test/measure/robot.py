"""The rest of a robot: /tf and /odom, 20 times a second, in a process of its own."""

import os
import threading
import time

import rclpy
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from .servers import LIFETIME

RATE = 20.0


def drive(pipe, domain):
    """The process; ends when the pipe is closed."""
    threading.Timer(LIFETIME, os._exit, [1]).start()
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = Node("measured_robot", context=context, enable_rosout=False, start_parameter_services=False)
    frames = node.create_publisher(TFMessage, "/tf", 100)
    odometry = node.create_publisher(Odometry, "/odom", 10)
    transforms = []
    for parent, child in (("map", "odom"), ("odom", "base_link")):
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id = parent
        transform.transform.rotation.w = 1.0
        transforms.append(transform)
    message = Odometry(child_frame_id="base_link")
    message.header.frame_id = "odom"
    message.twist.twist.linear.x = 0.3
    pipe.send(("up", "", 0))
    due = time.monotonic()
    while not pipe.poll(max(0.0, due - time.monotonic())):
        due += 1.0 / RATE
        now = node.get_clock().now().to_msg()
        for transform in transforms:
            transform.header.stamp = now
        frames.publish(TFMessage(transforms=transforms))
        message.header.stamp = now
        odometry.publish(message)
    os._exit(0)
