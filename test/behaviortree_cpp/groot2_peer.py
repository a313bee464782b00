"""Publishes a tree with BehaviorTree.CPP's `Groot2Publisher`: `groot2_peer.py PORT FILE`.

Standard input has a line per act: `tick` or `halt`. The answer is the line `done`.
"""

import sys
from pathlib import Path

from behaviortreepy import BehaviorTreeFactory, Groot2Publisher


def main():
    """Acts until the input ends."""
    port, file = int(sys.argv[1]), Path(sys.argv[2])
    tree = BehaviorTreeFactory().create_tree_from_text(file.read_text())
    publisher = Groot2Publisher(tree, port)
    for line in sys.stdin:
        if line == "tick\n":
            tree.tick_exactly_once()
        else:
            tree.halt_tree()
        print("done", flush=True)
    # The publisher must be deleted before its tree.
    del publisher


if __name__ == "__main__":
    main()
