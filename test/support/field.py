"""nav_sim and the node under test on simulated time, kept for many goals: what running many trees needs."""

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
UNDER_WAY = {GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING}
#: Simulated seconds per second: where a machine cannot keep up, nav_sim falls behind without harm.
SPEED = 20.0


class Field:
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
            # Five milliseconds here: as often as the node looks at the simulated clock, and not much more.
            "bt_loop_duration": 100,
            "feedback_rate": 2.0,
            # Five seconds here: a busy machine may keep a message back for longer than a twentieth of one.
            "transform_age_limit": 100.0,
            "default_nav_to_pose_bt_xml": str(tree("plan_and_follow.xml")),
            # By the time of people. The clock comes a thousand times a second: what a reader that is kept waiting has no
            # room for, the middleware repeats after three seconds.
            "default_server_timeout": 15000,
            "stop_timeout": 15000,
        }
        self.node = Executable("navtree", domain, defaults | (parameters or {}))
        self._closers.callback(self.node.close)
        self.odometry = self.first_odometry = None
        #: From when on stamps are those of a simulation that has ended.
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
        # Half a simulated second, the patience for a transform, is short here: until the node has heard the first ones.
        wait_for(self._arrives, 30.0, "a goal where the robot stands")

    def _arrives(self):
        return self.navigation.send(*self.position).result(30.0)[0] == "SUCCEEDED"

    def restart_sim(self, parameters):
        """Ends nav_sim and starts it anew, with other parameters: robot, clock and stamps are where they began."""
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
                # One of the last of a simulation that has ended.
                return
            self.first_odometry = message
        self.odometry = message

    @property
    def position(self):
        """Where the robot is in the map: nav_sim's odometry is exact unless noise is asked for."""
        position = self.odometry.pose.pose.position
        return position.x, position.y

    @property
    def speed(self):
        return abs(self.odometry.twist.twist.linear.x)

    def distance_to(self, x, y):
        here = self.position
        return math.hypot(here[0] - x, here[1] - y)

    def set_sim(self, **parameters):
        """Sets parameters of nav_sim, all of them texts; `__` stands for a dot."""
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
        """The servers with a goal that is not over."""
        return {
            name
            for name, statuses in self._statuses.items()
            if any(status.status in UNDER_WAY for status in statuses)
        }

    def wait_until_idle(self):
        wait_for(lambda: not self.busy(), PATIENCE, lambda: f"all servers idle: {self.busy()}")
