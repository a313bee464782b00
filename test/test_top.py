"""`navtree top`: a recording and a node that runs, in a terminal and as text."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import termios
import time
import urllib.request

import pytest
from support.executable import ROOT, find
from support.graph import PATIENCE, wait_for
from support.diagnostics import Reader, part
from test_web_page import TOKEN, drive_without_end, monitored_node, samples

RECORDING = ROOT / "test" / "recordings" / "recoveries.mcap"


def top(*arguments, token=TOKEN):
    """Runs `navtree top --once`. Returns its exit code and output."""
    command = [find("navtree"), "top", "--once", *map(str, arguments)]
    ended = subprocess.run(
        command, env=os.environ | {"NAVTREE_MONITOR_TOKEN": token}, capture_output=True, text=True, timeout=60
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_a_recording_is_printed():
    code, text = top(RECORDING, "--at", "5")
    assert code == 0, text
    for part in ("DriveToPose  running", "▶ FollowPath", "FAILED_TO_MAKE_PROGRESS", "recovery 1", "follow_path_error_code"):
        assert part in text, text
    code, text = top(ROOT / "README.md")
    assert code == 2 and "README.md" in text


class Terminal:
    """`navtree top` in a terminal of 140 columns and 40 lines."""

    def __init__(self, *arguments):
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(find("navtree"), ["navtree", "top", *map(str, arguments)])
        termios.tcsetwinsize(self.fd, (40, 140))

    def wait_for(self, text):
        deadline = time.monotonic() + PATIENCE
        while text not in self.output:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.fd], [], [], left)[0], (text, self.output)
            with contextlib.suppress(OSError):
                self.output += os.read(self.fd, 65536)

    def end(self):
        """Waits for the end and returns the exit code."""
        self.wait_for(b"\x1b[?1049l")
        deadline = time.monotonic() + PATIENCE
        while True:
            # The program waits until its last output is read.
            if select.select([self.fd], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    os.read(self.fd, 65536)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < deadline


@pytest.mark.parametrize("end", ["q", "ctrl-c", "SIGINT", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_restored(end):
    terminal = Terminal(RECORDING)
    before = termios.tcgetattr(terminal.fd)
    terminal.wait_for("FollowPath".encode())
    assert b"\x1b[?1049h" in terminal.output
    if end.startswith("SIG"):
        os.kill(terminal.pid, getattr(signal, end))
    else:
        os.write(terminal.fd, {"q": b"q", "ctrl-c": b"\x03"}[end])
    assert terminal.end() == 0
    local_flags = 3
    assert termios.tcgetattr(terminal.fd)[local_flags] & termios.ECHO, before


@pytest.fixture
def monitored(stack_factory, tmp_path):
    """A node with its monitor port, and the port."""
    return monitored_node(stack_factory, tmp_path)


def test_a_node_is_shown_while_it_runs(monitored):
    stack, port = monitored
    goal = drive_without_end(stack)
    running = ("Drive  running", "▶ FollowPath", "follow_path", "accepted", "the navigator", "ticks, ")

    def is_running():
        code, text = top("--port", port)
        assert code == 0, text
        return all(part in text for part in running)

    wait_for(is_running, PATIENCE, lambda: f"the running tree: {top('--port', port)}")
    code, text = top("--port", port, token="another-token-of-a-stranger")
    assert code == 2 and "the token is missing or wrong" in text
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    wait_for(lambda: "Drive  cancelled" in top(f"http://127.0.0.1:{port}/#{TOKEN}")[1], PATIENCE, "the end")


RECOVERS = """
<root BTCPP_format="4"><BehaviorTree ID="Recovers"><Sequence>
  <Script name="Recover" code="number_recoveries := 1"/>
  <ComputePathToPose goal="{goal}" path="{path}"/><FollowPath path="{path}"/>
</Sequence></BehaviorTree></root>
"""

#: How a number is called at /metrics, on /diagnostics (the part and the key), and in `top`.
NUMBERS = [
    ("navtree_tick_duration_seconds_count", "ticks", "ticks in total", "work "),
    ("navtree_tick_lateness_seconds_count", "ticks", "99th percentile of lateness in total (us)", "late by "),
    ("navtree_ticks_missed_total", "ticks", "missed in total", " missed, "),
    (
        'navtree_goals_total{server="follow_path",outcome="halted",reason="goal cancelled"}',
        "goals",
        "goals follow_path halted goal cancelled",
        "halted goal cancelled 1",
    ),
    ('navtree_leaf_halts_total{reason="goal cancelled"}', "goals", "leaf_halts goal cancelled", "leaf halts: goal cancelled 1"),
    ('navtree_navigations_total{status="canceled",error_code="0"}', "goals", "navigations canceled 0", "canceled 1"),
    ('navtree_recoveries_total{leaf="Recover"}', "goals", "recoveries Recover", "recoveries: Recover 1"),
    ("navtree_time_to_motion_seconds_count", "goals", "last time to motion (s)", "time to motion: last "),
    ("navtree_goals_abandoned_total", "goals", "given up in total", " goals abandoned"),
    ("navtree_tree_swaps_total", "goals", "tree_swaps", "tree swaps: 1"),
    ("navtree_records_lost_total", "goals", "records lost", "0 records lost"),
]


def test_each_number_is_in_the_metrics_in_the_diagnostics_and_in_top(monitored, tmp_path):
    stack, port = monitored
    reader = Reader(stack.graph)
    tree = tmp_path / "recovers.xml"
    tree.write_text(RECOVERS)
    stack.robot.controller.behaviour.duration = None
    goal = stack.navigation.send(1.0, 0.0, tree=tree)
    wait_for(stack.robot.controller.executing, PATIENCE, "the controller to execute")
    stack.robot.stand_at(0.5)

    def metrics():
        request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return samples(answer.read().decode())

    wait_for(lambda: metrics()["navtree_time_to_motion_seconds_count"] == 1, PATIENCE, "the motion")
    goal.cancel()
    assert goal.result()[0] == "CANCELED"
    ended = NUMBERS[5][0]
    wait_for(lambda: ended in metrics(), PATIENCE, "the end")
    diagnostics = reader.more(2)[-1]
    text = top("--port", port)[1]
    for name, where, key, shown in NUMBERS:
        assert name in metrics(), (name, metrics())
        assert key in [value.key for value in part(diagnostics, where).values], (key, part(diagnostics, where))
        assert shown in text, (shown, text)
