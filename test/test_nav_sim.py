"""Black-box tests of nav_sim: its servers, topics, parameters and faults."""

import math
import signal

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from geometry_msgs.msg import Point, PoseStamped
from nav2_msgs.action import BackUp, ComputePathToPose, FollowPath, Spin, Wait
from nav2_msgs.srv import ClearEntireCostmap, IsPathValid
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import BatteryState
from support.graph import wait_for
from tf2_msgs.msg import TFMessage

pytestmark = pytest.mark.timeout(120)


class Client:
    """A node that calls servers and waits for the answers with a deadline."""

    def __init__(self):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("client", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.actions = {}
        self.services = {}

    def spin(self):
        self.executor.spin_once(timeout_sec=0.05)

    def until(self, condition, seconds=30.0, what="the condition"):
        return wait_for(condition, seconds, what, work=self.spin)

    def done(self, future, seconds=30.0, what="an answer"):
        self.until(future.done, seconds, what)
        return future.result()

    def action(self, kind, name):
        if name not in self.actions:
            self.actions[name] = ActionClient(self.node, kind, name)
            self.until(self.actions[name].server_is_ready, what=f"action server {name}")
        return self.actions[name]

    def send(self, kind, name, goal, feedback=None, seconds=30.0):
        future = self.action(kind, name).send_goal_async(goal, feedback_callback=feedback)
        return self.done(future, seconds, f"acceptance of {name}")

    def run(self, kind, name, goal, feedback=None, seconds=30.0):
        handle = self.send(kind, name, goal, feedback)
        assert handle.accepted
        answer = self.done(handle.get_result_async(), seconds, f"result of {name}")
        return answer.status, answer.result

    def call(self, kind, name, request, seconds=30.0):
        if name not in self.services:
            self.services[name] = self.node.create_client(kind, name)
            self.until(self.services[name].service_is_ready, what=f"service {name}")
        return self.done(self.services[name].call_async(request), seconds, f"answer of {name}")

    def set_parameter(self, name, value):
        kinds = {
            bool: (ParameterType.PARAMETER_BOOL, "bool_value"),
            int: (ParameterType.PARAMETER_INTEGER, "integer_value"),
            float: (ParameterType.PARAMETER_DOUBLE, "double_value"),
            str: (ParameterType.PARAMETER_STRING, "string_value"),
        }
        kind, field = kinds[type(value)]
        value = ParameterValue(type=kind, **{field: value})
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        return self.call(SetParameters, "/nav_sim/set_parameters", request).results[0]

    def close(self):
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def client():
    client = Client()
    yield client
    client.close()


@pytest.fixture
def sim(start, executables):
    """Return a function that starts nav_sim with parameters."""

    def begin(**parameters):
        arguments = []
        for name, value in parameters.items():
            if isinstance(value, list):
                arguments += ["-p", f"{name}:=[{', '.join(value)}]"]
                continue
            # Text gets a second pair of quotes, so that the YAML of the command line treats it as text.
            value = f"'{value}'" if isinstance(value, str) else str(value).lower()
            arguments += ["-p", f"{name.replace('__', '.')}:={value}"]
        return start(executables / "nav_sim", "--ros-args", *arguments)

    return begin


def pose(x, y, yaw=0.0, frame="map"):
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position = Point(x=x, y=y)
    message.pose.orientation.z = math.sin(yaw / 2)
    message.pose.orientation.w = math.cos(yaw / 2)
    return message


def test_plans_and_drives(sim, client):
    sim(speed_factor=5.0)
    transforms, odometry = {}, []

    def keep(message):
        for transform in message.transforms:
            transforms[transform.header.frame_id, transform.child_frame_id] = transform

    client.node.create_subscription(TFMessage, "/tf", keep, 10)
    client.node.create_subscription(Odometry, "odom", odometry.append, 10)
    status, plan = client.run(ComputePathToPose, "compute_path_to_pose", ComputePathToPose.Goal(goal=pose(6.0, 3.0)))
    assert (status, plan.error_code) == (GoalStatus.STATUS_SUCCEEDED, 0)
    assert plan.path.header.frame_id == "map" and len(plan.path.poses) > 20
    feedback = []
    handle = client.send(FollowPath, "follow_path", FollowPath.Goal(path=plan.path), feedback.append)
    # Before the result: rclpy takes the result first, and then no more feedback.
    client.until(lambda: feedback and feedback[-1].feedback.distance_to_goal < 0.3, what="feedback at the goal")
    answer = client.done(handle.get_result_async())
    assert (answer.status, answer.result.error_code) == (GoalStatus.STATUS_SUCCEEDED, 0)
    # The first messages may be lost, before there is a reader.
    assert feedback[0].feedback.distance_to_goal > 3.0
    assert max(message.feedback.speed for message in feedback) > 0.4
    client.until(lambda: odometry and abs(odometry[-1].twist.twist.linear.x) < 1e-3, what="standing still")
    assert set(transforms) == {("map", "odom"), ("odom", "base_link")}
    robot = transforms["odom", "base_link"].transform.translation
    assert math.hypot(robot.x - 6.0, robot.y - 3.0) < 0.2


def test_behaviors(sim, client):
    sim(speed_factor=5.0)
    status, result = client.run(Spin, "spin", Spin.Goal(target_yaw=1.57))
    assert status == GoalStatus.STATUS_SUCCEEDED and result.total_elapsed_time.sec >= 1
    goal = BackUp.Goal(target=Point(x=0.3), speed=0.2)
    assert client.run(BackUp, "backup", goal)[0] == GoalStatus.STATUS_SUCCEEDED
    goal.target.y = 0.1
    status, result = client.run(BackUp, "backup", goal)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, BackUp.Result.INVALID_INPUT)
    goal = Wait.Goal()
    goal.time.sec = 1
    assert client.run(Wait, "wait", goal)[0] == GoalStatus.STATUS_SUCCEEDED


