"""What a diagnostics aggregator sees."""

from diagnostic_msgs.msg import DiagnosticArray

from .graph import PATIENCE, wait_for


def part(message, name):
    """The status of a part."""
    (status,) = [status for status in message.status if status.name == f"navtree: {name}"]
    return status


def value(message, name, key):
    """A value of a part."""
    (found,) = [value.value for value in part(message, name).values if value.key == key]
    return found


class Reader:
    """Reads in order: what is waited for is looked for after what was found last, so that nothing is missed that is soon
    followed by something else."""

    def __init__(self, graph):
        self.messages = []
        self._read = 0
        self.subscription = graph.node.create_subscription(DiagnosticArray, "/diagnostics", self.messages.append, 10)

    @property
    def latest(self):
        return self.messages[-1]

    def until(self, condition, what):
        """The first message from the last one found on for which it holds."""

        def there():
            while self._read < len(self.messages):
                if condition(self.messages[self._read]):
                    return self.messages[self._read]
                self._read += 1
            return None

        return wait_for(there, PATIENCE, lambda: f"{what}: {self.messages[-1:]}")

    def more(self, count):
        """The messages that come after all that have been read: so many, or more."""
        since = len(self.messages)
        wait_for(lambda: len(self.messages) >= since + count, PATIENCE, f"{count} more messages")
        return self.messages[since:]

    def wait(self, name, level, text=""):
        """A message in which a part has a level, and a text; the part."""

        def holds(message):
            status = part(message, name)
            return status.level == level and text in status.message

        return part(self.until(holds, f"{name} at {level} with '{text}'"), name)

    def wait_value(self, name, key, wanted):
        """Whatever the level: on a machine that is busy, ticks are missed."""
        return self.until(lambda message: value(message, name, key) == wanted, f"{key} of {name} to be {wanted}")
