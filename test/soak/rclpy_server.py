"""Starts `FaultyServer` in a process that may be killed, and talks to it through a pipe."""

import multiprocessing
import signal
import time

from .plan import no_fault
from .faulty_server import serve

_fork = multiprocessing.get_context("forkserver")


class RclpyServer:
    """A sequence of processes. Each ends by its fault or with the worker."""

    #: Nodes of the tree before FollowPath.
    PREPARE = ""
    #: Whether the worker has to publish the transforms of the robot.
    NEEDS_TRANSFORMS = True

    def __init__(self, domain):
        # A forked process starts in a tenth of the time of a new interpreter.
        _fork.set_forkserver_preload(["soak.faulty_server"])
        self.domain = domain
        self.pipe = self.process = None
        self.failures = []

    def alive(self):
        return self.pipe is not None

    def log(self):
        """Empty: the process reports only events."""
        return ""

    def start(self):
        self.pipe, other = _fork.Pipe()
        self.process = _fork.Process(target=serve, args=(other, self.domain, "follow_path"), daemon=True)
        self.process.start()
        other.close()
        self.set_plan(no_fault())

    def set_plan(self, plan):
        """Sends a plan to the server if it lives."""
        try:
            if self.pipe is not None:
                self.pipe.send(plan)
        except OSError:
            # The server is dead; `events` reports that next.
            pass

    def events(self, timeout):
        """The events of the server: kind, goal, trial. The end of the pipe is its death."""
        events = []
        try:
            while self.pipe is not None and self.pipe.poll(timeout):
                events.append(self.pipe.recv())
                timeout = 0
        except (EOFError, OSError):
            self.pipe.close()
            self.pipe = None
            # On a machine with much other load, the end of a process becomes known seconds after the end of its pipe.
            self.process.join(60.0)
            if self.process.exitcode != -signal.SIGKILL:
                self.failures.append(f"the server ended with code {self.process.exitcode}: an error of the soak test itself")
            events.append(("died", b"", -1))
        if self.pipe is None and not events:
            time.sleep(timeout)
        return events

    def close(self):
        if self.process is not None and self.process.is_alive():
            self.process.kill()
            self.process.join(5.0)
