"""Publishes /tf and /odom of a robot 20 times a second, and the lifecycle manager's end of the bond 10 times a second, in a
separate process."""

import os
import threading
import time

import rclpy
from bond.msg import Status
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.node import Node
from support.transforms import identity_transforms
from tf2_msgs.msg import TFMessage

from .manager import MANAGER
from .servers import LIFETIME

RATE = 20.0


def drive(pipe, domain):
    """The main function of the process. Ends when the pipe is closed."""
    threading.Timer(LIFETIME, os._exit, [1]).start()
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = Node("measured_robot", context=context, enable_rosout=False, start_parameter_services=False)
    frames = node.create_publisher(TFMessage, "/tf", 100)
    odometry = node.create_publisher(Odometry, "/odom", 10)
    bond = node.create_publisher(Status, "/bond", 100)
    heartbeat = Status(id="bt_navigator", instance_id=MANAGER, active=True, heartbeat_timeout=4.0, heartbeat_period=0.1)
    transforms = identity_transforms()
    message = Odometry(child_frame_id="base_link")
    message.header.frame_id = "odom"
    message.twist.twist.linear.x = 0.3
    pipe.send(("up", "", 0))
    due, is_bond_due = time.monotonic(), False
    while not pipe.poll(max(0.0, due - time.monotonic())):
        due += 1.0 / RATE
        now = node.get_clock().now().to_msg()
        for transform in transforms:
            transform.header.stamp = now
        frames.publish(TFMessage(transforms=transforms))
        message.header.stamp = now
        odometry.publish(message)
        is_bond_due = not is_bond_due
        if is_bond_due:
            heartbeat.header.stamp = now
            bond.publish(heartbeat)
    os._exit(0)
