"""Scripted action servers. They do what a test tells them, and record the requests.

They use rclpy's `ActionServer`, so that the tests do not depend on navtree's own server.
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

from .transforms import publish_fixed_transforms, robot_at

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
    """An event at a server. The kinds are ``requested``, ``accepted``, ``cancel`` and ``ended``."""

    kind: str
    goal: bytes
    time: float
    detail: object = None


@dataclass
class Behaviour:
    """How a server handles its goals. A test may change the fields at any time; running goals use the changed values. A goal
    keeps the object that was set when it was accepted."""

    accept: bool = True
    #: Seconds between a goal request and its answer.
    accept_delay: float = 0.0
    #: Seconds until a goal ends by itself. None: never.
    duration: float | None = 0.0
    #: Whether a goal ends when a newer one is accepted, as with Nav2's servers.
    preempts: bool = False
    #: The error code with which goals are aborted. 0: goals succeed.
    error_code: int = 0
    #: Number of goals to abort before goals succeed. None: abort all.
    abort_first: int | None = None
    accept_cancel: bool = True
    #: Seconds between a cancel request and its answer.
    cancel_delay: float = 0.0
    #: Seconds that a goal continues to execute after its cancel was accepted.
    stop_delay: float = 0.0
    #: A function from the request of a goal to its result. None: the result is empty.
    result: object = None
    #: A function from the seconds since the start of a goal to its feedback. None: no feedback.
    feedback: object = None


class ThreadedActionServer(ActionServer):
    """Executes each goal in its own thread. rclpy executes goals in threads of the executor; if as many goals as threads do
    not end, it handles no cancel any more."""

    _threads = ()

    def awaited(self, goal):
        """Called with the id of a goal whose result a client requests."""

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
        """Waits for the end of all threads."""
        for thread in self._threads:
            thread.join(5.0)


def _run(coroutine):
    """Runs a coroutine to its end. The coroutine must not wait for anything."""
    try:
        coroutine.send(None)
    except StopIteration:
        pass


class Server:
    """One action server.

    ``choose(request)``, if given, returns the behaviour of a goal; without it all goals have `behaviour`.
    ``on_event(event)``, if given, is called for each event.
    """

    def __init__(self, graph, name, behaviour=None, action=None, choose=None, on_event=None):
        self.name = name
        self.action = action or ACTIONS[name.rsplit("/", 1)[-1]]
        self.behaviour = behaviour or Behaviour()
        self._choose, self._on_event = choose, on_event
        self.events = []
        self.running = set()
        self._known = set()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ended = 0
        self._newest, self._behaviours = None, {}
        self._server = ThreadedActionServer(
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

    def _behaviour_for(self, request):
        return self._choose(request) if self._choose else self.behaviour

    def _record(self, kind, goal=b"", detail=None, change=lambda: None):
        """Records an event, and makes a change of the server's state with it."""
        event = Event(kind, bytes(goal), time.monotonic(), detail)
        with self._lock:
            self.events.append(event)
            change()
        if self._on_event:
            self._on_event(event)

    def _wait(self, seconds):
        """Waits for a number of seconds, which may change meanwhile."""
        since = time.monotonic()
        while time.monotonic() - since < seconds() and not self._stop.wait(0.002):
            pass

    def _goal(self, request):
        self._record("requested", detail=request)
        behaviour = self._behaviour_for(request)
        self._wait(lambda: behaviour.accept_delay)
        return GoalResponse.ACCEPT if behaviour.accept else GoalResponse.REJECT

    def _accepted(self, handle):
        goal = bytes(handle.goal_id.uuid)

        def add():
            self.running.add(goal)
            self._behaviours[goal] = self._behaviour_for(handle.request)
            self._newest = goal

        self._record("accepted", goal, handle.request, add)
        try:
            handle.execute()
        except RCLError:
            # A cancel arrived between rclpy's check for one and its next step.
            self._server.notify_execute(handle, None)

    def _awaited(self, goal):
        with self._lock:
            self._known.add(bytes(goal))

    def _cancel(self, handle):
        self._record("cancel", handle.goal_id.uuid)
        behaviour = self._behaviour_for(handle.request)
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
        except Exception as error:  # noqa: BLE001 - the context may be shut down while a goal executes
            self._end(goal, f"error {error}")
        return result

    def _end(self, goal, how):
        """Records that the goal stopped, before any client can know it: a test must not find it executing afterwards."""
        self._record("ended", goal, how, lambda: self.running.discard(goal))

    def seen(self, kind):
        """The events of one kind so far."""
        with self._lock:
            return [event for event in self.events if event.kind == kind]

    def cancelled(self):
        """The goals with a cancel request, in order. A repeated request for a goal counts once."""
        return list(dict.fromkeys(event.goal for event in self.seen("cancel")))

    def forget(self):
        """Removes all recorded events."""
        with self._lock:
            self.events.clear()
            self._ended = 0

    def executing(self):
        """How many goals are executing."""
        with self._lock:
            return len(self.running)

    def awaited(self):
        """Whether a goal is executing whose client knows of the acceptance, because it has requested the result."""
        with self._lock:
            return not self._known.isdisjoint(self.running)

    def requests(self):
        """The goal messages that were accepted, in order."""
        return [event.detail for event in self.seen("accepted")]

    def leave(self):
        """Removes the server from the graph. Its goals get no result."""
        server, self._server = self._server, None
        server.destroy()

    def destroy(self):
        """Ends all goals and removes the server from the graph."""
        self._stop.set()
        if self._server:
            self._server.join()
            self.leave()


def straight_path(request):
    """The result of a planner: a straight path from the origin to the goal, or through the goals."""
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
    """All servers that the default trees use, and the transforms that the navigator needs."""

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
        # Robots in namespaces have transforms of their own.
        topic = "/tf_static" if self.graph.node.get_namespace() == "/" else "tf_static"
        self._publisher = publish_fixed_transforms(self.graph.node, topic)

    def add(self, name, behaviour):
        self.servers[name] = Server(self.graph, name, behaviour)
        return self.servers[name]

    def stand_at(self, x):
        """Moves the robot to this place on the x axis of the map."""
        self._publisher.publish(robot_at(x))

    def has_listener(self):
        """Whether the navigator subscribes to the transforms."""
        return self._publisher.get_subscription_count() > 0

    def executing(self):
        """How many goals are executing on any server."""
        return sum(server.executing() for server in self.servers.values())

    def forget(self):
        """Removes all recorded events of all servers."""
        for server in self.servers.values():
            server.forget()
        self.clears.clear()

    def destroy(self):
        for server in self.servers.values():
            server.destroy()


TERMINAL = {GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED}
