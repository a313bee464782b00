"""Call services of the process under test with clients whose QoS is incompatible, and with one that gets its answers.

The answers of a service are volatile. A reader with transient local durability never matches them, but the requests of its
client arrive. While such a client exists, the middleware refuses to send the answer.
"""

import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

INCOMPATIBLE = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)

rclpy.init()
node = rclpy.create_node("peer")
executor = SingleThreadedExecutor()
executor.add_node(node)
client, other = (node.create_client(Trigger, name) for name in ("trigger", "other"))
# A request before discovery is lost. A client with incompatible QoS never finds its service ready.
assert all(one.wait_for_service(timeout_sec=20.0) for one in (client, other)), "no service"
executor.spin_until_future_complete(client.call_async(Trigger.Request()), timeout_sec=20.0)

stays, leaves = (node.create_client(Trigger, name, qos_profile=INCOMPATIBLE) for name in ("trigger", "other"))
unanswered = [one.call_async(Trigger.Request()) for one in (stays, leaves)]
slowest, start = 0.0, time.monotonic()
while time.monotonic() < start + 7.0:
    asked = time.monotonic()
    answer = client.call_async(Trigger.Request())
    executor.spin_until_future_complete(answer, timeout_sec=20.0)
    assert answer.done(), "a refused answer blocks the answers to other clients"
    slowest = max(slowest, time.monotonic() - asked)
    if leaves and time.monotonic() > start + 1.0:
        node.destroy_client(leaves)
        leaves = None
    time.sleep(0.005)
assert not any(future.done() for future in unanswered), "a client with incompatible QoS got an answer"
print(f"slowest {slowest:.3f}", flush=True)
