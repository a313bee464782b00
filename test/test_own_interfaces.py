"""Builds navtree with an unknown interface package, by the command in docs/installation.md."""

import os
import shutil
import subprocess
import sys

import pytest
from support.executable import ROOT

PACKAGE = ROOT / "test" / "own_interfaces" / "lift_msgs"
COMMAND = '. "$(scripts/setup ~/my_ws/src/lift_msgs)" && cargo build --release'


def copy_dependencies(source, target):
    """Copy the compiled dependencies, so that only r2r and navtree are compiled again."""
    for kind in ("build", "deps", ".fingerprint"):
        for entry in (source / kind).glob("*"):
            if entry.name.removeprefix("lib").startswith(("navtree", "nav_sim")):
                continue
            copy = target / kind / entry.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if entry.is_dir():
                shutil.copytree(entry, copy, symlinks=True)
            elif entry.suffix != ".o":
                shutil.copy2(entry, copy)


@pytest.mark.alone
@pytest.mark.timeout(3600)
def test_build_with_your_own_package_by_the_documented_command(target_folder):
    documented = [line.split("  #")[0].strip() for line in (ROOT / "docs" / "installation.md").read_text().splitlines()]
    assert COMMAND in documented
    for tool in ("bash", "cargo", "c++"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    # Without optimisation and nav_sim the build takes a fifth of the time.
    line = COMMAND.replace("~/my_ws/src/lift_msgs", str(PACKAGE)).replace("--release", "--bin navtree")
    target = target_folder / "own_interfaces"
    if not target.exists():
        copy_dependencies(target_folder / "debug", target / "debug")
    environment = {key: value for key, value in os.environ.items() if key != "IDL_PACKAGE_FILTER"}
    environment |= {"CARGO_TARGET_DIR": str(target), "CARGO_NET_OFFLINE": "true"}
    checks = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(PACKAGE.parent / "lift_checks.py")]
    for step in (line, f'. "$(scripts/setup {PACKAGE})" && NAVTREE_EXECUTABLES={target}/debug {" ".join(checks)}'):
        answer = subprocess.run(
            ["bash", "-euc", step],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1700,
        )
        assert answer.returncode == 0, f"{step}\n{answer.stdout[-8000:]}"


def test_unknown_package_is_rejected_in_one_sentence():
    answer = subprocess.run(
        [ROOT / "scripts" / "setup", "no_such_msgs"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 1
    assert "'no_such_msgs' is neither a folder with a package.xml nor an interface package" in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


def test_package_of_the_sourced_workspace_adds_its_dependencies():
    script = '. "$(scripts/setup "$0")" && echo "$IDL_PACKAGE_FILTER"'
    answer = subprocess.run(
        ["bash", "-euc", script, "visualization_msgs"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.returncode == 0, answer.stderr
    names = answer.stdout.strip().split(";")
    assert {"visualization_msgs", "geometry_msgs", "nav2_msgs"} <= set(names)
    assert len(names) == len(set(names))
