"""The guardian of a navigator, as a process."""

import contextlib
from pathlib import Path

from .graph import PATIENCE, wait_for

NAME = "goal-guard"


def children(parent, name=None):
    """The ids of the running child processes of a process, all or those with a name."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        # A process may end while it is examined.
        with contextlib.suppress(OSError):
            its_name, fields = (entry / "stat").read_text().split("(", 1)[1].rsplit(") ", 1)
            state, its_parent = fields.split()[:2]
            if (name is None or its_name == name) and int(its_parent) == parent and state != "Z":
                found.append(int(entry.name))
    return found


def guardians(parent):
    return children(parent, NAME)


def guardian_of(node, but=None):
    return wait_for(
        lambda: [pid for pid in guardians(node.pid) if pid != but], PATIENCE, lambda: f"a guardian: {node.output}"
    )[0]
