// Starts `navtree lsp` and connects it with the editor. All the work is in the server.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGE = "behavior-tree";

/** The client of the running server, or undefined. */
let client;

function newClient() {
  const command = vscode.workspace.getConfiguration("navtree").get("command", "navtree");
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

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("navtree.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("navtree.command")) {
        return restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