def test_cancel_and_preemption(sim, client):
    sim()
    first = client.send(Spin, "spin", Spin.Goal(target_yaw=60.0))
    second = client.send(Spin, "spin", Spin.Goal(target_yaw=60.0))
    assert client.done(first.get_result_async()).status == GoalStatus.STATUS_ABORTED
    assert len(client.done(second.cancel_goal_async()).goals_canceling) == 1
    assert client.done(second.get_result_async()).status == GoalStatus.STATUS_CANCELED


def test_costmaps(sim, client):
    sim(ghosts="1 0 0.3", map_text="/".join(["." * 40] * 8), map_origin_x=-1.0, map_origin_y=-1.0)
    path = ComputePathToPose.Goal(goal=pose(3.0, 0.0))
    length = len(client.run(ComputePathToPose, "compute_path_to_pose", path)[1].path.poses)
    client.call(ClearEntireCostmap, "local_costmap/clear_entirely_local_costmap", ClearEntireCostmap.Request())
    plan = client.run(ComputePathToPose, "compute_path_to_pose", path)[1].path
    assert len(plan.poses) == length
    assert client.call(IsPathValid, "is_path_valid", IsPathValid.Request(path=plan)).is_valid
    for index, message in enumerate(plan.poses):
        message.pose.position.x = 3.0 * index / (length - 1)
        message.pose.position.y = 0.0
    answer = client.call(IsPathValid, "is_path_valid", IsPathValid.Request(path=plan))
    assert not answer.is_valid and answer.invalid_pose_indices
    client.call(ClearEntireCostmap, "global_costmap/clear_entirely_global_costmap", ClearEntireCostmap.Request())
    assert client.call(IsPathValid, "is_path_valid", IsPathValid.Request(path=plan)).is_valid
    assert len(client.run(ComputePathToPose, "compute_path_to_pose", path)[1].path.poses) < length


