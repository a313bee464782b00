"""A Python client of Nav2 on a machine without ROS, with the command of the README."""

import subprocess

import pytest
from support.executable import ROOT, find

COMMAND = '. "$(scripts/setup --whole-nav2)"'


def test_the_readme_has_the_command():
    assert COMMAND in (ROOT / "README.md").read_text()


@pytest.mark.alone
@pytest.mark.timeout(3600)
def test_a_nav2_client_finds_every_interface():
    executables = find("navtree").parent
    checks = '"$NAVTREE_PYTHON" -m pytest -q -p no:xdist test/whole_nav2/commander_checks.py'
    answer = subprocess.run(
        ["bash", "-euc", f"{COMMAND} && NAVTREE_EXECUTABLES={executables} {checks}"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=3500,
    )
    assert answer.returncode == 0, answer.stdout[-8000:]
