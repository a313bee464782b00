"""Ticks trees with BehaviorTree.CPP: a case a line on standard input, what it did a line on the output.

A process of its own: what ends it must not end the tests.
"""

import ctypes
import json
import os
import re
import sys
import tempfile

import behaviortreepy
from behaviortreepy import BehaviorTreeFactory, NodeStatus

#: A line of BehaviorTree.CPP's own logger.
TRANSITION = re.compile(rb"\[\d+\.\d+\]: (\S+) .* -> (?:\x1b\[\d+m)?(\w+)")


class Log:
    """What BehaviorTree.CPP prints: standard output of this process, in a file."""

    def __init__(self):
        self.answers = os.fdopen(os.dup(1), "w")
        self._file = tempfile.TemporaryFile()
        os.dup2(self._file.fileno(), 1)
        self._flush = ctypes.CDLL(None).fflush

    def transitions(self):
        """Which node got which status since the last time."""
        self._flush(None)
        self._file.seek(0)
        matches = map(TRANSITION.match, self._file.readlines())
        found = [(match[1].decode(), match[2].decode()) for match in matches if match]
        self._file.seek(0)
        self._file.truncate()
        return found


class Leaves:
    """What the leaves of a case do. Knows nothing of the tree, whose callbacks it is: they would keep each other."""

    def __init__(self, outcomes):
        self._outcomes = outcomes
        self._turns = {}
        self.halted = []

    def act(self, node):
        """What a leaf does in its turn."""
        outcomes, path = self._outcomes[node.name()], node.full_path()
        turn = self._turns.get(path, 0)
        self._turns[path] = turn + 1
        return getattr(NodeStatus, outcomes[turn % len(outcomes)])

    def halt(self, node):
        """What a leaf does when it is halted."""
        self.halted.append(node.full_path())


def load(case, leaves):
    """The tree of a case, with its keys."""
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
    """What the root returned."""
    status = tree.tick_once() if drains else tree.tick_exactly_once()
    if status in (NodeStatus.SUCCESS, NodeStatus.FAILURE):
        # Forgets a wake-up in the tick that completes the tree (docs/differences.md).
        tree.sleep(0)
    return status.name


def text(board, key):
    """The value of a key, as text: an integer has no point in it. `None` where it has none."""
    try:
        return board.get_string(key)
    except RuntimeError:
        return None


def ticks(case, log):
    """What each tick left behind; the first error is the end."""
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
        except Exception as error:  # noqa: BLE001 - whatever the bindings make of it
            seen.append({"status": "ERROR", "error": str(error)})
            break
        statuses.update(log.transitions())
        board = tree.root_blackboard()
        keys = {key: text(board, key) for key in board.get_keys()}
        seen.append({"status": status, "nodes": dict(statuses), "halted": list(leaves.halted), "blackboard": keys})
    # Before the tree that it listens to.
    del logger
    return {"ticks": seen}


def main():
    """Answers until there are no more cases."""
    log = Log()
    for line in sys.stdin:
        print(json.dumps(ticks(json.loads(line), log)), file=log.answers, flush=True)


if __name__ == "__main__":
    main()