def test_faults(sim, client):
    sim(faults__spin__refuse_goals="1", faults__spin__abort_goals="2", faults__spin__abort_code=703)
    assert not client.send(Spin, "spin", Spin.Goal(target_yaw=1.0)).accepted
    status, result = client.run(Spin, "spin", Spin.Goal(target_yaw=1.0))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, 703)
    # In simulated seconds. nav_sim makes up late steps, five at once, so a tenth of a second may take no time.
    assert client.set_parameter("faults.spin.accept_delay", 2.0).successful
    begin = client.node.get_clock().now()
    handle = client.send(Spin, "spin", Spin.Goal(target_yaw=60.0))
    assert handle.accepted and (client.node.get_clock().now() - begin).nanoseconds > 1_800_000_000
    assert client.set_parameter("faults.spin.refuse_cancel_goals", "all").successful
    assert not client.done(handle.cancel_goal_async()).goals_canceling


def test_a_vanished_server_leaves_the_network(sim, client):
    process = sim(
        faults__spin__vanish_goals="1", faults__spin__vanish_after=0.5, faults__spin__return_after=6.0
    )
    action = client.action(Spin, "spin")
    handle = client.send(Spin, "spin", Spin.Goal(target_yaw=60.0))
    answer = handle.get_result_async()
    client.until(lambda: not action.server_is_ready(), what="the server leaving")
    assert not answer.done() and process.running()
    assert client.run(Wait, "wait", Wait.Goal())[0] == GoalStatus.STATUS_SUCCEEDED
    client.until(action.server_is_ready, what="the server coming back")
    assert client.run(Spin, "spin", Spin.Goal(target_yaw=0.5))[0] == GoalStatus.STATUS_SUCCEEDED
    assert not answer.done()


def test_parameters(sim, client):
    sim(max_speed=0.3)
    request = GetParameters.Request(names=["max_speed", "map_frame", "seed"])
    values = client.call(GetParameters, "/nav_sim/get_parameters", request).values
    assert (values[0].double_value, values[1].string_value, values[2].integer_value) == (0.3, "map", 1)
    for name, value in (
        ("max_speed", 0.0),
        ("max_speed", "fast"),
        ("faults.spin.abort_goals", "x"),
        ("map_file", "/nowhere.yaml"),
        ("no_such_parameter", 1),
    ):
        answer = client.set_parameter(name, value)
        assert not answer.successful and answer.reason, name
    assert client.set_parameter("max_speed", 0.4).successful
    values = client.call(GetParameters, "/nav_sim/get_parameters", request).values
    assert values[0].double_value == 0.4


def test_clock_and_battery(sim, client):
    sim(publish_clock=True, speed_factor=10.0, battery_charge=0.5, battery_drain=0.01)
    clock, battery = [], []
    client.node.create_subscription(Clock, "/clock", lambda message: clock.append(message.clock), 10)
    client.node.create_subscription(BatteryState, "/battery_status", battery.append, 10)
    static = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    latched = []
    client.node.create_subscription(TFMessage, "/tf_static", latched.append, static)
    client.until(lambda: latched and battery and battery[-1].percentage < 0.4, what="a battery drained by a tenth")
    assert battery[-1].power_supply_status == BatteryState.POWER_SUPPLY_STATUS_DISCHARGING
    assert 10 <= clock[-1].sec <= 60
    stamps = [message.header.stamp.sec for message in battery]
    assert stamps == sorted(stamps)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_on_a_signal(sim, client, number):
    process = sim()
    client.send(Spin, "spin", Spin.Goal(target_yaw=60.0))
    process.process.send_signal(number)
    assert process.wait(10.0)[0] == 0
    assert "panic" not in process.output


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"map_file": "/nowhere.yaml"}, "/nowhere.yaml"),
        ({"robots": ["r1", "/r2"]}, "`/r2` is not a namespace"),
        ({"robots": ["r1", "r1"]}, "`r1` is listed twice"),
        ({"servers": ["dance"]}, "there is no server `dance`"),
    ],
)
def test_bad_parameters_end_it_with_a_reason(sim, parameters, reason):
    process = sim(**parameters)
    assert process.wait(10.0)[0] != 0
    assert reason in process.output


