"""A rclpy node in a ROS domain, spun in the background; waiting with deadlines."""

import threading
import time
import traceback

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node


#: Maximum time in s of any step on a slow, busy machine: what takes longer hangs. A test that asserts a duration has its own
#: limit and the marker `alone`.
PATIENCE = 30.0


def wait_for(condition, timeout, what, work=None):
    """Waits until ``condition()`` is true, and returns its value. After ``timeout`` seconds fails with ``what``: a text, or a
    function that returns the text. ``work``, for instance a spin, replaces the pause between checks."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what() if callable(what) else what}")
        if work is None:
            time.sleep(0.002)
        else:
            work()


class Graph:
    """One rclpy context with one node. Callbacks run on background threads until ``close``."""

    def __init__(self, domain, name="test_peer", threads=6, namespace=""):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node(name, namespace=namespace, context=self.context)
        self.group = ReentrantCallbackGroup()
        if threads == 1:
            self.executor = SingleThreadedExecutor(context=self.context)
        else:
            self.executor = MultiThreadedExecutor(num_threads=threads, context=self.context)
        self.executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        while self.context.ok():
            try:
                self.executor.spin()
                return
            except ExternalShutdownException:
                return
            except Exception:  # noqa: BLE001 - other callbacks must still run after one failed
                traceback.print_exc()

    def call(self, client, request, timeout=PATIENCE):
        """Calls a service and returns its response."""
        wait_for(client.service_is_ready, timeout, f"service {client.srv_name}")
        return self.result(client.call_async(request), timeout, f"answer of {client.srv_name}")

    def result(self, future, timeout, what):
        wait_for(future.done, timeout, what)
        return future.result()

    def ask(self, send, what, tries=5, timeout=3.0):
        """Sends a request, if necessary several times, and returns the answer. ``send()`` returns a future.

        A server may answer before the client's reader is matched to it, and the middleware then drops the answer,
        although the client sees the service as ready.
        """
        for attempt in range(tries):
            try:
                return self.result(send(), timeout, what)
            except AssertionError:
                if attempt + 1 == tries:
                    raise

    def close(self):
        self.executor.shutdown(timeout_sec=2.0)
        self.node.destroy_node()
        self.context.try_shutdown()
        self._thread.join(timeout=2.0)
