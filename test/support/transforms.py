"""The transforms of a robot that stands at the origin of the map."""

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

#: Parent and child frames of the transforms that the navigator needs.
FRAMES = (("map", "odom"), ("odom", "base_link"))


def identity_transforms():
    """The transforms of `FRAMES`, without a stamp."""
    transforms = []
    for parent, child in FRAMES:
        transform = TransformStamped(child_frame_id=child)
        transform.header.frame_id = parent
        transform.transform.rotation.w = 1.0
        transforms.append(transform)
    return transforms


def publish_fixed_transforms(node, topic="/tf_static"):
    """Publishes the transforms and returns the publisher."""
    qos = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = node.create_publisher(TFMessage, topic, qos)
    publisher.publish(TFMessage(transforms=identity_transforms()))
    return publisher


def robot_at(x):
    """The transforms of a robot on the x axis of the map."""
    transforms = identity_transforms()
    transforms[-1].transform.translation.x = x
    return TFMessage(transforms=transforms)
