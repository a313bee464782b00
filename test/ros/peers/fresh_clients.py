"""Call a service of the process under test from new clients, each as soon as it sees the service."""

import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

PARTICIPANTS = 20
# Clients per participant. Discovery of the first includes the participant, that of the others only their endpoints.
CLIENTS = 10

for participant in range(PARTICIPANTS):
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node(f"peer_{participant}", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    lost, slowest = 0, 0.0
    for _ in range(CLIENTS):
        client = node.create_client(Trigger, "trigger")
        deadline = time.monotonic() + 20.0
        while not client.service_is_ready():
            assert time.monotonic() < deadline, "no service"
            time.sleep(0.0005)
        asked = time.monotonic()
        future = client.call_async(Trigger.Request())
        # A lost message is sent again with a heartbeat, every three seconds: late is not lost.
        executor.spin_until_future_complete(future, timeout_sec=20.0)
        lost += not future.done()
        slowest = max(slowest, time.monotonic() - asked)
        node.destroy_client(client)
    node.destroy_node()
    rclpy.shutdown(context=context)
    print(f"slowest {slowest:.3f}")
    print(f"lost {lost}")
