"""Action servers that do as a test tells them, and remember what was asked of them.

They are plain rclpy action servers: a client library nobody here wrote, so that both ends of the wire are not ours.
"""

import threading
import time
from dataclasses import dataclass, field

from action_msgs.msg import GoalStatus
from nav2_msgs import action as nav2
from nav2_msgs.srv import ClearEntireCostmap
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation

RCLError = rclpy_implementation.RCLError

ACTIONS = {
    "compute_path_to_pose": nav2.ComputePathToPose,
    "compute_path_through_poses": nav2.ComputePathThroughPoses,
    "follow_path": nav2.FollowPath,
    "smooth_path": nav2.SmoothPath,
    "spin": nav2.Spin,
    "backup": nav2.BackUp,
    "wait": nav2.Wait,
    "drive_on_heading": nav2.DriveOnHeading,
}


@dataclass
class Event:
    """Something a server saw: ``requested``, ``accepted``, ``cancel``, ``ended``."""

    kind: str
    goal: bytes
    time: float
    detail: object = None


@dataclass
class Behaviour:
    """What a server does with its goals. May be changed while it runs: a goal goes by what it finds from moment to moment,
    in the object that was there when it was accepted."""

    accept: bool = True
    #: Seconds between a goal request and its answer.
    accept_delay: float = 0.0
    #: Seconds until a goal ends by itself; None: never.
    duration: float | None = 0.0
    #: A goal ends when a newer one is accepted, as with Nav2's servers.
    preempts: bool = False
    #: The error code that goals are aborted with; 0: they succeed.
    error_code: int = 0
    #: The first goals only are aborted; None: all.
    abort_first: int | None = None
    accept_cancel: bool = True
    #: Seconds between a cancel request and its answer.
    cancel_delay: float = 0.0
    #: Seconds a goal goes on after its cancel was accepted.
    stop_delay: float = 0.0
    #: Called with the goal's request; returns the result. Without it, an empty one.
    result: object = None
    feedback: object = None


class Threads(ActionServer):
    """A thread a goal. rclpy's own takes one of the executor's for each, and with as many goals that do not end as it has
    it hears no cancel any more."""

    _threads = ()

    def awaited(self, goal):
        """Called with the id of a goal whose result somebody asks for."""

    async def _execute_get_result_request(self, taken):
        _, request = taken
        self.awaited(request.goal_id.uuid)
        await super()._execute_get_result_request(taken)

    def notify_execute(self, goal_handle, execute_callback):
        work = self._execute_goal(execute_callback or self._execute_callback, goal_handle)
        thread = threading.Thread(target=_run, args=(work,), daemon=True)
        with self._lock:
            self._threads = [*(other for other in self._threads if other.is_alive()), thread]
        thread.start()

    def join(self):
        """Waits for all threads, which have been told to end."""
        for thread in self._threads:
            thread.join(5.0)


def _run(coroutine):
    """To its end, as nothing in it is waited for."""
    try:
        coroutine.send(None)
    except StopIteration:
        pass


