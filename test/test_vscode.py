"""The extension for Visual Studio Code (scripts/vscode): what the package holds, and that it is complete."""

import json
import os
import shutil
import subprocess
import zipfile

import pytest
from support.executable import ROOT

pytestmark = pytest.mark.timeout(600)
SOURCE = ROOT / "editors" / "vscode"

#: Loads the extension as the editor does. Only the editor has the module `vscode`: here any use of it gives a value.
LOAD = """
const Module = require("module");
const anything = new Proxy(function () {}, {
  get: (target, name) => (name === Symbol.toPrimitive ? () => "" : anything),
  construct: () => ({}),
  apply: () => anything,
});
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? anything : load(name, ...rest));
const extension = require(process.argv[1]);
console.log(Object.keys(extension).sort().join(" "));
"""


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    """Package the extension, and return the unpacked folder."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    target = tmp_path_factory.mktemp("vscode")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    answer = subprocess.run(
        [ROOT / "scripts" / "vscode"], env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert answer.returncode == 0, answer.stderr
    with zipfile.ZipFile(answer.stdout.strip()) as package:
        package.extractall(target / "unpacked")
    return target / "unpacked" / "extension"


def test_the_package_has_every_file_that_its_manifest_names(extension):
    manifest = json.loads((extension / "package.json").read_text())
    contributes = manifest["contributes"]
    named = [manifest["main"]]
    named += [language["configuration"] for language in contributes["languages"]]
    named += [grammar["path"] for grammar in contributes["grammars"]]
    for name in named:
        assert (extension / name).is_file(), name
    for name in ("language-configuration.json", "grammar.json"):
        json.loads((extension / name).read_text())
    assert (extension / "LICENSE.txt").read_text() == (ROOT / "LICENSE").read_text()
    assert not (extension / ".npmrc").exists()


def test_the_extension_loads_with_what_the_package_holds(extension):
    answer = subprocess.run(
        ["node", "-e", LOAD, extension / "extension.js"],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == ["activate", "deactivate"]


def test_commands_and_settings_of_the_manifest_are_those_of_the_code():
    manifest = json.loads((SOURCE / "package.json").read_text())
    code = (SOURCE / "extension.js").read_text()
    (language,) = manifest["contributes"]["languages"]
    assert f'LANGUAGE = "{language["id"]}"' in code
    for command in manifest["contributes"]["commands"]:
        assert f'registerCommand("{command["command"]}"' in code
    assert 'affectsConfiguration("navtree.command")' in code
    assert "navtree.command" in manifest["contributes"]["configuration"]["properties"]


def test_the_lock_file_names_no_host():
    assert "://" not in (SOURCE / "package-lock.json").read_text()
