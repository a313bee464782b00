"""Processes of a test: the executables under test, started as by a launch file."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from .graph import wait_for

#: The names of navtree's threads that exist only while there is work.
WORKERS = {"answers", "cancel-jobs", "console", "lifecycle", "parameters", "recordings", "shutdown", "start-robot", "trees"}

ROOT = Path(__file__).resolve().parents[2]


def find(name):
    """An executable of the profile `quick`, or the one in NAVTREE_EXECUTABLES."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(os.environ.get("NAVTREE_EXECUTABLES") or target / "quick") / name
    if not path.exists():
        raise AssertionError(f"{path} is missing: run 'cargo build --profile quick' (scripts/test does)")
    return path


class Process:
    """A process with recorded output. It and its children end at the latest with the test."""

    def __init__(self, command, environment=None):
        self.command = [str(word) for word in command]
        self.lines = []
        self.process = subprocess.Popen(
            self.command,
            env=os.environ | (environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A new session, so that its children can be ended with it.
            start_new_session=True,
        )
        self._may_read = threading.Event()
        self._may_read.set()
        self._waits = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            if not self._may_read.is_set():
                self._waits.set()
                self._may_read.wait()
            self.lines.append(line.rstrip("\n"))

    def block_output(self):
        """Reads the output no more, and fills its pipe: the next write of the process to it waits."""
        self._may_read.clear()
        pipe = os.open(f"/proc/{self.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
        try:
            # The reader still takes what it has begun to read.
            while not self._waits.is_set():
                with contextlib.suppress(BlockingIOError):
                    os.write(pipe, b"a line of the test\n")
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(pipe, b"\n")
        finally:
            os.close(pipe)

    def unblock_output(self):
        """Reads the output again."""
        self._may_read.set()

    @property
    def output(self):
        """The output so far."""
        return "\n".join(self.lines)

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process.poll() is None

    def wait_for_line(self, text, timeout=30.0, after=0):
        """Waits for a line with a text. Ignores the first `after` lines."""
        wait_for(
            lambda: any(text in line for line in self.lines[after:]),
            timeout,
            lambda: f"output with '{text}': {self.output}",
        )

    def interrupt(self):
        """Sends the signal of Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    @contextlib.contextmanager
    def suspended(self, seconds):
        """The process does not run for this time."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            yield
            time.sleep(max(0.0, began + seconds - time.monotonic()))
        finally:
            self.process.send_signal(signal.SIGCONT)

    def wait(self, timeout):
        """Waits for the end. Returns the exit code and the seconds it took. The whole output is then read."""
        started = time.monotonic()
        try:
            code, seconds = self.process.wait(timeout), time.monotonic() - started
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"the process did not end within {timeout} s:\n{self.output}") from error
        self._reader.join(timeout=2.0)
        return code, seconds

    def kill(self):
        """Kills the process like a kernel that is out of memory, without a shutdown."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        # This takes time on a busy machine.
        self.process.wait(60.0)

    def close(self):
        """Ends the process as Ctrl-C does. A killed process would leave shared memory of the middleware behind."""
        self.unblock_output()
        if self.running():
            self.interrupt()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10.0)
        self.kill()
        self._reader.join(timeout=2.0)

    def status(self):
        """The fields of /proc/PID/status: memory and threads."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)

    def own_kib(self):
        """Private memory. Pages of the executable and the libraries vary with their use and do not count."""
        return int(self.status()["RssAnon"].split()[0])

    def threads(self):
        return int(self.status()["Threads"])

    def standing_threads(self):
        """The number of threads without those that exist only while there is work."""
        return sum(name not in WORKERS for name in self.thread_names())

    def thread_names(self):
        names = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            # A thread may end while the list is read.
            with contextlib.suppress(OSError):
                names.append((task / "comm").read_text().strip())
        return names

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class ProcessStack(contextlib.ExitStack):
    """The processes of a test. All are closed at the end, even if closing one fails, because they would disturb the next test
    in their domain. A failed test prints their output."""

    def __init__(self, request):
        super().__init__()
        self._request = request
        self._processes = []

    def add(self, process):
        """Closes a process at the end, and returns it."""
        self._processes.append(process)
        self.callback(process.close)
        return process

    def __exit__(self, *details):
        try:
            return super().__exit__(*details)
        finally:
            if self._request.node.has_failed:
                for process in self._processes:
                    output = process.output[-8000:]
                    print(f"--- {' '.join(process.command)} (code {process.process.returncode})\n{output}")


class Executable(Process):
    """An executable of this project in a domain, with parameters and remappings."""

    def __init__(self, name, domain, parameters=None, remappings=None, arguments=(), environment=None):
        command = [find(name), *arguments, "--ros-args"]
        for key, value in (parameters or {}).items():
            if isinstance(value, bool):
                value = str(value).lower()
            command += ["-p", f"{key}:={value}"]
        for source, target in (remappings or {}).items():
            command += ["-r", f"{source}:={target}"]
        variables = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        super().__init__(command, variables | (environment or {}))
