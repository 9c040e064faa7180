// preempt in VS Code: a thin client. Diagnostics, names, colours, lenses and checks are the language server's
// (`preempt lsp`); here are the terminal for simulations, the browser for walks, and the panel for executions.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const session = require("./lib/session");

let client, beside, status, panel;

// Names of these languages belong to other servers: of ours they get lenses, results and values.
const PROGRAMS = ["rust", "c", "cpp"];
const isProgram = (uri) => /\.(rs|c|cc|cpp|cxx|c\+\+|C)$/.test(uri);

const program = () => vscode.workspace.getConfiguration("preempt").get("path") || "preempt";

/** Reaches the server. */
const send = (command, words) => (isProgram(words[0]) && beside ? beside : client).sendRequest("workspace/executeCommand", { command, arguments: words });

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
    // The commands of lenses are registered by this client; those over programs go to the other one.
    middleware: { executeCommand: (command, words, next) => (isProgram(String(words[0])) ? byProgram(command, words) : next(command, words)) },
  });
  const options = { initializationOptions: { programs: true }, documentSelector: PROGRAMS.map((language) => ({ scheme: "file", language })) };
  beside = vscode.workspace.getConfiguration("preempt").get("programs") === false ? undefined
    : new LanguageClient("preempt-programs", "preempt (programs)", { run, debug: run }, options);
  try {
    await client.start();
    if (beside) await beside.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(`preempt could not be started as \`${program()}\`: ${error.message}`, "Settings");
    if (choice) vscode.commands.executeCommand("workbench.action.openSettings", "preempt.path");
  }
}

/** Whether programs may be compiled and run. */
function mayRun() {
  if (!vscode.workspace.isTrusted) vscode.window.showInformationMessage("The program would be compiled and run: trust this workspace first.");
  return vscode.workspace.isTrusted;
}

async function byProgram(command, words) {
  if (command !== "preempt.check") return send(command, words);
  return checkFile(...words);
}

async function checkFile(uri, property) {
  const about = subject(uri);
  if (!about) return;
  if (isProgram(about) && !mayRun()) return;
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
  show(about, html);
}

/** A page in the panel. */
function show(about, html) {
  if (!panel) {
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    panel = vscode.window.createWebviewPanel("preempt.trace", "preempt", where, { enableScripts: true, localResourceRoots: [] });
    panel.onDidDispose(() => { panel = undefined; });
  }
  panel.title = `preempt: ${about.slice(about.lastIndexOf("/") + 1)}`;
  panel.webview.html = html;
}

/** A link at the end of a failing test: its page beside the line that fails. */
async function openLink(uri) {
  const path = new URLSearchParams(uri.query).get("page");
  if (uri.path !== "/execution" || !path || !path.endsWith(".html")) return;
  let page;
  try {
    page = Buffer.from(await vscode.workspace.fs.readFile(vscode.Uri.file(path))).toString("utf8");
  } catch {
    vscode.window.showErrorMessage(`There is no page ${path} any more: the test may have passed since.`);
    return;
  }
  const found = session.execution(page);
  if (!found) {
    vscode.window.showErrorMessage(`${path} is no page of preempt.`);
    return;
  }
  // Links can come from anywhere.
  const isOurs = Boolean(vscode.workspace.getWorkspaceFolder(vscode.Uri.file(path)));
  if (!isOurs && await vscode.window.showWarningMessage(`Open the execution in ${path}?`, { modal: true }, "Open") !== "Open") return;
  for (const file of session.candidates(found.file, path, (vscode.workspace.workspaceFolders || []).map((folder) => folder.uri.fsPath))) {
    try {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
      const at = new vscode.Position(Math.max(0, found.line - 1), 0);
      await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
      break;
    } catch {
      // The next one.
    }
  }
  show(path, page);
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
    "preempt.restart": async () => { for (const each of [client, beside]) if (each) await each.stop().catch(() => {}); await start(); },
  };
  for (const [name, run] of Object.entries(commands)) context.subscriptions.push(vscode.commands.registerCommand(name, run));
  context.subscriptions.push(status, vscode.window.registerUriHandler({ handleUri: openLink }));
  await start();
}

function deactivate() {
  return Promise.all([client, beside].filter(Boolean).map((each) => each.stop()));
}

module.exports = { activate, deactivate };
