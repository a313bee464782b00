"""The executables under test, started as a launch file starts them."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from .graph import wait_for

ROOT = Path(__file__).resolve().parents[2]


def find(name):
    """The release build of an executable, or the one in NAVTREE_EXECUTABLES."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(os.environ.get("NAVTREE_EXECUTABLES") or target / "release") / name
    if not path.exists():
        raise AssertionError(f"{path} is missing: run 'cargo build --release' (scripts/test does)")
    return path


class Executable:
    """A process with its output, ended at the latest when the test ends."""

    def __init__(self, name, domain, parameters=None, remappings=None, arguments=(), environment=None):
        command = [str(find(name)), *arguments, "--ros-args"]
        for key, value in (parameters or {}).items():
            if isinstance(value, bool):
                value = str(value).lower()
            command += ["-p", f"{key}:={value}"]
        for source, target in (remappings or {}).items():
            command += ["-r", f"{source}:={target}"]
        variables = os.environ | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        self.lines = []
        self.process = subprocess.Popen(
            command,
            env=variables | (environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def output(self):
        return "\n".join(self.lines)

    def running(self):
        return self.process.poll() is None

    def wait_for_line(self, text, timeout=10.0):
        wait_for(lambda: any(text in line for line in self.lines), timeout, f"output with '{text}': {self.output}")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def wait(self, timeout):
        """The exit code."""
        started = time.monotonic()
        try:
            return self.process.wait(timeout), time.monotonic() - started
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"did not end within {timeout} s:\n{self.output}") from error

    def close(self):
        if self.running():
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(5.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5.0)
        self._reader.join(timeout=2.0)

    def status(self):
        """Fields of /proc for memory and threads."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)

    def own_kib(self):
        """Memory that is its own: the pages of its executable and libraries come and go with what is used of them."""
        return int(self.status()["RssAnon"].split()[0])

    def threads(self):
        return int(self.status()["Threads"])

    def thread_names(self):
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return [(task / "comm").read_text().strip() for task in tasks]

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
