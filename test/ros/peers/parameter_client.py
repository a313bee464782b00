"""Use the parameters of the process under test with rclpy's client, and check every answer."""

import rclpy
from rcl_interfaces.msg import ParameterEvent, ParameterType
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import qos_profile_parameter_events

PATIENCE = 20.0

rclpy.init()
node = rclpy.create_node("peer")
events = []
node.create_subscription(ParameterEvent, "/parameter_events", events.append, qos_profile_parameter_events)
client = AsyncParameterClient(node, "tested")
assert client.wait_for_services(PATIENCE)


def wait(future):
    rclpy.spin_until_future_complete(node, future, timeout_sec=PATIENCE)
    assert future.done(), "no answer"
    return future.result()


def set_one(name, value):
    return wait(client.set_parameters([Parameter(name, value=value)])).results[0]


names = wait(client.list_parameters()).result.names
# Parameters that every rclcpp node declares too.
standard = {"use_sim_time", "start_type_description_service"} | {
    f"qos_overrides./clock.subscription.{policy}" for policy in ("depth", "durability", "history", "reliability")
}
assert set(names) == {"rate", "tree", "frame"} | standard, names

values = wait(client.get_parameters(["rate", "tree", "nobody"])).values
assert values[0].type == ParameterType.PARAMETER_DOUBLE and values[0].double_value == 100.0
assert values[1].string_value == "a.xml" and values[2].type == ParameterType.PARAMETER_NOT_SET
assert list(wait(client.get_parameter_types(["rate", "nobody"])).types) == [3, 0]

descriptors = wait(client.describe_parameters(["rate", "frame"])).descriptors
assert descriptors[0].description == "ticks a second Default: 100."
assert descriptors[0].floating_point_range[0].to_value == 1000.0
assert descriptors[1].read_only

assert set_one("rate", 50.0).successful
assert set_one("rate", 60).successful
rejections = {
    ("rate", 5000.0): "outside of 1 to 1000",
    ("rate", "fast"): "of type double, not string",
    ("frame", "odom"): "read-only",
    ("nobody", 1): "not declared",
    ("tree", "broken.xml"): "broken.xml:3:5: no such node",
}
for (name, value), reason in rejections.items():
    answer = set_one(name, value)
    assert not answer.successful and reason in answer.reason, answer

together = [Parameter("rate", value=70.0), Parameter("tree", value="broken.xml")]
assert not wait(client.set_parameters_atomically(together)).result.successful
assert wait(client.get_parameters(["rate"])).values[0].double_value == 60.0
together[1] = Parameter("tree", value="b.xml")
assert wait(client.set_parameters_atomically(together)).result.successful

while not any(p.name == "tree" for e in events for p in e.changed_parameters):
    rclpy.spin_once(node, timeout_sec=PATIENCE)
assert all(e.node == "/tested" for e in events if e.node != "/peer")
print("good", flush=True)
