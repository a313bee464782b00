"""What every test here gets: a ROS domain of its own, the built executables, and processes that surely end."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from support.domains import free_domain
from support.fixtures import stack, stack_factory  # noqa: F401 - fixtures for every test

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def ros_domain(monkeypatch):
    """Set a domain for this test and everything it starts; discovery stays on this machine."""
    with free_domain() as domain:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        yield domain


@pytest.fixture(scope="session")
def target_folder():
    """Return the folder where cargo built."""
    answer = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return pathlib.Path(json.loads(answer.stdout)["target_directory"])


@pytest.fixture(scope="session")
def executables(target_folder):
    """Return the folder of `navtree` and `nav_sim`: the release build, or NAVTREE_EXECUTABLES."""
    folder = pathlib.Path(os.environ.get("NAVTREE_EXECUTABLES") or target_folder / "release")
    for name in ("navtree", "nav_sim"):
        assert (folder / name).is_file(), f"{folder / name} is missing: run 'cargo build --release'"
    return folder


class Process:
    """A process of a test: its output is kept, and it is killed with the test if it has not ended by itself."""

    def __init__(self, command, output, **options):
        self.command = [str(word) for word in command]
        self.output = output
        with open(output, "w") as sink:
            # A session of its own, so that its children end with it.
            self.popen = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **options,
            )

    @property
    def pid(self):
        return self.popen.pid

    def running(self):
        return self.popen.poll() is None

    def text(self):
        """Return what it has printed so far."""
        return self.output.read_text(errors="replace")

    def interrupt(self):
        """Send what Ctrl-C sends."""
        self.popen.send_signal(signal.SIGINT)

    def wait(self, seconds):
        """Return the exit code; a process that takes longer fails the test."""
        return self.popen.wait(timeout=seconds)

    def end(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait(timeout=10)


@pytest.fixture
def start(tmp_path, request):
    """Return a function that starts a command; all end with the test, and a failed test shows their output."""
    started = []

    def begin(*command, **options):
        process = Process(command, tmp_path / f"output-{len(started)}.txt", **options)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.end()
    report = getattr(request.node, "report_of_call", None)
    if report is not None and report.failed:
        for process in started:
            text = process.text()
            print(f"--- {' '.join(process.command)} (code {process.popen.returncode})\n{text[-8000:]}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.report_of_call = outcome.get_result()


def wait_until(condition, seconds=10.0, what="the condition", step=0.01, work=None):
    """Wait for `condition()`, and return its value. `work`, for instance a spin, replaces the pause between looks."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        if work is None:
            time.sleep(step)
        else:
            work()


@pytest.fixture(name="wait_until")
def wait_until_fixture():
    return wait_until
