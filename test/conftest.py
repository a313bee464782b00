"""Fixtures of all tests: a separate ROS domain, the built executables, and processes that end with the test."""

import json
import os
import pathlib
import subprocess

import pytest
from support.domains import free_domain
from support.executable import ROOT, Process, ProcessStack
from support.fixtures import stack, stack_factory  # noqa: F401 - fixtures for every test


@pytest.fixture(scope="session", autouse=True)
def log_folder(tmp_path_factory):
    """Keep logs and recordings of nodes out of the home directory."""
    os.environ["ROS_LOG_DIR"] = str(tmp_path_factory.mktemp("ros_log"))


@pytest.fixture(autouse=True)
def ros_domain(monkeypatch):
    """Set a ROS domain for this test and its child processes; discovery stays on this machine."""
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
    """Return the folder of `navtree` and `nav_sim`: the build of profile `quick`, or NAVTREE_EXECUTABLES."""
    folder = pathlib.Path(os.environ.get("NAVTREE_EXECUTABLES") or target_folder / "quick")
    for name in ("navtree", "nav_sim"):
        assert (folder / name).is_file(), f"{folder / name} is missing: run 'cargo build --profile quick'"
    return folder


@pytest.fixture(scope="session")
def program_with_faults(target_folder):
    """The node with fault injection, built without optimisation by `cargo test --features fault-injection`."""
    command = ["cargo", "build", "--locked", "--offline", "--features", "fault-injection", "--bin", "navtree"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return target_folder / "debug" / "navtree"


@pytest.fixture
def start(request):
    """Return a function that starts a command. The process ends with the test; a failed test prints its output."""
    with ProcessStack(request) as processes:
        yield lambda *command, **options: processes.add(Process(command, **options))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "setup":
        item.has_failed = False
    # A failure in a fixture counts too.
    item.has_failed |= outcome.get_result().failed
