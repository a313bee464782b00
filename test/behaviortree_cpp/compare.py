"""Runs a case with BehaviorTree.CPP and navtree, and reports the first difference."""

import json
import select
import subprocess
import sys
from pathlib import Path

#: Maximum time in s of one case on a busy machine.
PATIENCE = 120.0
#: Maximum number of smaller cases to try.
MAX_SMALLER_CASES = 1000


class Peer:
    """BehaviorTree.CPP in a process, which is restarted if a case ends it."""

    def __init__(self):
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()

    def run(self, case):
        """The result of a case, or that the process died."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("peer.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        question = {"xml": case.xml(), "outcomes": case.outcomes, "keys": case.keys}
        question |= {"ticks": case.ticks, "drains": case.drains}
        print(json.dumps(question), file=self._process.stdin, flush=True)
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        answer = self._process.stdout.readline() if ready else ""
        if answer:
            return json.loads(answer)
        self._end()
        return {"died": "BehaviorTree.CPP crashed" if ready else f"BehaviorTree.CPP did not answer within {PATIENCE} s"}

    def _end(self):
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Navtree:
    """`navtree trace`, with its files in a folder."""

    def __init__(self, program, folder):
        self._program = program
        self._tree = Path(folder) / "tree.xml"
        self._mocks = Path(folder) / "mocks.yaml"

    def run(self, case):
        """The result of a case, in the form of the peer's answers."""
        self._tree.write_text(case.xml())
        # JSON is YAML.
        self._mocks.write_text(json.dumps(case.outcomes))
        command = [self._program, "trace", "--json", "--allow", "warnings", "--mock", self._mocks]
        command += ["--ticks", str(case.ticks), *(["--drain"] if case.drains else [])]
        command += [f"--set={key}={str(value).lower()}" for key, value in case.keys.items()]
        ended = subprocess.run([*command, self._tree], capture_output=True, text=True, timeout=PATIENCE, check=False)
        if not ended.stdout:
            return {"refused": ended.stderr}
        ticks = [json.loads(line) for line in ended.stdout.splitlines()]
        return {"ticks": [_seen(tick, case) for tick in ticks]}


def _seen(tick, case):
    if tick["status"] == "ERROR":
        return {"status": "ERROR", "error": tick["error"]}
    # Nodes in subtrees are identified by name only, like in the log of BehaviorTree.CPP.
    nodes = {path.rsplit("/", 1)[-1]: status for path, status in tick["nodes"].items()}
    halted = [path for path in tick["halted"] if path.rsplit("/", 1)[-1] in case.outcomes]
    board = {key: _text(value) for key, value in tick["blackboard"].items()}
    return {"status": tick["status"], "nodes": nodes, "halted": halted, "blackboard": board}


def _text(value):
    return f"{value:.6f}" if isinstance(value, float) else None if value is None else str(value)


def difference(ours, theirs, unique):
    """The first difference in one line, or `None`. `unique`: names that identify one node each."""
    if "ticks" not in ours or "ticks" not in theirs:
        return None if "refused" in ours and "refused" in theirs else "only one of them ran the tree"
    for number, (our, their) in enumerate(zip(ours["ticks"], theirs["ticks"], strict=False), 1):
        for what in ("status", "halted"):
            if our.get(what) != their.get(what):
                return f"tick {number}: {what}: navtree {our.get(what)}, BehaviorTree.CPP {their.get(what)}"
        if our["status"] == "ERROR":
            return None
        # A node without a transition is idle. A key without a value counts as absent.
        for what, names, nothing in (
            ("nodes", unique, "IDLE"),
            ("blackboard", our["blackboard"].keys() | their["blackboard"].keys(), None),
        ):
            for name in sorted(names):
                mine, other = (side[what].get(name, nothing) for side in (our, their))
                if mine != other:
                    return f"tick {number}: {what}: {name}: navtree {mine!r}, BehaviorTree.CPP {other!r}"
    return None


def _ran(ours, theirs):
    return "ticks" in ours, "ticks" in theirs


class Comparison:
    """Compares both sides."""

    def __init__(self, navtree, peer):
        self._navtree = navtree
        self._peer = peer

    def run(self, case):
        """Both results, and the first difference."""
        ours, theirs = self._navtree.run(case), self._peer.run(case)
        return ours, theirs, difference(ours, theirs, case.unique_names())

    def shrunk(self, case):
        """A minimal case with the same kind of difference, as far as the limit of attempts allows."""
        ran = _ran(*self.run(case)[:2])
        smaller = case.smaller()
        for _ in range(MAX_SMALLER_CASES):
            candidate = next(smaller, None)
            if candidate is None:
                break
            ours, theirs, found = self.run(candidate)
            if found and _ran(ours, theirs) == ran:
                case, smaller = candidate, candidate.smaller()
        return case

    def report(self, case):
        """A complete description of a case with a difference."""
        ours, theirs, found = self.run(case)
        lines = [str(found), case.xml(), f"outcomes {case.outcomes}", f"keys {case.keys}"]
        lines += [f"ticks {case.ticks}, wake-ups {'followed' if case.drains else 'not followed'}"]
        for name, side in (("navtree", ours), ("BehaviorTree.CPP", theirs)):
            lines.append(f"{name}:")
            lines += [f"  {tick}" for tick in side["ticks"]] if "ticks" in side else [f"  {side}"]
        return "\n".join(lines)
