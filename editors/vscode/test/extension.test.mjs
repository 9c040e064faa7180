// The extension as VS Code loads it, with a stand-in for the editor's own module: commands are registered, a check runs and
// its panel opens. A full VS Code is not needed, and not tested.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const Module = require("node:module");
const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url)));

function editor(answers) {
  const commands = new Map(), shown = [], typed = [], panels = [];
  const vscode = {
    workspace: { getConfiguration: () => ({ get: () => "preempt" }) },
    window: {
      activeTextEditor: { document: { uri: { toString: () => "file:///m/model.pml" } } },
      createStatusBarItem: () => ({ show() {}, dispose() {} }),
      showInformationMessage: async (text, ...choices) => { shown.push(text); return choices[0]; },
      showErrorMessage: async (text) => { shown.push(text); },
      createWebviewPanel: (...options) => { const made = { options, webview: {}, onDidDispose() {} }; panels.push(made); return made; },
      createTerminal: (name) => ({ show() {}, sendText: (text) => typed.push([name, text]) }),
    },
    commands: { registerCommand: (name, run) => { commands.set(name, run); return { dispose() {} }; }, executeCommand() {} },
    Uri: { parse: (text) => ({ scheme: text.split(":")[0], fsPath: text.replace("file://", "") }) },
    StatusBarAlignment: { Left: 1 }, ViewColumn: { Beside: -2 },
  };
  class LanguageClient {
    constructor(id, name, server, options) { Object.assign(this, { server, options }); }
    async start() {}
    async stop() {}
    async sendRequest(method, { command, arguments: words }) { return answers[command](...words); }
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
  return { extension, commands, shown, typed, panels };
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
