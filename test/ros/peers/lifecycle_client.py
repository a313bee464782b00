"""Drive the process under test through its lifecycle like Nav2's lifecycle manager, and read its log."""

import rclpy
from bond.msg import Status
from lifecycle_msgs.msg import Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetAvailableStates, GetAvailableTransitions, GetState
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile

PATIENCE = 20.0

rclpy.init()
node = rclpy.create_node("peer")
events, logs, beats = [], [], []
node.create_subscription(TransitionEvent, "tested/transition_event", events.append, 10)
latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_subscription(Log, "/rosout", logs.append, latched)
node.create_subscription(Status, "/bond", beats.append, 100)


def call(kind, name, request):
    client = node.create_client(kind, f"tested/{name}")
    assert client.wait_for_service(PATIENCE), name
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=PATIENCE)
    assert future.done(), "no answer"
    return future.result()


def change(transition, label=""):
    request = ChangeState.Request(transition=Transition(id=transition, label=label))
    return call(ChangeState, "change_state", request).success


def state():
    return call(GetState, "get_state", GetState.Request()).current_state.label


def until(condition):
    while not condition():
        rclpy.spin_once(node, timeout_sec=PATIENCE)


assert state() == "unconfigured"
assert len(call(GetAvailableStates, "get_available_states", GetAvailableStates.Request()).available_states) == 11
ask = GetAvailableTransitions.Request()
available = call(GetAvailableTransitions, "get_available_transitions", ask).available_transitions
assert [t.transition.label for t in available] == ["configure", "shutdown"]
assert len(call(GetAvailableTransitions, "get_transition_graph", ask).available_transitions) == 25

assert not change(Transition.TRANSITION_ACTIVATE), "not from unconfigured"
# The first configure fails by design of the test.
assert not change(Transition.TRANSITION_CONFIGURE)
assert state() == "unconfigured"
assert change(Transition.TRANSITION_CONFIGURE) and state() == "inactive"
assert change(Transition.TRANSITION_ACTIVATE) and state() == "active"
until(lambda: any(beat.active and beat.id == "tested" for beat in beats))
# Without a peer the heartbeat period is 0.1 s at first, and 1 s when the bond is idle.
stamps = lambda: [b.header.stamp.sec + b.header.stamp.nanosec / 1e9 for b in beats if b.active]  # noqa: E731
until(lambda: len(stamps()) >= 6)
assert stamps()[5] - stamps()[0] < 3.0, stamps()
assert change(0, "deactivate") and state() == "inactive"
until(lambda: any(not beat.active for beat in beats))
assert change(Transition.TRANSITION_CLEANUP) and state() == "unconfigured"
assert change(Transition.TRANSITION_INACTIVE_SHUTDOWN) and state() == "finalized"
until(lambda: any(e.goal_state.label == "finalized" for e in events))
assert ("active", "deactivating") in [(e.start_state.label, e.goal_state.label) for e in events]
until(lambda: any(log.msg == "change Activate" and log.name == "tested" and log.level == 20 for log in logs))
print("good", flush=True)
