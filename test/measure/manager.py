"""The lifecycle manager's side of the node: its transitions and its bond."""

from bond.msg import Status
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from support.graph import wait_for

#: The id of the manager's end of the bond, which the robot's process publishes (`robot.py`).
MANAGER = "manager"


class Manager:
    """Activates the node as Nav2's lifecycle manager does: as soon as the node's services are there."""

    def __init__(self, loop):
        self._loop = loop
        self._answers = []
        name = "bt_navigator/change_state"
        self._change_state = loop.client(ChangeState, name, lambda response, _: self._answers.append(response.success))
        self._bond = loop.node.create_subscription(Status, "/bond", lambda _: None, 1000)

    def activate(self, seconds=30.0):
        self._until(self._change_state.service_is_ready, seconds, "the lifecycle services")
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            self._answers.clear()
            request = ChangeState.Request()
            request.transition.id = transition
            self._change_state.handle.send_request(request)
            self._until(lambda: self._answers, seconds, "the answer to a transition")
            assert self._answers == [True], "a transition failed"

    def wait_for_absence(self, seconds=30.0):
        """Waits until a node that has ended is off the graph."""
        self._until(lambda: not self._change_state.service_is_ready(), seconds, "the node leaving the graph")

    def heartbeats(self):
        """The number of the node's heartbeats since the last call."""
        count = 0
        while taken := self._bond.handle.take_message(Status, False):
            status, _ = taken
            count += status.instance_id != MANAGER and status.active
        return count

    def _until(self, condition, seconds, what):
        wait_for(condition, seconds, what, work=lambda: self._loop.run_once(0.001))