def test_two_robots_drive_to_different_goals(sim, client):
    process = sim(
        robots=["r1", "r2"], servers=["compute_path_to_pose", "follow_path", "clear_local"], speed_factor=5.0
    )
    robots = {"r1": (4.0, 2.0), "r2": (-3.0, 1.0)}
    odometry = {robot: [] for robot in robots}
    frames = {robot: {} for robot in robots}

    def keep(robot, message):
        for transform in message.transforms:
            frames[robot][transform.child_frame_id] = transform.transform.translation

    for robot in robots:
        client.node.create_subscription(Odometry, f"/{robot}/odom", odometry[robot].append, 10)
        client.node.create_subscription(TFMessage, f"/{robot}/tf", lambda message, robot=robot: keep(robot, message), 10)
    paths = {}
    for robot, goal in robots.items():
        request = ComputePathToPose.Goal(goal=pose(*goal))
        status, plan = client.run(ComputePathToPose, f"/{robot}/compute_path_to_pose", request)
        assert status == GoalStatus.STATUS_SUCCEEDED
        paths[robot] = plan.path
    # Both drive at once.
    goals = [
        client.send(FollowPath, f"/{robot}/follow_path", FollowPath.Goal(path=path)) for robot, path in paths.items()
    ]
    results = [goal.get_result_async() for goal in goals]
    for result in results:
        assert client.done(result).status == GoalStatus.STATUS_SUCCEEDED
    for robot, (x, y) in robots.items():
        at = [frames[robot], odometry[robot]]
        client.until(lambda at=at: at[0] and at[1], what="the state of the robot")

        def is_there(robot=robot, x=x, y=y):
            base = frames[robot]["base_link"]
            position = odometry[robot][-1].pose.pose.position
            return max(math.hypot(base.x - x, base.y - y), math.hypot(position.x - x, position.y - y)) < 0.2

        client.until(is_there, what=f"{robot} at its goal")
    client.call(ClearEntireCostmap, "/r2/local_costmap/clear_entirely_local_costmap", ClearEntireCostmap.Request())
    # The node has only these servers, and no thread for each robot.
    names = {name for name, _ in client.node.get_service_names_and_types_by_node("nav_sim", "/")}
    served = {name.split("/_action/")[0] for name in names if "/_action/" in name}
    assert served == {f"/{robot}/{server}" for robot in robots for server in ("compute_path_to_pose", "follow_path")}
    assert not any("global_costmap" in name for name in names)
    assert process.threads() < 20, process.thread_names()


def test_a_fault_counts_the_goals_of_each_robot(sim, client):
    sim(robots=["r1", "r2"], servers=["spin"], faults__spin__abort_goals="1", faults__spin__abort_code=703)
    for robot in ("r1", "r2"):
        status, result = client.run(Spin, f"/{robot}/spin", Spin.Goal(target_yaw=60.0))
        assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, 703)
    assert client.send(Spin, "/r1/spin", Spin.Goal(target_yaw=0.1)).accepted


def test_a_robot_of_several_vanishes_and_returns(sim, client):
    sim(
        robots=["r1", "r2"],
        servers=["spin"],
        faults__spin__vanish_goals="1",
        faults__spin__vanish_after=0.5,
        faults__spin__return_after=6.0,
    )
    first, second = client.action(Spin, "/r1/spin"), client.action(Spin, "/r2/spin")
    client.send(Spin, "/r1/spin", Spin.Goal(target_yaw=60.0))
    client.until(lambda: not first.server_is_ready(), what="the server of r1 leaving")
    assert second.server_is_ready()
    client.until(first.server_is_ready, what="the server of r1 coming back")
