"""The wheel of the commands (scripts/wheel): built, and installed into an empty environment."""

import os
import pathlib
import re
import subprocess
import venv
import zipfile

import pytest
from support.executable import ROOT

#: What a machine without ROS does not have.
ROS = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "ROS_DISTRO")

pytestmark = [pytest.mark.alone, pytest.mark.timeout(1800), pytest.mark.xdist_group("wheel")]


def run(*command, **more):
    environment = {name: value for name, value in os.environ.items() if name not in ROS}
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1700, **more
    )


def page_commands():
    """Return the commands with which docs/testing-trees.md installs navtree."""
    page = (ROOT / "docs" / "testing-trees.md").read_text()
    return re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].splitlines()


@pytest.fixture(scope="module")
def wheel():
    """Build the wheel with profile `dev`, which shares its build with `cargo test --no-default-features`."""
    build, install = page_commands()
    assert install == "pip install target/wheels/navtree-*.whl"
    answer = run(*build.split(), "--profile", "dev", cwd=ROOT)
    assert answer.returncode == 0, answer.stderr
    (path,) = answer.stdout.splitlines()
    return pathlib.Path(path)


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Install the wheel into an empty environment, without the network. Return the folder of its programs."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    answer = run(folder / "bin" / "pip", "install", "--no-index", wheel)
    assert answer.returncode == 0, answer.stderr
    return folder / "bin"


def test_the_wheel_holds_one_program_and_its_licence(wheel):
    assert re.fullmatch(r"navtree-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name), wheel.name
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        programs = [name for name in names if "/scripts/" in name]
        assert [name.rsplit("/", 1)[1] for name in programs] == ["navtree"]
        assert any(name.endswith("/LICENSE") for name in names)
        metadata = content.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    assert f"\nVersion: {version}\n" in metadata
    assert "\nRequires-Dist:" not in metadata


def test_commands_run_without_ros_in_an_empty_environment(environment, tmp_path):
    (tmp_path / "bad.xml").write_text('<root BTCPP_format="4"><BehaviorTree ID="T"><Nope/></BehaviorTree></root>')
    navtree = environment / "navtree"
    answer = run(navtree, "check", "bad.xml", cwd=tmp_path)
    assert answer.returncode == 1 and "error[NT0301]: unknown node `Nope`" in answer.stdout
    answer = run(navtree, "check", ROOT / "behavior_trees")
    assert answer.returncode == 0, answer.stdout
    answer = run(navtree, "test", "--quiet", ROOT / "test" / "scenarios" / "nodes.yaml")
    assert answer.returncode == 0 and answer.stdout.endswith("passed, 0 failed\n")
