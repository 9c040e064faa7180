// The extension as VS Code loads it, with a stand-in for the editor's own module: commands are registered, a check runs and
// its panel opens. A full VS Code is not needed, and not tested.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const Module = require("node:module");
const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url)));

function editor(answers, files = {}) {
  const commands = new Map(), shown = [], typed = [], panels = [], clients = [], opened = [], links = [];
  const vscode = {
    workspace: {
      getConfiguration: () => ({ get: (name) => (name === "path" ? "preempt" : true) }),
      isTrusted: true, workspaceFolders: [{ uri: { fsPath: "/home/me" } }],
      getWorkspaceFolder: (uri) => (uri.fsPath.startsWith("/home/me/") ? {} : undefined),
      fs: { readFile: async (uri) => { if (!files[uri.fsPath]) throw new Error("no file"); return Buffer.from(files[uri.fsPath]); } },
      openTextDocument: async (uri) => { if (!files[uri.fsPath]) throw new Error("no file"); return uri; },
    },
    window: {
      activeTextEditor: { document: { uri: { toString: () => "file:///m/model.pml" } } },
      createStatusBarItem: () => ({ show() {}, dispose() {} }),
      showInformationMessage: async (text, ...choices) => { shown.push(text); return choices[0]; },
      showErrorMessage: async (text) => { shown.push(text); },
      showWarningMessage: async (text) => { shown.push(text); },
      showTextDocument: async (document, options) => { opened.push([document.fsPath, options.selection.start.line]); },
      registerUriHandler: (handler) => { links.push(handler); return { dispose() {} }; },
      createWebviewPanel: (...options) => { const made = { options, webview: {}, onDidDispose() {} }; panels.push(made); return made; },
      createTerminal: (name) => ({ show() {}, sendText: (text) => typed.push([name, text]) }),
    },
    commands: { registerCommand: (name, run) => { commands.set(name, run); return { dispose() {} }; }, executeCommand() {} },
    Uri: { parse: (text) => ({ scheme: text.split(":")[0], fsPath: text.replace("file://", "") }), file: (fsPath) => ({ scheme: "file", fsPath }) },
    Position: class { constructor(line, character) { Object.assign(this, { line, character }); } },
    Range: class { constructor(start, end) { Object.assign(this, { start, end }); } },
    StatusBarAlignment: { Left: 1 }, ViewColumn: { Beside: -2 },
  };
  class LanguageClient {
    constructor(id, name, server, options) { Object.assign(this, { id, server, options, sent: [] }); clients.push(this); }
    async start() {}
    async stop() {}
    async sendRequest(method, { command, arguments: words }) { this.sent.push(words[0]); return answers[command](...words); }
  }
  const load = Module._load;
  Module._load = (name, ...rest) => {
    if (name === "vscode") return vscode;
    if (name === "vscode-languageclient/node") return { LanguageClient };
    return load(name, ...rest);
  };
  const path = require.resolve("../extension.js");
  delete require.cache[path];
  const extension = require(path);
  Module._load = load;
  return { extension, vscode, commands, shown, typed, panels, clients, opened, links };
}

test("every command of the manifest is there, and a check leads to its panel", async () => {
  const violation = { reasons: ["x == 1 is false: x is 0"] };
  const { extension, commands, shown, typed, panels } = editor({
    "preempt.check": (uri) => ({ claims: [{ claim: "violated", verdict: "violated", notes: [], violation }], uri }),
    "preempt.page": (uri) => ({ html: `<!doctype html>${uri}` }),
  });
  await extension.activate({ subscriptions: [] });
  for (const { command } of manifest.contributes.commands) assert.ok(commands.has(command), command);
  await commands.get("preempt.checkFile")();
  assert.match(shown[0], /violated; x == 1 is false: x is 0/);
  assert.equal(panels.length, 1);
  assert.deepEqual(panels[0].options[3], { enableScripts: true, localResourceRoots: [] });
  assert.match(panels[0].webview.html, /model\.pml/);
  await commands.get("preempt.showTrace")("file:///m/other.pml", "p");
  assert.equal(panels.length, 1, "the panel is used again");
  commands.get("preempt.simulate")("file:///m/a b.pml");
  assert.deepEqual(typed, [["preempt simulate", "preempt simulate --interactive '/m/a b.pml'"]]);
  await extension.deactivate();
});

const PAGE = (failure) => `<!doctype html><script type="application/json" id="data">${JSON.stringify({ failure })}</script>`;

test("programs have a client of their own, and run in trusted workspaces only", async () => {
  const { extension, vscode, shown, clients } = editor({
    "preempt.check": () => ({ claims: [{ claim: "data race", verdict: "violated", notes: [], violation: { reasons: [] } }] }),
    "preempt.page": () => ({ html: "<!doctype html>" }),
  });
  await extension.activate({ subscriptions: [] });
  const [models, programs] = clients;
  assert.deepEqual(programs.options.documentSelector.map(({ language }) => language), ["rust", "c", "cpp"]);
  assert.equal(programs.options.initializationOptions.programs, true);
  const { executeCommand } = models.options.middleware;
  await executeCommand("preempt.check", ["file:///m/account.c", "main"], assert.fail);
  assert.deepEqual(programs.sent[0], "file:///m/account.c");
  assert.match(shown[0], /data race/);
  assert.equal(await executeCommand("preempt.check", ["file:///m/model.pml"], () => "next"), "next");
  vscode.workspace.isTrusted = false;
  const sent = programs.sent.length;
  await executeCommand("preempt.check", ["file:///m/account.c", "main"], assert.fail);
  assert.equal(programs.sent.length, sent);
  assert.match(shown.at(-1), /trust this workspace/);
});

test("the link of a failing test opens its page and its line", async () => {
  const page = PAGE({ file: "src/lib.rs", line: 20 });
  const files = { "/home/me/app/target/preempt/a b.html": page, "/home/me/app/src/lib.rs": "…", "/elsewhere/x.html": page, "/home/me/not.html": "<p>nothing" };
  const { extension, shown, panels, opened, links } = editor({}, files);
  await extension.activate({ subscriptions: [] });
  const open = (query, path = "/execution") => links[0].handleUri({ path, query });
  await open("page=/home/me/app/target/preempt/a%20b.html");
  assert.deepEqual(opened, [["/home/me/app/src/lib.rs", 19]]);
  assert.equal(panels[0].webview.html, page);
  // What is not ours, not there, or outside of the workspace.
  await open("page=/home/me/not.html");
  assert.match(shown.at(-1), /no page of preempt/);
  await open("page=/home/me/gone.html");
  assert.match(shown.at(-1), /may have passed since/);
  panels[0].webview.html = "";
  await open("page=/elsewhere/x.html");
  assert.match(shown.at(-1), /Open the execution in \/elsewhere\/x.html\?/);
  await open("page=/home/me/app/target/preempt/a%20b.html", "/other");
  await open("page=/etc/passwd");
  assert.equal(panels[0].webview.html, "");
});
