"""The hooks for pre-commit (.pre-commit-hooks.yaml) and the GitHub action (action.yml): each runs on trees."""

import json
import os
import subprocess

import pytest
import yaml
from support.executable import ROOT

GOOD = '<root BTCPP_format="4"><BehaviorTree ID="Good"><AlwaysSuccess/></BehaviorTree></root>\n'
BAD = GOOD.replace("AlwaysSuccess", "AlwaysSucess")
SCENARIO = "{tree: ../good.xml, expect: {root: %s}}\n"


@pytest.fixture
def shell(tmp_path, executables):
    """Return a function that runs a command in a repository of trees, with `navtree` in its path."""
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "good.xml").write_text(GOOD)
    (tmp_path / "scenarios" / "good.yaml").write_text(SCENARIO % "S")
    environment = {**os.environ, "PATH": f"{executables}:{os.environ['PATH']}", "HOME": str(tmp_path / "home")}

    def run(*command, **more):
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture(scope="module")
def pre_commit():
    """Return the program `pre-commit` of the cache."""
    script = f'. "{ROOT}/scripts/lib.sh" && . "{ROOT}/scripts/publish_tools.sh" && publish_tools && echo "$PUBLISH_TOOLS"'
    answer = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 0, answer.stderr
    return f"{answer.stdout.strip()}/pre-commit"


def local_configuration():
    """Return a configuration with our hooks, which takes the command from the path instead of a build of its own."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        assert hook["language"] == "python"
        hook["language"] = "system"
    return yaml.safe_dump({"repos": [{"repo": "local", "hooks": hooks}]})


def test_pre_commit_takes_the_manifest(pre_commit, shell):
    answer = shell(pre_commit, "validate-manifest", ROOT / ".pre-commit-hooks.yaml")
    assert answer.returncode == 0, answer.stdout


def test_hooks_pass_good_trees_and_stop_bad_ones(pre_commit, shell, tmp_path):
    (tmp_path / ".pre-commit-config.yaml").write_text(local_configuration())
    assert shell("git", "init", "--quiet").returncode == 0

    def hooks():
        assert shell("git", "add", "--all").returncode == 0
        return shell(pre_commit, "run", "--all-files", "--color=never")

    answer = hooks()
    assert answer.returncode == 0 and answer.stdout.count("Passed") == 2, answer.stdout
    (tmp_path / "bad.xml").write_text(BAD)
    answer = hooks()
    assert answer.returncode == 1 and "error[NT0301]: unknown node `AlwaysSucess`" in answer.stdout
    assert answer.stdout.count("Passed") == 1
    (tmp_path / "bad.xml").unlink()
    (tmp_path / "scenarios" / "bad.yaml").write_text(SCENARIO % "F")
    answer = hooks()
    assert answer.returncode == 1 and "1 passed, 1 failed" in answer.stdout, answer.stdout


def test_the_check_of_a_commit_reads_files_that_it_does_not_change(pre_commit, shell, tmp_path):
    (tmp_path / ".pre-commit-config.yaml").write_text(local_configuration())
    (tmp_path / "package.xml").write_text('<package format="3"/>\n')
    assert shell("git", "init", "--quiet").returncode == 0
    assert shell("git", "add", "--all").returncode == 0
    user = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    assert shell("git", *user, "commit", "--quiet", "--message", "trees").returncode == 0
    (tmp_path / "uses.xml").write_text(GOOD.replace("Good", "Uses").replace("<AlwaysSuccess/>", '<SubTree ID="Good"/>'))
    assert shell("git", "add", "uses.xml").returncode == 0
    answer = shell(pre_commit, "run", "--color=never")
    assert answer.returncode == 0 and answer.stdout.count("Passed") == 1, answer.stdout


def action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


def run_action(shell, tmp_path, **inputs):
    """Run the steps of the action as the runner does: each in bash, until one fails. Return the last answer."""
    values = {name: given["default"] for name, given in action()["inputs"].items()} | inputs
    (tmp_path / "output").write_text("")
    for step in action()["runs"]["steps"]:
        assert step["shell"] == "bash"
        environment = {"GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_ACTION_PATH": str(ROOT)}
        for name, value in step.get("env", {}).items():
            environment[name] = values[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        answer = shell("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"], **environment)
        if answer.returncode:
            break
    return answer


def problems(tmp_path):
    """Return the codes in the file that the action's output names."""
    name = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())["sarif"]
    log = json.loads((tmp_path / name).read_text())
    assert log["version"] == "2.1.0"
    return [result["ruleId"] for run in log["runs"] for result in run["results"]]


def test_action_writes_sarif_and_fails_for_errors(shell, tmp_path):
    answer = run_action(shell, tmp_path)
    assert answer.returncode == 0, answer.stdout
    assert problems(tmp_path) == []
    (tmp_path / "bad.xml").write_text(BAD)
    answer = run_action(shell, tmp_path)
    assert answer.returncode == 1 and "unknown node `AlwaysSucess`" in answer.stdout
    assert problems(tmp_path) == ["NT0301"]
    # Only the good tree; another file for the problems.
    answer = run_action(shell, tmp_path, paths="good.xml", sarif="other.sarif")
    assert answer.returncode == 0 and problems(tmp_path) == []
    assert (tmp_path / "other.sarif").exists()


def test_action_passes_arguments_on(shell, tmp_path):
    (tmp_path / "warns.xml").write_text(GOOD.replace("<AlwaysSuccess/>", '<ScriptCondition code="x == 1"/>'))
    assert run_action(shell, tmp_path, paths="warns.xml").returncode == 0
    answer = run_action(shell, tmp_path, paths="warns.xml", arguments="--deny warnings")
    assert answer.returncode == 1 and problems(tmp_path) == ["NT0406"]


def test_action_takes_paths_of_several_lines(shell, tmp_path):
    (tmp_path / "bad.xml").write_text(BAD)
    answer = run_action(shell, tmp_path, paths="good.xml\nbad.xml\n")
    assert answer.returncode == 1 and problems(tmp_path) == ["NT0301"]


def test_action_leaves_no_sarif_if_the_check_cannot_run(shell, tmp_path):
    answer = run_action(shell, tmp_path, paths="absent.xml")
    assert answer.returncode == 2 and "absent.xml: No such file" in answer.stdout
    assert not (tmp_path / "navtree.sarif").exists()
    assert "sarif" not in (tmp_path / "output").read_text()


def test_action_describes_each_input_and_output():
    for part in ("inputs", "outputs"):
        for name, item in action()[part].items():
            assert item["description"].endswith("."), name
    used = {value for step in action()["runs"]["steps"] for value in step.get("env", {}).values()}
    assert used == {"${{ inputs.%s }}" % name for name in action()["inputs"]}
