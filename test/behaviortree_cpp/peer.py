"""Ticks trees with BehaviorTree.CPP: reads one case per line from standard input, writes one result per line.

It is a separate process, because a case may crash it.
"""

import ctypes
import json
import os
import re
import sys
import tempfile

import behaviortreepy
from behaviortreepy import BehaviorTreeFactory, NodeStatus

#: A line of BehaviorTree.CPP's logger.
TRANSITION = re.compile(rb"\[\d+\.\d+\]: (\S+) .* -> (?:\x1b\[\d+m)?(\w+)")


class Log:
    """The output of BehaviorTree.CPP: redirects standard output of this process to a file."""

    def __init__(self):
        self.answers = os.fdopen(os.dup(1), "w")
        self._file = tempfile.TemporaryFile()
        os.dup2(self._file.fileno(), 1)
        self._flush = ctypes.CDLL(None).fflush

    def transitions(self):
        """The status changes since the last call."""
        self._flush(None)
        self._file.seek(0)
        matches = map(TRANSITION.match, self._file.readlines())
        found = [(match[1].decode(), match[2].decode()) for match in matches if match]
        self._file.seek(0)
        self._file.truncate()
        return found


class Leaves:
    """The behaviour of the leaves. Has no reference to the tree, which refers to it: they would never be freed."""

    def __init__(self, outcomes):
        self._outcomes = outcomes
        self._turns = {}
        self.halted = []

    def act(self, node):
        """The result of a leaf."""
        outcomes, path = self._outcomes[node.name()], node.full_path()
        turn = self._turns.get(path, 0)
        self._turns[path] = turn + 1
        return getattr(NodeStatus, outcomes[turn % len(outcomes)])

    def halt(self, node):
        """Records the halt of a leaf."""
        self.halted.append(node.full_path())


def load(case, leaves):
    """Creates the tree of a case and sets its keys."""
    factory = BehaviorTreeFactory()
    factory.register_simple_stateful_action("Act", leaves.act, leaves.act, leaves.halt)
    factory.register_simple_condition("Check", leaves.act)
    tree = factory.create_tree_from_text(case["xml"])
    board = tree.root_blackboard()
    for key, value in case["keys"].items():
        write = {int: "set_int", bool: "set_bool", float: "set_double", str: "set_string"}[type(value)]
        getattr(board, write)(key, value)
    return tree


def tick(tree, drains):
    """Ticks the tree and returns the status of the root."""
    status = tree.tick_once() if drains else tree.tick_exactly_once()
    if status in (NodeStatus.SUCCESS, NodeStatus.FAILURE):
        # Clears a wake-up of the tick that completes the tree (docs/differences.md).
        tree.sleep(0)
    return status.name


def text(board, key):
    """The value of a key as text; integers have no decimal point. `None` if it has no value."""
    try:
        return board.get_string(key)
    except RuntimeError:
        return None


def ticks(case, log):
    """The state after each tick. The first error ends the case."""
    log.transitions()
    leaves = Leaves(case["outcomes"])
    try:
        tree = load(case, leaves)
    except RuntimeError as error:
        return {"refused": str(error)}
    logger = behaviortreepy.StdCoutLogger(tree)
    statuses, seen = {}, []
    for _ in range(case["ticks"]):
        leaves.halted.clear()
        try:
            status = tick(tree, case["drains"])
        except Exception as error:  # noqa: BLE001 - the bindings raise errors of any type
            seen.append({"status": "ERROR", "error": str(error)})
            break
        statuses.update(log.transitions())
        board = tree.root_blackboard()
        keys = {key: text(board, key) for key in board.get_keys()}
        seen.append({"status": status, "nodes": dict(statuses), "halted": list(leaves.halted), "blackboard": keys})
    # The logger must be deleted before its tree.
    del logger
    return {"ticks": seen}


def main():
    """Handles cases until the input ends."""
    log = Log()
    for line in sys.stdin:
        print(json.dumps(ticks(json.loads(line), log)), file=log.answers, flush=True)


if __name__ == "__main__":
    main()
