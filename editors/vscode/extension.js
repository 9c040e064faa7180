// preempt in VS Code: a thin client. Diagnostics, names, colours, lenses and checks are the language server's
// (`preempt lsp`); here are the terminal for simulations, the browser for walks, and the panel for executions.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const session = require("./lib/session");

let client, status, panel;

const program = () => vscode.workspace.getConfiguration("preempt").get("path") || "preempt";

/** Reaches the server. */
const send = (command, words) => client.sendRequest("workspace/executeCommand", { command, arguments: words });

/** The text that a command is about: given by a lens, or the one in front. */
function subject(uri) {
  if (uri) return String(uri);
  const editor = vscode.window.activeTextEditor;
  return editor && editor.document.uri.toString();
}

async function start() {
  const run = { command: program(), args: ["lsp"] };
  client = new LanguageClient("preempt", "preempt", { run, debug: run }, {
    documentSelector: [
      { scheme: "file", language: "promela" }, { scheme: "untitled", language: "promela" },
      { scheme: "file", language: "boolean-program" },
    ],
  });
  try {
    await client.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(`preempt could not be started as \`${program()}\`: ${error.message}`, "Settings");
    if (choice) vscode.commands.executeCommand("workbench.action.openSettings", "preempt.path");
  }
}

async function checkFile(uri, property) {
  const about = subject(uri);
  if (!about) return;
  status.text = "$(sync~spin) preempt";
  status.show();
  try {
    const result = await session.check(send, about, property);
    status.text = `${result.bad ? "$(error)" : "$(check)"} preempt`;
    status.tooltip = result.text;
    const choice = await vscode.window.showInformationMessage(result.text, ...(result.trace ? ["Show the execution"] : []));
    if (choice) await showTrace(about, property);
  } catch (error) {
    status.text = "$(error) preempt";
    vscode.window.showErrorMessage(error.message);
  }
}

/** The page of the last check, beside the text. */
async function showTrace(uri, property) {
  const about = subject(uri);
  if (!about) return;
  const html = await session.page(send, about, property);
  if (!html) {
    vscode.window.showInformationMessage("There is no finished check of this text yet.");
    return;
  }
  if (!panel) {
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    panel = vscode.window.createWebviewPanel("preempt.trace", "preempt", where, { enableScripts: true, localResourceRoots: [] });
    panel.onDidDispose(() => { panel = undefined; });
  }
  panel.title = `preempt: ${about.slice(about.lastIndexOf("/") + 1)}`;
  panel.webview.html = html;
}

/** Runs a command of preempt on a saved file in a terminal. */
function inTerminal(uri, name, words) {
  const about = subject(uri);
  if (!about) return;
  const file = vscode.Uri.parse(about);
  if (file.scheme !== "file") {
    vscode.window.showInformationMessage("Save the model first.");
    return;
  }
  const terminal = vscode.window.createTerminal(name);
  terminal.show();
  terminal.sendText(session.commandLine(program(), [...words, file.fsPath], process.platform));
}

async function activate(context) {
  status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 0);
  status.command = "preempt.showTrace";
  const commands = {
    "preempt.checkFile": checkFile,
    "preempt.showTrace": showTrace,
    "preempt.simulate": (uri) => inTerminal(uri, "preempt simulate", ["simulate", "--interactive"]),
    "preempt.serve": (uri) => inTerminal(uri, "preempt serve", ["serve"]),
    "preempt.restart": async () => { if (client) await client.stop().catch(() => {}); await start(); },
  };
  for (const [name, run] of Object.entries(commands)) context.subscriptions.push(vscode.commands.registerCommand(name, run));
  context.subscriptions.push(status);
  await start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
