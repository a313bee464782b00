"""What every test here gets: a ROS domain of its own, the built executables, and processes that surely end."""

import json
import os
import pathlib
import subprocess

import pytest
from support.domains import free_domain
from support.executable import ROOT, Kept, Process
from support.fixtures import stack, stack_factory  # noqa: F401 - fixtures for every test


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


@pytest.fixture
def start(request):
    """Return a function that starts a command; all end with the test, and a failed test shows their output."""
    with Kept(request) as kept:
        yield lambda *command, **options: kept.keep(Process(command, **options))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "setup":
        item.has_failed = False
    # What failed in a fixture is to be seen as well.
    item.has_failed |= outcome.get_result().failed
