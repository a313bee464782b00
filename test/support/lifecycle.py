"""A lifecycle manager's view of the node."""

from lifecycle_msgs.srv import ChangeState, GetState

from .graph import PATIENCE, wait_for


class LifecycleClient:
    """Reads and changes the lifecycle state of the node."""

    def __init__(self, stack):
        self.graph = stack.graph
        node = stack.graph.node
        self.change_client = node.create_client(ChangeState, "bt_navigator/change_state")
        self.state_client = node.create_client(GetState, "bt_navigator/get_state")

    def state(self):
        wait_for(self.state_client.service_is_ready, PATIENCE, "the lifecycle services")
        answer = self.graph.ask(lambda: self.state_client.call_async(GetState.Request()), "the state")
        return answer.current_state.id

    def begin(self, transition):
        """Requests a transition. The result of the future has ``success``."""
        request = ChangeState.Request()
        request.transition.id = transition
        wait_for(self.change_client.service_is_ready, PATIENCE, "the lifecycle services")
        return self.change_client.call_async(request)

    def change(self, transition):
        return self.graph.result(self.begin(transition), PATIENCE, "the transition").success
