"""The lane's end of a faulty rclpy server: a process that may be killed."""

import multiprocessing
import signal
import time

from .plan import calm
from .server import serve

_fork = multiprocessing.get_context("forkserver")


class RclpyServer:
    """One process after another, each of which ends by its fault or with the lane."""

    #: What the tree does before it follows a path.
    PREPARE = ""
    #: Whether the lane has to say where the robot is.
    NEEDS_TRANSFORMS = True

    def __init__(self, domain):
        # A process that is made by forking is up in a tenth of the time of a new interpreter.
        _fork.set_forkserver_preload(["soak.server"])
        self.domain = domain
        self.pipe = self.process = None
        self.failures = []

    def alive(self):
        return self.pipe is not None

    def said(self):
        """It says nothing but events."""
        return ""

    def start(self):
        self.pipe, other = _fork.Pipe()
        self.process = _fork.Process(target=serve, args=(other, self.domain, "follow_path"), daemon=True)
        self.process.start()
        other.close()
        self.tell(calm())

    def tell(self, plan):
        """From now on the server follows this plan, if it lives."""
        try:
            if self.pipe is not None:
                self.pipe.send(plan)
        except OSError:
            # It is dead, which its end of the pipe says next.
            pass

    def events(self, timeout):
        """What it says: kind, goal, trial. The end of its pipe is its death."""
        events = []
        try:
            while self.pipe is not None and self.pipe.poll(timeout):
                events.append(self.pipe.recv())
                timeout = 0
        except (EOFError, OSError):
            self.pipe.close()
            self.pipe = None
            self.process.join(5.0)
            if self.process.exitcode != -signal.SIGKILL:
                self.failures.append(f"the server ended with code {self.process.exitcode}: a fault of the soak itself")
            events.append(("died", b"", -1))
        if self.pipe is None and not events:
            time.sleep(timeout)
        return events

    def close(self):
        if self.process is not None and self.process.is_alive():
            self.process.kill()
            self.process.join(5.0)
