"""The extension for Visual Studio Code (scripts/vscode): what the package holds, and that it is complete."""

import json
import os
import shutil
import subprocess
import zipfile

import pytest
from support.executable import ROOT, find

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

#: Runs the command that draws the tree of the editor, and prints the address that it opens.
VIEW = """
const Module = require("module");
const [extension, navtree, file] = process.argv.slice(1);
const commands = {};
const vscode = {
  commands: { registerCommand: (name, run) => (commands[name] = run) },
  env: { openExternal: (uri) => { console.log(uri); require(extension).deactivate(); } },
  Uri: { parse: (text) => text },
  window: { activeTextEditor: { document: { fileName: file } }, showErrorMessage: (text) => console.log(text) },
  workspace: {
    getConfiguration: () => ({ get: () => navtree }),
    createFileSystemWatcher: () => ({}),
    onDidChangeConfiguration: () => ({}),
  },
};
class LanguageClient { async start() {} isRunning() { return false; } }
const load = Module._load;
const modules = { vscode, "vscode-languageclient/node": { LanguageClient } };
Module._load = (name, ...rest) => modules[name] ?? load(name, ...rest);
require(extension).activate({ subscriptions: [] }).then(() => commands["navtree.view"]());
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


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_tree_of_the_editor_is_drawn_in_the_browser(tmp_path):
    tree = tmp_path / "my_tree.xml"
    tree.write_text('<root BTCPP_format="4"><BehaviorTree ID="T"><AlwaysSuccess/></BehaviorTree></root>')
    command = ["node", "-e", VIEW, SOURCE / "extension.js", find("navtree"), tree]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.stdout.startswith("http://127.0.0.1:"), answer
    tree.write_text("<root/>")
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "error[NT" in answer.stdout, answer


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
