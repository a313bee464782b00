"""Servers and client of a navigation in separate processes. Arguments and results are plain values."""

import multiprocessing
from multiprocessing.managers import BaseManager

from .client import Navigation
from .graph import Graph
from .servers import Robot


class Servers:
    """The robot's servers."""

    def __init__(self, domain):
        self._robot = Robot(Graph(domain, "servers"))

    def behave(self, name, **behaviour):
        """Changes what a server does (`servers.Behaviour`)."""
        for field, value in behaviour.items():
            setattr(self._robot.servers[name].behaviour, field, value)

    def seen(self, name, kind):
        """The number of events of a kind at a server."""
        return len(self._robot.servers[name].seen(kind))

    def executing(self, name):
        """The number of goals that a server executes."""
        return self._robot.servers[name].executing()

    def awaited(self, name):
        """Whether a server executes a goal whose client knows of the acceptance."""
        return self._robot.servers[name].awaited()

    def quiet(self):
        """Whether no goal executes, and every accepted goal has ended."""
        servers = self._robot.servers.values()
        return not self._robot.executing() and all(len(s.seen("accepted")) == len(s.seen("ended")) for s in servers)


class Client:
    """A navigation client. Goals are numbers."""

    def __init__(self, domain):
        self._navigation = Navigation(Graph(domain, "client"))
        self._goals = []

    def wait(self):
        self._navigation.wait()
        self._navigation.warm_up()

    def send(self, tree=""):
        self._goals.append(self._navigation.send(1.0, 0.0, tree=tree))
        return len(self._goals) - 1

    def feedback(self, goal):
        """The number of feedback messages."""
        return len(self._goals[goal].feedback)

    def cancel(self, goal):
        self._goals[goal].cancel()

    def done(self, goal):
        return self._goals[goal].done()

    def result(self, goal, timeout):
        """The name of the final status and the error message."""
        status, result = self._goals[goal].result(timeout)
        return status, result.error_msg


class Remote(BaseManager):
    """A process with such objects. One process per host: the middleware reads the addresses of a host once per process."""

    def __init__(self):
        super().__init__(ctx=multiprocessing.get_context("spawn"))


Remote.register("Servers", Servers)
Remote.register("Client", Client)
