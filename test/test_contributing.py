"""The example of docs/contributing.md: it applies, builds and passes, and the page names every file that changes."""

import os
import subprocess

import pytest
from support.executable import ROOT

PAGE = ROOT / "docs" / "contributing.md"
#: What the page says of a node: its own file, the list of its folder, and what is generated.
CHANGED = {
    "src/nav/condition/is_battery_full.rs",
    "src/nav/condition/mod.rs",
    "docs/nodes.md",
    "docs/nodes.xml",
    "docs/tree.xsd",
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


@pytest.mark.alone
@pytest.mark.timeout(1800)
def test_the_node_of_the_example_is_two_files(tmp_path, target_folder):
    patch = PAGE.read_text().split("```diff\n")[1].split("```\n")[0]
    copy = tmp_path / "navtree"
    # Without the history, which a shallow copy of the repository may not have.
    files = run(["git", "ls-files", "-z"], ROOT).split("\0")
    present = "\0".join(name for name in files if (ROOT / name).is_file())
    copy.mkdir()
    run(["cp", "--parents", "--target-directory", copy, *present.split("\0")], ROOT)
    run(["git", "init", "--quiet"], copy)
    run(["git", "add", "--all", "--force"], copy)
    run(["git", "apply", "--unidiff-zero", "-"], copy, input=patch)
    # The generated pages, and the test of the node.
    tests = ["monitor::models", "nav::condition::is_battery_full"]
    told = run(
        ["cargo", "test", "--locked", "--no-default-features", "--lib", "--", *tests],
        copy,
        environment={"NAVTREE_BLESS": "1", "CARGO_TARGET_DIR": str(target_folder), "CARGO_NET_OFFLINE": "true"},
    )
    assert "is_battery_full::tests::test_is_battery_full ... ok" in told
    changed = run(["git", "ls-files", "--modified", "--others", "--exclude-standard"], copy)
    assert set(changed.split()) == CHANGED
