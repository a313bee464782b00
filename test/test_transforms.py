"""Transforms on a real graph: separate frame trees, ages, stamps, and time jumps."""

import pytest
from geometry_msgs.msg import TransformStamped
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time
from support.simulation import Simulation
from support.graph import wait_for
from test_clock import SimulatedClock
from tf2_msgs.msg import TFMessage


class Broadcaster:
    """Publishes static and moving transforms."""

    def __init__(self, stack):
        self.node = stack.graph.node
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.fixed = self.node.create_publisher(TFMessage, "/tf_static", latched)
        self.moving = self.node.create_publisher(TFMessage, "/tf", 10)
        for publisher in (self.fixed, self.moving):
            wait_for(publisher.get_subscription_count, 30.0, "the node's subscriptions")

    def now(self):
        return self.node.get_clock().now()

    def send(self, parent, child, x, stamp=None):
        transform = TransformStamped()
        transform.header.frame_id, transform.child_frame_id = parent, child
        transform.transform.translation.x = float(x)
        transform.transform.rotation.w = 1.0
        if stamp is None:
            self.fixed.publish(TFMessage(transforms=[transform]))
        else:
            transform.header.stamp = stamp.to_msg()
            self.moving.publish(TFMessage(transforms=[transform]))


@pytest.fixture
def broadcaster(stack):
    return Broadcaster(stack)


def assert_aborted(stack, frame, reason, stamp=None):
    goal = stack.navigation.send(1.0, 0.0, frame=frame, stamp=stamp)
    status, result = goal.result()
    assert (status, result.error_code) == ("ABORTED", 9002)
    assert reason in result.error_msg, result.error_msg


def arrives(stack, frame, x, stamp=None):
    """Sends goals in a frame until one succeeds. Returns the planned x in the map frame."""

    def succeeded():
        return stack.navigation.send(x, 0.0, frame=frame, stamp=stamp).result()[0] == "SUCCEEDED"

    wait_for(succeeded, 30.0, f"a goal in '{frame}'")
    planned = stack.robot.planner.requests()[-1].goal
    assert planned.header.frame_id == "map"
    return planned.pose.position.x


def test_goal_in_an_unconnected_frame_tree_is_aborted(stack, broadcaster):
    broadcaster.send("island", "hut", 5.0)
    # The node knows the frames when the error message names the chain instead of the frame.
    wait_for(
        lambda: "no chain" in stack.navigation.send(1.0, 0.0, frame="hut").result()[1].error_msg,
        30.0,
        "the frames of the island",
    )
    # The frame tree of the robot still works, and a new transform joins the two trees.
    assert arrives(stack, "odom", 2.0) == 2.0
    broadcaster.send("map", "island", 100.0)
    assert arrives(stack, "hut", 1.0) == 106.0


def test_a_transform_older_than_the_age_limit_counts_as_missing(stack, broadcaster):
    broadcaster.send("map", "ship", 3.0, broadcaster.now())
    assert arrives(stack, "map", 1.0) == 1.0

    def succeeds():
        broadcaster.send("map", "ship", 3.0, broadcaster.now())
        return stack.navigation.send(1.0, 0.0, frame="ship").result()[0] == "SUCCEEDED"

    wait_for(succeeds, 30.0, "a goal in a frame with a new transform")
    stale = lambda: "old" in stack.navigation.send(1.0, 0.0, frame="ship").result()[1].error_msg  # noqa: E731
    wait_for(stale, 30.0, "a goal aborted because the transform is older than a second")


def test_goal_with_a_stamp_is_transformed_at_its_time(stack_factory):
    stack = stack_factory({"transform_age_limit": 600.0})
    broadcaster = Broadcaster(stack)

    def received():
        broadcaster.send("map", "buoy", 0.0, broadcaster.now())
        return stack.navigation.send(1.0, 0.0, frame="buoy").result()[0] == "SUCCEEDED"

    # Transforms that were lost before discovery are not repeated.
    wait_for(received, 30.0, "a transform of a moving frame")
    begin = broadcaster.now()
    for tenths in range(11):
        broadcaster.send("map", "ship", tenths, begin - Duration(seconds=1.0 - tenths / 10))
    wait_for(lambda: arrives(stack, "ship", 1.0) == 11.0, 30.0, "the newest of the transforms")
    half = (begin - Duration(seconds=0.45)).to_msg()
    assert arrives(stack, "ship", 1.0, stamp=half) == pytest.approx(6.5, abs=1e-6)
    before = (begin - Duration(seconds=5.0)).to_msg()
    assert_aborted(stack, "ship", "at the wanted time", stamp=before)


def test_simulated_time_jumps_back_by_less_than_the_transform_buffer(stack_factory):
    stack = stack_factory({"use_sim_time": True, "transform_age_limit": 60.0}, settle=False)
    clock = SimulatedClock(stack.graph, 100.0)
    try:
        broadcaster = Broadcaster(stack)

        def is_at(x, stamp):
            # Publish each time: the node drops transforms that it received before the time jump.
            broadcaster.send("map", "ship", x, Time(seconds=stamp))
            if stack.navigation.send(1.0, 0.0, frame="ship").result()[0] != "SUCCEEDED":
                return False
            return stack.robot.planner.requests()[-1].goal.pose.position.x == x + 1.0

        wait_for(lambda: is_at(7.0, 100), 30.0, "the ship")
        clock.set_back(8.0)
        wait_for(lambda: is_at(3.0, 93), 30.0, "the new position of the ship")
    finally:
        clock.pause()


@pytest.mark.timeout(180)
def test_simulated_time_restarts(ros_domain):
    simulation = Simulation(ros_domain)
    try:
        x, y = simulation.position
        assert simulation.navigation.send(x + 2.0, y).result(60.0)[0] == "SUCCEEDED"
        wait_for(lambda: simulation.odometry.header.stamp.sec > 60, 60.0, "a minute of simulated time")
        # The simulation restarts: clock, stamps and robot start at their initial values. It runs slower than before, so
        # that its messages arrive within the first simulated minute.
        simulation.restart_sim({"speed_factor": 4.0})
        assert simulation.first_odometry.header.stamp.sec < 60
        x, y = simulation.position
        goal = simulation.navigation.send(x + 2.0, y)
        status, result = goal.result(60.0)
        assert status == "SUCCEEDED", result.error_msg
        wait_for(lambda: simulation.distance_to(x + 2.0, y) < 0.3, 30.0, "the robot at the goal")
    finally:
        simulation.close()


@pytest.mark.timeout(180)
def test_remaining_time_is_the_distance_divided_by_the_current_speed(ros_domain):
    # Late odometry has an old speed, so the test drives longer than the delay before it checks.
    simulation = Simulation(ros_domain, {"feedback_rate": 10.0}, {"speed_factor": 10.0})
    try:
        x, y = simulation.position
        goal = simulation.navigation.send(x + 30.0, y)
        assert goal.result(60.0)[0] == "SUCCEEDED"
        seconds = [
            (feedback.estimated_time_remaining.sec + feedback.estimated_time_remaining.nanosec * 1e-9, feedback)
            for feedback in goal.feedback
        ]
        # On the long straight part the robot drives at its maximum speed, 0.5 m/s.
        cruising = [it for it in seconds if 3.0 < it[1].distance_remaining < 15.0]
        assert len(cruising) > 10
        for remaining, feedback in cruising:
            assert remaining == pytest.approx(feedback.distance_remaining / 0.5, rel=0.1)
        # There is no estimate while the robot stands.
        assert seconds[0][0] == 0.0
    finally:
        simulation.close()
