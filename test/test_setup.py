"""scripts/setup: a second run is fast, the environment is complete, and the interfaces equal those of Nav2."""

import os
import subprocess
import time

import pytest
from support.executable import ROOT


def run_setup(**environment):
    return subprocess.run(
        [ROOT / "scripts" / "setup"],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.alone
def test_second_run_takes_less_than_20_seconds():
    begin = time.monotonic()
    answer = run_setup()
    assert answer.returncode == 0, answer.stderr
    assert time.monotonic() - begin < 20
    assert os.path.isfile(answer.stdout.strip())


def test_second_run_finds_the_environment_this_test_runs_in():
    assert run_setup().stdout.strip() == os.environ["NAVTREE_ENVIRONMENT"]


def test_environment_is_sourced_once_only():
    script = '. "$1"; first=$(env | sort); . "$1"; [ "$first" = "$(env | sort)" ]'
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    answer = subprocess.run(
        ["bash", "-euc", script, "-", os.environ["NAVTREE_ENVIRONMENT"]], env=environment, timeout=60
    )
    assert answer.returncode == 0


def test_missing_rust_is_reported_in_one_sentence(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("bash", "uname", "dirname", "mktemp", "rm", "id", "sha256sum", "cut", "cat", "sed", "awk"):
        found = next(
            (p for p in (os.path.join(f, tool) for f in os.defpath.split(":") if f) if os.path.exists(p)), None
        )
        if found:
            (tools / tool).symlink_to(found)
    answer = run_setup(PATH=str(tools), HOME=str(tmp_path), NAVTREE_CACHE=str(tmp_path / "cache"))
    assert answer.returncode == 1
    assert "Rust is missing: install it with rustup" in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


def test_old_ros_is_refused(tmp_path):
    marker = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    marker.mkdir(parents=True)
    (marker / "rcl").touch()
    answer = run_setup(
        AMENT_PREFIX_PATH=str(tmp_path), ROS_DISTRO="humble", NAVTREE_ENVIRONMENT="", NAVTREE_CACHE=str(tmp_path)
    )
    assert answer.returncode == 1
    assert "ROS 2 humble is sourced but navtree needs Jazzy or later" in answer.stderr


# The order of fields determines the encoding. These interfaces are the most error-prone.
FIELDS = {
    ("ComputePathToPose", "Goal"): ["goal", "start", "planner_id", "use_start"],
    ("ComputePathThroughPoses", "Goal"): ["goals", "start", "planner_id", "use_start"],
    ("ComputePathToPose", "Result"): ["path", "planning_time", "error_code", "error_msg"],
    ("FollowPath", "Goal"): ["path", "controller_id", "goal_checker_id", "progress_checker_id"],
    ("FollowPath", "Result"): ["result", "error_code", "error_msg"],
    ("NavigateToPose", "Feedback"): [
        "current_pose",
        "navigation_time",
        "estimated_time_remaining",
        "number_of_recoveries",
        "distance_remaining",
    ],
    ("NavigateThroughPoses", "Feedback"): [
        "current_pose",
        "navigation_time",
        "estimated_time_remaining",
        "number_of_recoveries",
        "distance_remaining",
        "number_of_poses_remaining",
    ],
    ("SmoothPath", "Result"): ["path", "smoothing_duration", "was_completed", "error_code", "error_msg"],
    ("BackUp", "Goal"): ["target", "speed", "time_allowance"],
    ("DockRobot", "Result"): ["success", "error_code", "num_retries", "error_msg"],
}


@pytest.mark.parametrize(("action", "part"), FIELDS, ids=lambda value: value)
def test_fields_are_those_of_nav2(action, part):
    nav2_msgs = pytest.importorskip("nav2_msgs.action", exc_type=ImportError)
    message = getattr(getattr(nav2_msgs, action), part)
    assert list(message.get_fields_and_field_types()) == FIELDS[action, part]
