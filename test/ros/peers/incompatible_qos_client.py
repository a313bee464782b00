"""Ask the process under test with clients that cannot hear the answer, and meanwhile with one that can.

The answers of a service are volatile. A reader that wants them transient local is never matched, while the requests of the
same client arrive: the middleware refuses the answer for as long as such a client is there.
"""

import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

DEAF = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)

rclpy.init()
node = rclpy.create_node("peer")
executor = SingleThreadedExecutor()
executor.add_node(node)
hearing, other = (node.create_client(Trigger, name) for name in ("trigger", "other"))
# A request that is sent before its service is found is lost. A deaf client never finds its service ready.
assert all(client.wait_for_service(timeout_sec=20.0) for client in (hearing, other)), "no service"
executor.spin_until_future_complete(hearing.call_async(Trigger.Request()), timeout_sec=20.0)

stays, leaves = (node.create_client(Trigger, name, qos_profile=DEAF) for name in ("trigger", "other"))
unheard = [client.call_async(Trigger.Request()) for client in (stays, leaves)]
slowest, start = 0.0, time.monotonic()
while time.monotonic() < start + 7.0:
    asked = time.monotonic()
    heard = hearing.call_async(Trigger.Request())
    executor.spin_until_future_complete(heard, timeout_sec=20.0)
    assert heard.done(), "an answer that is refused keeps others from theirs"
    slowest = max(slowest, time.monotonic() - asked)
    if leaves and time.monotonic() > start + 1.0:
        node.destroy_client(leaves)
        leaves = None
    time.sleep(0.005)
assert not any(future.done() for future in unheard), "a deaf client has heard something: it proves nothing"
print(f"slowest {slowest:.3f}", flush=True)
