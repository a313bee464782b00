"""Transforms on a real graph: forests, ages, stamps, and time that jumps."""

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
    """Says where frames are, fixed ones and moving ones."""

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


def refused(stack, frame, reason, stamp=None):
    goal = stack.navigation.send(1.0, 0.0, frame=frame, stamp=stamp)
    status, result = goal.result()
    assert (status, result.error_code) == ("ABORTED", 9002)
    assert reason in result.error_msg, result.error_msg


def arrives(stack, frame, x, stamp=None):
    """Sends a goal in a frame until the node has heard of it, and returns where it was planned to."""

    def succeeded():
        return stack.navigation.send(x, 0.0, frame=frame, stamp=stamp).result()[0] == "SUCCEEDED"

    wait_for(succeeded, 30.0, f"a goal in '{frame}'")
    planned = stack.robot.planner.requests()[-1].goal
    assert planned.header.frame_id == "map"
    return planned.pose.position.x


def test_goal_in_an_unconnected_frame_tree_is_aborted(stack, broadcaster):
    broadcaster.send("island", "hut", 5.0)
    # Heard of when the refusal speaks of the chain, not of the frame.
    wait_for(
        lambda: "no chain" in stack.navigation.send(1.0, 0.0, frame="hut").result()[1].error_msg,
        30.0,
        "the frames of the island",
    )
    # The robot's own tree works on, and a bridge joins the two.
    assert arrives(stack, "odom", 2.0) == 2.0
    broadcaster.send("map", "island", 100.0)
    assert arrives(stack, "hut", 1.0) == 106.0


def test_a_transform_older_than_the_age_limit_counts_as_missing(stack, broadcaster):
    broadcaster.send("map", "ship", 3.0, broadcaster.now())
    assert arrives(stack, "map", 1.0) == 1.0

    def fresh():
        broadcaster.send("map", "ship", 3.0, broadcaster.now())
        return stack.navigation.send(1.0, 0.0, frame="ship").result()[0] == "SUCCEEDED"

    wait_for(fresh, 30.0, "a goal in a frame that is fresh")
    stale = lambda: "old" in stack.navigation.send(1.0, 0.0, frame="ship").result()[1].error_msg  # noqa: E731
    wait_for(stale, 30.0, "a refusal because nothing was heard of the frame for a second")


def test_goal_with_a_stamp_is_transformed_at_its_time(stack_factory):
    stack = stack_factory({"transform_age_limit": 600.0})
    broadcaster = Broadcaster(stack)

    def heard():
        broadcaster.send("map", "buoy", 0.0, broadcaster.now())
        return stack.navigation.send(1.0, 0.0, frame="buoy").result()[0] == "SUCCEEDED"

    # What is lost before that does not come again.
    wait_for(heard, 30.0, "a moving frame to be heard of")
    begin = broadcaster.now()
    for tenths in range(11):
        broadcaster.send("map", "ship", tenths, begin - Duration(seconds=1.0 - tenths / 10))
    wait_for(lambda: arrives(stack, "ship", 1.0) == 11.0, 30.0, "the newest of the transforms")
    half = (begin - Duration(seconds=0.45)).to_msg()
    assert arrives(stack, "ship", 1.0, stamp=half) == pytest.approx(6.5, abs=1e-6)
    before = (begin - Duration(seconds=5.0)).to_msg()
    refused(stack, "ship", "at the wanted time", stamp=before)


def test_simulated_time_jumps_back_by_less_than_the_transform_buffer(stack_factory):
    stack = stack_factory({"use_sim_time": True, "transform_age_limit": 60.0}, settle=False)
    clock = SimulatedClock(stack.graph, 100.0)
    try:
        broadcaster = Broadcaster(stack)

        def is_at(x, stamp):
            # Each time anew: what is sent before the node has seen the clock go back is rightly forgotten.
            broadcaster.send("map", "ship", x, Time(seconds=stamp))
            if stack.navigation.send(1.0, 0.0, frame="ship").result()[0] != "SUCCEEDED":
                return False
            return stack.robot.planner.requests()[-1].goal.pose.position.x == x + 1.0

        wait_for(lambda: is_at(7.0, 100), 30.0, "the ship")
        clock.set_back(8.0)
        wait_for(lambda: is_at(3.0, 93), 30.0, "the ship where it is now, and not where it was before")
    finally:
        clock.pause()


@pytest.mark.timeout(180)
def test_simulated_time_restarts(ros_domain):
    simulation = Simulation(ros_domain)
    try:
        x, y = simulation.position
        assert simulation.navigation.send(x + 2.0, y).result(60.0)[0] == "SUCCEEDED"
        wait_for(lambda: simulation.odometry.header.stamp.sec > 60, 60.0, "a minute of simulated time")
        # A simulation that starts over: the clock and all stamps go back, and so does the robot. Not as fast as before, so
        # that it is heard of within its first minute.
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
    # Odometry that is late says how fast the robot was. So it goes for longer than that may be, before one looks.
    simulation = Simulation(ros_domain, {"feedback_rate": 10.0}, {"speed_factor": 10.0})
    try:
        x, y = simulation.position
        goal = simulation.navigation.send(x + 30.0, y)
        assert goal.result(60.0)[0] == "SUCCEEDED"
        seconds = [
            (feedback.estimated_time_remaining.sec + feedback.estimated_time_remaining.nanosec * 1e-9, feedback)
            for feedback in goal.feedback
        ]
        # On the long straight it goes at full speed, half a metre a second.
        cruising = [it for it in seconds if 3.0 < it[1].distance_remaining < 15.0]
        assert len(cruising) > 10
        for remaining, feedback in cruising:
            assert remaining == pytest.approx(feedback.distance_remaining / 0.5, rel=0.1)
        # At rest and at the goal nothing is estimated.
        assert seconds[0][0] == 0.0
    finally:
        simulation.close()


