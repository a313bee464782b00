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


class Run:
    """One case."""

    def __init__(self, case):
        self.outcomes = case["outcomes"]
        self.turns = {}
        self.halted = []
        factory = BehaviorTreeFactory()
        factory.register_simple_stateful_action("Act", self.act, self.act, self.halt)
        factory.register_simple_condition("Check", self.act)
        self.tree = factory.create_tree_from_text(case["xml"])
        self.board = self.tree.root_blackboard()
        for key, value in case["keys"].items():
            write = {int: "set_int", bool: "set_bool", float: "set_double", str: "set_string"}[type(value)]
            getattr(self.board, write)(key, value)

    def act(self, node):
        """What a leaf does in its turn."""
        outcomes, path = self.outcomes[node.name()], node.full_path()
        turn = self.turns.get(path, 0)
        self.turns[path] = turn + 1
        return getattr(NodeStatus, outcomes[turn % len(outcomes)])

    def halt(self, node):
        """What a leaf does when it is halted."""
        self.halted.append(node.full_path())

    def tick(self, drains):
        """What the root returned."""
        status = self.tree.tick_once() if drains else self.tree.tick_exactly_once()
        if status in (NodeStatus.SUCCESS, NodeStatus.FAILURE):
            # Forgets a wake-up in the tick that completes the tree (docs/differences.md).
            self.tree.sleep(0)
        return status.name

    def text(self, key):
        """The value of a key, as text: an integer has no point in it. `None` where it has none."""
        try:
            return self.board.get_string(key)
        except RuntimeError:
            return None


def ticks(case, log):
    """What each tick left behind; the first error is the end."""
    log.transitions()
    try:
        run = Run(case)
    except RuntimeError as error:
        return {"refused": str(error)}
    logger = behaviortreepy.StdCoutLogger(run.tree)
    statuses, seen = {}, []
    for _ in range(case["ticks"]):
        run.halted.clear()
        try:
            status = run.tick(case["drains"])
        except Exception as error:  # noqa: BLE001 - whatever the bindings make of it
            seen.append({"status": "ERROR", "error": str(error)})
            break
        statuses.update(log.transitions())
        board = {key: run.text(key) for key in run.board.get_keys()}
        seen.append({"status": status, "nodes": dict(statuses), "halted": list(run.halted), "blackboard": board})
    del logger
    return {"ticks": seen}


def main():
    """Answers until there are no more cases."""
    log = Log()
    for line in sys.stdin:
        print(json.dumps(ticks(json.loads(line), log)), file=log.answers, flush=True)


if __name__ == "__main__":
    main()
