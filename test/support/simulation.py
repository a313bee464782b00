"""nav_sim and the node under test on simulated time. One instance runs many goals."""

import math
from contextlib import ExitStack

from action_msgs.msg import GoalStatus, GoalStatusArray
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import qos_profile_action_status_default

from .client import Navigation
from .executable import Executable
from .fixtures import tree
from .graph import PATIENCE, Graph, wait_for

#: The action servers of nav_sim.
SERVERS = (
    "compute_path_to_pose",
    "compute_path_through_poses",
    "compute_route",
    "smooth_path",
    "follow_path",
    "spin",
    "backup",
    "drive_on_heading",
    "wait",
)
UNFINISHED = {GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING}
#: Simulated seconds per second. On a slow machine nav_sim falls behind without harm.
SPEED = 20.0


class Simulation:
    """A robot on an open plane, a navigation node, and a client of both."""

    def __init__(self, domain, parameters=None, sim_parameters=None):
        self._closers = ExitStack()
        try:
            self._start(domain, parameters, sim_parameters)
        except BaseException:
            self.close()
            raise

    def _start(self, domain, parameters, sim_parameters):
        self.graph = Graph(domain)
        self._closers.callback(self.graph.close)
        defaults = {"publish_clock": True, "speed_factor": SPEED, "feedback_rate": 5.0}
        self._sim_arguments = ("nav_sim", domain, defaults | (sim_parameters or {}))
        self.sim = Executable(*self._sim_arguments)
        self._closers.callback(lambda: self.sim.close())
        defaults = {
            "autostart_node": True,
            "use_sim_time": True,
            # Tests of recordings turn it on.
            "record_on": "never",
            # 5 ms of real time: the period in which the node reads the simulated clock.
            "bt_loop_duration": 100,
            "feedback_rate": 2.0,
            # 5 s of real time: a busy machine may delay a message by more than 0.05 s.
            "transform_age_limit": 100.0,
            "default_nav_to_pose_bt_xml": str(tree("plan_and_follow.xml")),
            # In real time. The clock is published 1,000 times a second. If a slow reader loses messages, the middleware
            # repeats them after 3 s.
            "default_server_timeout": 15000,
            "stop_timeout": 15000,
        }
        self.node = Executable("navtree", domain, defaults | (parameters or {}))
        self._closers.callback(self.node.close)
        self.odometry = self.first_odometry = None
        #: Stamps from this second on belong to a simulation that has ended.
        self._outdated = math.inf
        self._statuses = {}
        node, group = self.graph.node, self.graph.group
        node.create_subscription(Odometry, "odom", self._on_odometry, 1, callback_group=group)
        for name in SERVERS:
            node.create_subscription(
                GoalStatusArray,
                f"{name}/_action/status",
                lambda message, name=name: self._statuses.update({name: message.status_list}),
                qos_profile_action_status_default,
                callback_group=group,
            )
        self._parameters = node.create_client(SetParameters, "/nav_sim/set_parameters", callback_group=group)
        self.navigation = Navigation(self.graph)
        self.navigation.wait(30.0)
        self.navigation.warm_up()
        self._wait_until_ready()

    def _wait_until_ready(self):
        wait_for(lambda: self.odometry, 30.0, "odometry")
        # The timeout for transforms, half a simulated second, is short: wait until the node has the first transforms.
        wait_for(self._arrives, 30.0, "a goal where the robot stands")

    def _arrives(self):
        return self.navigation.send(*self.position).result(30.0)[0] == "SUCCEEDED"

    def restart_sim(self, parameters):
        """Restarts nav_sim with other parameters. Robot, clock and stamps start again at their initial values."""
        self.sim.close()
        self._outdated, self.odometry = self.odometry.header.stamp.sec, None
        self._statuses.clear()
        name, domain, before = self._sim_arguments
        self.sim = Executable(name, domain, before | parameters)
        self._wait_until_ready()

    def close(self):
        self._closers.close()

    def _on_odometry(self, message):
        if self.odometry is None:
            if message.header.stamp.sec >= self._outdated:
                # A late message of the simulation that has ended.
                return
            self.first_odometry = message
        self.odometry = message

    @property
    def position(self):
        """The position of the robot in the map. The odometry of nav_sim has no noise by default."""
        position = self.odometry.pose.pose.position
        return position.x, position.y

    @property
    def speed(self):
        return abs(self.odometry.twist.twist.linear.x)

    def distance_to(self, x, y):
        here = self.position
        return math.hypot(here[0] - x, here[1] - y)

    def set_sim(self, **parameters):
        """Sets text parameters of nav_sim. `__` in a name stands for a dot."""
        kind = ParameterType.PARAMETER_STRING
        request = SetParameters.Request(
            parameters=[
                Parameter(name=name.replace("__", "."), value=ParameterValue(type=kind, string_value=value))
                for name, value in parameters.items()
            ]
        )
        send = lambda: self._parameters.call_async(request)  # noqa: E731
        wait_for(self._parameters.service_is_ready, PATIENCE, "the parameters of nav_sim")
        for result in self.graph.ask(send, "answer of set_parameters").results:
            assert result.successful, result.reason

    def busy(self):
        """The servers with an unfinished goal."""
        return {
            name
            for name, statuses in self._statuses.items()
            if any(status.status in UNFINISHED for status in statuses)
        }

    def wait_until_idle(self):
        wait_for(lambda: not self.busy(), PATIENCE, lambda: f"all servers idle: {self.busy()}")
