"""A rclpy node in a domain of its own, spun in the background, and waiting with deadlines."""

import threading
import time
import traceback

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node


#: Longer than anything takes on a machine that is slow and loaded: what takes longer hangs. Whoever asserts a speed has
#: a figure of his own, and is marked `alone`.
PATIENCE = 30.0


def wait_for(condition, timeout, what, work=None):
    """Waits until ``condition()`` is true, and returns what it returned. Fails with ``what`` after ``timeout``: a text, or
    what makes one of how things stand by then. ``work``, for instance a spin, replaces the pause between looks."""
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
    """One rclpy context with one node. Everything in it runs on background threads until ``close``."""

    def __init__(self, domain, name="test_peer", threads=6):
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node(name, context=self.context)
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
            except Exception:  # noqa: BLE001 - one callback that fails is no reason to leave all others unanswered
                traceback.print_exc()

    def call(self, client, request, timeout=PATIENCE):
        """Calls a service and returns its response."""
        wait_for(client.service_is_ready, timeout, f"service {client.srv_name}")
        return self.result(client.call_async(request), timeout, f"answer of {client.srv_name}")

    def result(self, future, timeout, what):
        wait_for(future.done, timeout, what)
        return future.result()

    def ask(self, send, what, tries=5, timeout=3.0):
        """The answer to a request that may be sent again: ``send()`` returns a future.

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