class Server:
    """One action server."""

    def __init__(self, graph, name, behaviour=None, action=None):
        self.name = name
        self.action = action or ACTIONS[name.rsplit("/", 1)[-1]]
        self.behaviour = behaviour or Behaviour()
        self.events = []
        self.running = set()
        self._known = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ended = 0
        self._newest, self._behaviours = None, {}
        self._server = Threads(
            graph.node,
            self.action,
            name,
            execute_callback=self._execute,
            goal_callback=self._goal,
            handle_accepted_callback=self._accepted,
            cancel_callback=self._cancel,
            callback_group=ReentrantCallbackGroup(),
        )
        self._server.awaited = self._awaited

    def _note(self, kind, goal=b"", detail=None):
        with self._lock:
            self.events.append(Event(kind, bytes(goal), time.monotonic(), detail))

    def _wait(self, seconds):
        """As many seconds as are called for, as long as they are."""
        since = time.monotonic()
        while time.monotonic() - since < seconds() and not self._stop.wait(0.002):
            pass

    def _goal(self, request):
        self._note("requested", detail=request)
        behaviour = self.behaviour
        self._wait(lambda: behaviour.accept_delay)
        return GoalResponse.ACCEPT if behaviour.accept else GoalResponse.REJECT

    def _accepted(self, handle):
        goal = bytes(handle.goal_id.uuid)
        with self._lock:
            self.events.append(Event("accepted", goal, time.monotonic(), handle.request))
            self.running.add(goal)
            self._behaviours[goal] = self.behaviour
            self._newest = goal
        try:
            handle.execute()
        except RCLError:
            # A cancel came between its look for one and its next step.
            self._server.notify_execute(handle, None)

    def _awaited(self, goal):
        with self._lock:
            self._known.add(bytes(goal))

    def _cancel(self, handle):
        self._note("cancel", handle.goal_id.uuid)
        behaviour = self.behaviour
        self._wait(lambda: behaviour.cancel_delay)
        return CancelResponse.ACCEPT if behaviour.accept_cancel else CancelResponse.REJECT

    def _execute(self, handle):
        goal = bytes(handle.goal_id.uuid)
        result = self.action.Result()
        behaviour = self._behaviours.pop(goal)
        started = time.monotonic()
        try:
            while not self._stop.wait(0.002):
                if handle.is_cancel_requested:
                    self._wait(lambda: behaviour.stop_delay)
                    self._end(goal, "canceled")
                    handle.canceled()
                    return result
                if not handle.is_active:
                    self._end(goal, "inactive")
                    return result
                if behaviour.preempts and goal != self._newest:
                    self._end(goal, "preempted")
                    handle.abort()
                    return result
                if behaviour.feedback:
                    handle.publish_feedback(behaviour.feedback(time.monotonic() - started))
                if behaviour.duration is not None and time.monotonic() - started >= behaviour.duration:
                    if behaviour.result:
                        result = behaviour.result(handle.request)
                    with self._lock:
                        self._ended += 1
                        aborts = behaviour.abort_first is None or self._ended <= behaviour.abort_first
                    if behaviour.error_code and aborts:
                        result.error_code = behaviour.error_code
                        self._end(goal, "aborted")
                        handle.abort()
                    else:
                        self._end(goal, "succeeded")
                        handle.succeed()
                    return result
        except Exception as error:  # noqa: BLE001 - a context that is shut down under a goal is no failure here
            self._end(goal, f"error {error}")
        return result

    def _end(self, goal, how):
        """The robot stands, and then that is told to whoever waits for it: nobody may know it and find it moving here."""
        with self._lock:
            self.events.append(Event("ended", goal, time.monotonic(), how))
            self.running.discard(goal)

    def seen(self, kind):
        """The events of one kind so far."""
        with self._lock:
            return [event for event in self.events if event.kind == kind]

    def cancelled(self):
        """The goals that somebody wanted cancelled, in order. A cancel that is not answered soon is asked for again, which
        is no other one."""
        return list(dict.fromkeys(event.goal for event in self.seen("cancel")))

    def forget(self):
        """What was asked of it so far is of no account."""
        with self._lock:
            self.events.clear()
            self._ended = 0

    def executing(self):
        """How many goals are executing."""
        with self._lock:
            return len(self.running)

    def awaited(self):
        """Whether a goal is executing whose client knows that: it has asked for the result."""
        with self._lock:
            return not self._known.isdisjoint(self.running)

    def requests(self):
        """The goal messages that were accepted, in order."""
        return [event.detail for event in self.seen("accepted")]

    def destroy(self):
        self._stop.set()
        if self._server:
            self._server.join()
            self._server.destroy()
            self._server = None


def straight_path(request):
    """A planner's result: from the origin to the goal, or through the goals."""
    goals = [request.goal] if hasattr(request, "goal") else list(request.goals)
    action = nav2.ComputePathToPose if hasattr(request, "goal") else nav2.ComputePathThroughPoses
    result = action.Result()
    result.path.header.frame_id = "map"
    x, y = 0.0, 0.0
    for goal in goals:
        for step in range(11):
            pose = type(goal)()
            pose.header.frame_id = "map"
            pose.pose.position.x = x + (goal.pose.position.x - x) * step / 10
            pose.pose.position.y = y + (goal.pose.position.y - y) * step / 10
            pose.pose.orientation.w = 1.0
            result.path.poses.append(pose)
        x, y = goal.pose.position.x, goal.pose.position.y
    return result


@dataclass
class Robot:
    """Everything that the default trees call, and the transforms that the navigator needs."""

    graph: object
    servers: dict = field(default_factory=dict)
    clears: list = field(default_factory=list)

    def __post_init__(self):
        planner = Behaviour(result=straight_path)
        self.planner = self.add("compute_path_to_pose", planner)
        self.planner_through = self.add("compute_path_through_poses", Behaviour(result=straight_path))
        self.controller = self.add("follow_path", Behaviour(duration=0.3))
        self.spin = self.add("spin", Behaviour(duration=0.1))
        self.backup = self.add("backup", Behaviour(duration=0.1))
        self.wait = self.add("wait", Behaviour(duration=0.1))
        for costmap in ("global", "local"):
            self.graph.node.create_service(
                ClearEntireCostmap,
                f"{costmap}_costmap/clear_entirely_{costmap}_costmap",
                lambda request, response, costmap=costmap: self.clears.append(costmap) or response,
                callback_group=self.graph.group,
            )
        self._transforms()

    def add(self, name, behaviour):
        self.servers[name] = Server(self.graph, name, behaviour)
        return self.servers[name]

    def _transforms(self):
        from geometry_msgs.msg import TransformStamped
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from tf2_msgs.msg import TFMessage

        qos = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._publisher = self.graph.node.create_publisher(TFMessage, "/tf_static", qos)
        message = TFMessage()
        for parent, child in (("map", "odom"), ("odom", "base_link")):
            transform = TransformStamped()
            transform.header.frame_id = parent
            transform.child_frame_id = child
            transform.transform.rotation.w = 1.0
            message.transforms.append(transform)
        self._publisher.publish(message)

    def is_heard(self):
        """Whether somebody listens to where it is."""
        return self._publisher.get_subscription_count() > 0

    def executing(self):
        """How many goals are executing on any server."""
        return sum(server.executing() for server in self.servers.values())

    def forget(self):
        """What was asked of any server so far is of no account."""
        for server in self.servers.values():
            server.forget()
        self.clears.clear()

    def destroy(self):
        for server in self.servers.values():
            server.destroy()


TERMINAL = {GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED}
