"""Reads /diagnostics like a diagnostics aggregator."""

from diagnostic_msgs.msg import DiagnosticArray

from .graph import PATIENCE, wait_for


def part(message, name):
    """The status of a part."""
    (status,) = [status for status in message.status if status.name == f"navtree: {name}"]
    return status


def values(message, name, key):
    """The values of a part with this key: one, or none yet."""
    return [value.value for value in part(message, name).values if value.key == key]


def value(message, name, key):
    """A value of a part."""
    (found,) = values(message, name, key)
    return found


class Reader:
    """Reads messages in order. Each search starts at the message that the last one found, so a message that is soon followed
    by another is not missed."""

    def __init__(self, graph):
        self.messages = []
        self._read = 0
        self.subscription = graph.node.create_subscription(DiagnosticArray, "/diagnostics", self.messages.append, 10)

    @property
    def latest(self):
        return self.messages[-1]

    def until(self, condition, what):
        """The first message that fulfils the condition, from the last found one on."""

        def next_match():
            while self._read < len(self.messages):
                if condition(self.messages[self._read]):
                    return self.messages[self._read]
                self._read += 1
            return None

        return wait_for(next_match, PATIENCE, lambda: f"{what}: {self.messages[-1:]}")

    def more(self, count):
        """Waits for at least `count` more messages and returns them."""
        since = len(self.messages)
        wait_for(lambda: len(self.messages) >= since + count, PATIENCE, f"{count} more messages")
        return self.messages[since:]

    def wait(self, name, level, text=""):
        """Waits for a message in which a part has a level and a text. Returns the part."""

        def holds(message):
            status = part(message, name)
            return status.level == level and text in status.message

        return part(self.until(holds, f"{name} at {level} with '{text}'"), name)

    def wait_value(self, name, key, wanted):
        """Waits for a value, with any level: on a busy machine ticks are missed. A count appears with its first event."""
        return self.until(lambda message: wanted in values(message, name, key), f"{key} of {name} to be {wanted}")
