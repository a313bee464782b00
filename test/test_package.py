"""The package in a colcon workspace, and its launch files."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
from support.executable import ROOT
from support.graph import wait_for

LAUNCH_FILES = ("navtree.launch.py", "navtree.launch.xml", "demo.launch.py")


@pytest.fixture(scope="module")
def installed(tmp_path_factory, target_folder, executables):
    """Build the package in a separate workspace and return its install prefix.

    The checkout is linked, not copied, and cargo uses the build folder of the tests: this tests colcon, CMake and the
    installed files, without a complete build.
    """
    colcon = shutil.which("colcon")
    if colcon is None:
        pytest.skip("colcon is not installed")
    workspace = tmp_path_factory.mktemp("workspace")
    (workspace / "src").mkdir()
    (workspace / "src" / "navtree").symlink_to(ROOT)
    answer = subprocess.run(
        [colcon, "--log-base", "log", "build", "--event-handlers", "console_direct+"]
        + ["--cmake-args", f"-DNAVTREE_CARGO_TARGET_DIR={target_folder}", "-DNAVTREE_CARGO_PROFILE=quick"],
        cwd=workspace,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1700,
    )
    assert answer.returncode == 0, answer.stdout[-4000:]
    return workspace / "install" / "navtree"


pytestmark = [pytest.mark.alone, pytest.mark.timeout(1800), pytest.mark.xdist_group("package")]


def test_colcon_installs_executables_and_share(installed):
    for name in ("navtree", "nav_sim"):
        program = installed / "lib" / "navtree" / name
        assert program.is_file() and os.access(program, os.X_OK)
    share = installed / "share" / "navtree"
    assert (share / "package.xml").is_file()
    for folder in ("launch", "config", "behavior_trees"):
        here = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        here = {path for path in here if "__pycache__" not in path.parts}
        there = {path.relative_to(share) for path in (share / folder).rglob("*") if path.is_file()}
        assert here == there


def test_interfaces_are_hidden_from_colcon(installed):
    assert [path.name for path in installed.parent.iterdir() if path.is_dir()] == ["navtree"]
    assert (ROOT / "interfaces" / "COLCON_IGNORE").is_file()


def test_package_manifest_lists_the_messages_of_the_build():
    import tomllib
    import xml.etree.ElementTree

    cargo = tomllib.loads((ROOT / ".cargo" / "config.toml").read_text())
    wanted = set(cargo["env"]["IDL_PACKAGE_FILTER"].split(";"))
    manifest = xml.etree.ElementTree.parse(ROOT / "package.xml")
    listed = {element.text for element in manifest.iter("depend")}
    assert wanted - listed == set()


@pytest.fixture
def launch_environment(installed):
    """Return an environment in which launch finds the package."""
    pytest.importorskip("launch_ros", reason="launch is not installed: no ROS 2 is sourced, and PyPI has none")
    environment = dict(os.environ)
    environment["AMENT_PREFIX_PATH"] = f"{installed}:{environment['AMENT_PREFIX_PATH']}"
    return environment


LOAD = """
import sys
from launch import LaunchContext
from launch.launch_description_sources import AnyLaunchDescriptionSource
source = AnyLaunchDescriptionSource(sys.argv[1])
description = source.get_launch_description(LaunchContext())
print(" ".join(argument.name for argument in description.get_launch_arguments()))
"""


@pytest.mark.parametrize("name", LAUNCH_FILES)
def test_launch_file_has_its_arguments(name, installed, launch_environment):
    path = installed / "share" / "navtree" / "launch" / name
    answer = subprocess.run(
        [sys.executable, "-c", LOAD, path], env=launch_environment, capture_output=True, text=True, timeout=60
    )
    assert answer.returncode == 0, answer.stderr
    assert set(answer.stdout.split()) >= {
        "namespace",
        "use_sim_time",
        "params_file",
        "default_nav_to_pose_bt_xml",
        "default_nav_through_poses_bt_xml",
        "log_level",
        "autostart",
        "use_respawn",
        "use_composition",
    }


RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
arguments = [argument.split(":=", 1) for argument in sys.argv[2:]]
service = LaunchService(noninteractive=True)
include = IncludeLaunchDescription(AnyLaunchDescriptionSource(sys.argv[1]), launch_arguments=arguments)
service.include_launch_description(LaunchDescription([include]))
sys.exit(service.run())
"""


