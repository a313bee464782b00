// Starts `navtree lsp` and connects it with the editor. All the work is in the server.
"use strict";

const { spawn } = require("child_process");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGE = "behavior-tree";

/** The client of the running server, or undefined. */
let client;

/** The processes of `navtree view`, by the path of the tree file. */
const views = new Map();

function program() {
  return vscode.workspace.getConfiguration("navtree").get("command", "navtree");
}

function newClient() {
  const command = program();
  return new LanguageClient(
    "navtree",
    "navtree",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ scheme: "file", language: LANGUAGE }],
      // The server reads these files too: a change can cause or solve problems of a tree.
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/{*.xml,navtree.toml}") },
    },
  );
}

async function start() {
  client = newClient();
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `The language server of navtree does not start (${error.message}). ` +
        "Install navtree, or set navtree.command to its path.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  // A client that never started has nothing to stop.
  if (running && running.isRunning()) {
    await running.stop();
  }
}

async function restart() {
  await stop();
  await start();
}

/** Draws the tree of the editor in a browser. `navtree view` draws it again after each save. */
function view() {
  const file = vscode.window.activeTextEditor?.document.fileName;
  if (!file) {
    return;
  }
  views.get(file)?.kill();
  const child = spawn(program(), ["view", file]);
  views.set(file, child);
  let output = "";
  let problems = "";
  child.stdout.on("data", (data) => {
    const isOpen = output.includes("\n");
    output += data;
    if (!isOpen && output.includes("\n")) {
      vscode.env.openExternal(vscode.Uri.parse(output.split("\n")[0], true));
    }
  });
  child.stderr.on("data", (data) => (problems += data));
  child.on("error", (error) => vscode.window.showErrorMessage(`navtree view does not start (${error.message}).`));
  child.on("exit", (code) => {
    if (code) {
      vscode.window.showErrorMessage(problems);
    }
  });
}

async function deactivate() {
  for (const child of views.values()) {
    child.kill();
  }
  await stop();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("navtree.restart", restart),
    vscode.commands.registerCommand("navtree.view", view),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("navtree.command")) {
        return restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate };
