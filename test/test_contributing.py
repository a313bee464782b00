"""The examples of docs/contributing.md: they apply, build and pass, and the page names every file that changes."""

import os
import re
import subprocess

import pytest
from support.executable import ROOT

PAGE = ROOT / "docs" / "contributing.md"
#: What is generated from the nodes.
GENERATED = {"docs/nodes.md", "docs/nodes.xml", "docs/tree.xsd"}
#: What the page says of a node: its own file, and the list of its folder.
CONDITION = {"src/nav/condition/is_battery_full.rs", "src/nav/condition/mod.rs"}
#: What the page says of a node with a service: the same twice.
SERVICE = {
    "src/msg/service/set_bool.rs",
    "src/msg/service/mod.rs",
    "src/nav/service/switch_lights.rs",
    "src/nav/service/mod.rs",
}


def run(command, folder, **more):
    answer = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **more.pop("environment", {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1200,
        **more,
    )
    assert answer.returncode == 0, f"{command}\n{answer.stdout[-8000:]}"
    return answer.stdout


def examples():
    """Return the diffs of the page."""
    return [block.split("```\n")[0] for block in PAGE.read_text().split("```diff\n")[1:]]


def apply(patch, folder):
    """Copy the repository and apply a diff to the copy."""
    # Without the history, which a shallow copy of the repository may not have.
    files = run(["git", "ls-files", "-z"], ROOT).split("\0")
    present = "\0".join(name for name in files if (ROOT / name).is_file())
    folder.mkdir()
    run(["cp", "--parents", "--target-directory", folder, *present.split("\0")], ROOT)
    run(["git", "init", "--quiet"], folder)
    run(["git", "add", "--all", "--force"], folder)
    run(["git", "apply", "--unidiff-zero", "-"], folder, input=patch)


@pytest.mark.alone
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("number", "changed", "test"),
    [
        (0, CONDITION, "nav::condition::is_battery_full::tests::test_is_battery_full"),
        (1, SERVICE, "nav::service::switch_lights::tests::test_switch_lights"),
    ],
)
def test_the_example_builds_and_changes_no_other_file(number, changed, test, tmp_path, target_folder):
    copy = tmp_path / "navtree"
    apply(examples()[number], copy)
    environment = {"CARGO_TARGET_DIR": str(target_folder), "CARGO_NET_OFFLINE": "true"}
    # The generated pages, and the test of the node.
    told = run(
        ["cargo", "test", "--locked", "--no-default-features", "--lib", "--", "monitor::models", test],
        copy,
        environment={"NAVTREE_BLESS": "1", **environment},
    )
    assert f"{test} ... ok" in told
    # With ROS, an interface without a conversion does not compile.
    run(["cargo", "check", "--locked", "--lib"], copy, environment=environment)
    files = run(["git", "ls-files", "--modified", "--others", "--exclude-standard"], copy)
    assert set(files.split()) == changed | GENERATED


def test_a_node_with_an_action_is_four_files():
    named = set()
    for file in (ROOT / "src").rglob("*.rs"):
        code = "\n".join(line for line in file.read_text().splitlines() if not line.strip().startswith("//"))
        if not file.name.endswith("_tests.rs") and re.search(r"UndockRobot|\bundock_robot\b", code):
            named.add(str(file.relative_to(ROOT / "src")))
    assert named == {f"{room}/action/{file}" for room in ("msg", "nav") for file in ("undock_robot.rs", "mod.rs")}