@pytest.mark.parametrize("name", LAUNCH_FILES)
def test_launch_file_starts_the_node(name, installed, launch_environment, start):
    path = installed / "share" / "navtree" / "launch" / name
    run = start(sys.executable, "-c", RUN, path, "autostart:=true", "namespace:=robot", environment=launch_environment)
    run.wait_for_line("active: goals are accepted")
    run.interrupt()
    run.wait(30)
    assert "has died" not in run.output


def test_parameter_file_may_use_find_pkg_share_as_in_nav2_bringup(installed, launch_environment, start, tmp_path):
    parameters = tmp_path / "parameters.yaml"
    tree = "$(find-pkg-share navtree)/behavior_trees/plan_and_follow.xml"
    parameters.write_text(f"bt_navigator:\n  ros__parameters:\n    default_nav_to_pose_bt_xml: {tree}\n")
    path = installed / "share" / "navtree" / "launch" / "navtree.launch.py"
    arguments = ["autostart:=true", f"params_file:={parameters}"]
    run = start(sys.executable, "-c", RUN, path, *arguments, environment=launch_environment)
    run.wait_for_line("active: goals are accepted")
    run.interrupt()
    run.wait(30)


def test_node_in_a_namespace_is_restarted_after_it_was_killed(installed, launch_environment, start, ros_domain):
    from rclpy.parameter_client import AsyncParameterClient
    from support.client import Navigation
    from support.graph import Graph

    path = installed / "share" / "navtree" / "launch" / "demo.launch.py"
    arguments = ["namespace:=robot1", "use_respawn:=True", "use_sim_time:=True", "use_composition:=True"]
    run = start(sys.executable, "-c", RUN, path, *arguments, "log_level:=warn", environment=launch_environment)

    def processes():
        return [int(pid) for pid in re.findall(r"\[navtree-\d+\]: process started with pid \[(\d+)\]", run.output)]

    wait_for(processes, 30, "the node has started")
    graph = Graph(ros_domain)
    try:
        navigation = Navigation(graph, "/robot1")
        navigation.wait()
        navigation.warm_up()
        assert navigation.send(2.0, 1.0).result(30.0)[0] == "SUCCEEDED"
        client = AsyncParameterClient(graph.node, "/robot1/bt_navigator", callback_group=graph.group)
        names = ["use_sim_time", "autostart_node"]
        answer = graph.ask(lambda: client.get_parameters(names), "the parameters")
        assert [value.bool_value for value in answer.values] == [True, True]

        os.kill(processes()[0], signal.SIGKILL)
        wait_for(lambda: len(processes()) == 2, 30, "the node has started again")
        # The killed node stays on the graph for a while. Goals are lost until the new node answers.
        navigation.warm_up(tries=10)
        assert navigation.send(3.0, 1.0).result(30.0)[0] == "SUCCEEDED"
    finally:
        graph.close()
    assert "use_composition has no effect" in run.output
    assert " INFO " not in run.output.replace("[INFO]", ""), "log_level"
    run.interrupt()
    assert run.wait(30)[0] == 0


def test_two_robots_are_launched_in_namespaces(installed, launch_environment, start, ros_domain):
    from support.client import Navigation
    from support.graph import Graph

    path = installed / "share" / "navtree" / "launch" / "two_robots.launch.py"
    run = start(sys.executable, "-c", RUN, path, environment=launch_environment)
    graph = Graph(ros_domain)
    try:
        for robot, x in (("r1", 1.0), ("r2", -1.0)):
            navigation = Navigation(graph, f"/{robot}")
            navigation.wait()
            navigation.warm_up()
            assert navigation.send(x, 0.0).result(30.0)[0] == "SUCCEEDED"
    finally:
        graph.close()
    run.interrupt()
    assert run.wait(30)[0] == 0


def test_config_files_are_for_nodes_that_exist():
    import yaml

    for path in pathlib.Path(ROOT / "config").glob("*.yaml"):
        nodes = yaml.safe_load(path.read_text())
        assert {name.rsplit("/", 1)[-1] for name in nodes} <= {"bt_navigator", "nav_sim", "**"}, path
        assert all(set(node) == {"ros__parameters"} for node in nodes.values()), path
