// Starts `crew lsp` for the crews of a workspace; all that is known of crews is known there.

const { commands, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

/** @type {LanguageClient | undefined} */
let client;

let starting = Promise.resolve();

// one after the other: a client that still starts cannot be stopped
function restart() {
  starting = starting.then(start, start);
  return starting;
}

/** @param {import("vscode").ExtensionContext} context */
async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("crewline.restart", restart),
    workspace.onDidGrantWorkspaceTrust(restart),
    workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("crewline") && restart()),
  );
  await restart();
}

async function start() {
  await client?.stop();
  const settings = workspace.getConfiguration("crewline");
  const args = ["lsp"];
  for (const name of ["server", "profile"]) {
    const value = settings.get(name, "");
    if (value) args.push(`--${name}`, value);
  }
  client = new LanguageClient(
    "crewline",
    "Crewline",
    { command: settings.get("command", "crew"), args },
    {
      documentSelector: [{ scheme: "file", language: "yaml" }],
      // rehearsals and Python tools run what is written in the folder
      initializationOptions: { importTools: workspace.isTrusted },
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.{yaml,yml,py}") },
    },
  );
  await client.start();
}

async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
