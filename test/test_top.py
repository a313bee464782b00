"""`navtree top`: a recording and a node that runs, in a terminal and as text."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import termios
import time

import pytest
from support.executable import ROOT, find
from support.graph import PATIENCE, wait_for
from test_web_page import TOKEN, drive_without_end, free_port, monitored_node

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
