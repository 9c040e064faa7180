// The extension's logic against the real `preempt lsp` over standard input and output, by the protocol library that
// editors use. PREEMPT names the command; EXAMPLES is a list of folders with models, separated by colons.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);

const protocol = require("vscode-languageserver-protocol/node");
const session = require("../lib/session.js");

const program = process.env.PREEMPT || "preempt";

/** A started server with a client at the other end. */
async function serve(initializationOptions = {}) {
  const child = spawn(program, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
  const connection = protocol.createMessageConnection(new protocol.StreamMessageReader(child.stdout), new protocol.StreamMessageWriter(child.stdin));
  const waiting = new Map(), seen = new Map();
  connection.onNotification(protocol.PublishDiagnosticsNotification.type, (params) => {
    seen.set(params.uri, params.diagnostics);
    const wake = waiting.get(params.uri);
    waiting.delete(params.uri);
    if (wake) wake(params.diagnostics);
  });
  let refreshed = 0;
  connection.onRequest(protocol.CodeLensRefreshRequest.type, () => { refreshed++; return null; });
  connection.listen();
  const { capabilities } = await connection.sendRequest(protocol.InitializeRequest.type, {
    processId: process.pid, rootUri: null, initializationOptions, capabilities: { workspace: { codeLens: { refreshSupport: true } } },
  });
  await connection.sendNotification(protocol.InitializedNotification.type, {});
  return {
    capabilities, connection, seen,
    refreshed: () => refreshed,
    send: (command, words) => connection.sendRequest(protocol.ExecuteCommandRequest.type, { command, arguments: words }),
    diagnostics: (uri) => new Promise((wake) => waiting.set(uri, wake)),
    async open(uri, languageId, text) {
      const found = this.diagnostics(uri);
      await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId, version: 1, text } });
      return found;
    },
    async stop() {
      await connection.sendRequest(protocol.ShutdownRequest.type);
      await connection.sendNotification(protocol.ExitNotification.type);
      const code = await new Promise((done) => child.on("exit", done));
      connection.dispose();
      assert.equal(code, 0);
    },
  };
}

const MODEL = `byte counter, done;
active [2] proctype adder() { byte seen; seen = counter; counter = seen + 1; done++ }
active proctype judge() { done == 2 -> assert(counter == 2) }
ltl small { [] (counter < 3) }
`;

test("a property is checked from its lens, and its execution shown", async () => {
  const server = await serve();
  const uri = "file:///tmp/lost_update.pml";
  assert.deepEqual(await server.open(uri, "promela", MODEL), []);
  const lenses = () => server.connection.sendRequest(protocol.CodeLensRequest.type, { textDocument: { uri } });
  const lens = (await lenses()).find((one) => one.command.title === "check small");
  assert.equal(lens.command.command, "preempt.check");
  assert.ok(server.capabilities.executeCommandProvider.commands.includes("preempt.check"));
  assert.equal(await session.page(server.send, uri, "small"), null, "nothing was checked yet");
  const found = server.diagnostics(uri);
  const result = await session.check(server.send, ...lens.command.arguments);
  assert.match(result.text, /violated.*counter == 2 is false: counter is 1/);
  assert.ok(result.bad && result.trace);
  assert.match((await found)[0].message, /counter == 2 is false/);
  const after = await lenses();
  assert.match(after[0].command.title, /^check small: ✗ violated/);
  assert.equal(after[1].command.command, "preempt.showTrace");
  assert.ok(server.refreshed() >= 2);
  const html = await session.page(server.send, ...after[1].command.arguments);
  assert.match(html, /data-verdict="violated"/);
  const hover = await server.connection.sendRequest(protocol.HoverRequest.type, { textDocument: { uri }, position: { line: 0, character: 6 } });
  assert.match(hover.contents.value, /In the last counterexample:\s+`counter`: 0 → 1/);
  await assert.rejects(session.check(server.send, "file:///not/open.pml"));
  await server.stop();
});

test("quick fixes are offered for what the compiler says", async () => {
  const server = await serve();
  const uri = "file:///tmp/habits.pml";
  const text = "byte x;\nactive proctype p() {\n\tx += 2;\n\twhile (x < 9) { x++ };\n\tassert(x == y)\n}\n";
  const found = await server.open(uri, "promela", text);
  const actions = await server.connection.sendRequest(protocol.CodeActionRequest.type, {
    textDocument: { uri }, range: found[0].range, context: { diagnostics: found },
  });
  const titles = actions.map((action) => action.title);
  for (const wanted of ["write `x = x + 2`", "rewrite it as a loop (`do`) of Promela", "declare `y` in p", "declare `y` for all processes"]) {
    assert.ok(titles.includes(wanted), `${wanted} in ${titles}`);
  }
  await server.stop();
});

const ACCOUNT = `#include <pthread.h>
#include <assert.h>

static int balance;

static void *deposit(void *unused) {
    balance = balance + 10;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, deposit, 0);
    pthread_create(&b, 0, deposit, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}
`;

test("a C program is searched from the lens over its main, and its race stands at its line", async () => {
  const folder = mkdtempSync(join(tmpdir(), "preempt-account-"));
  const server = await serve({ programs: true });
  try {
    for (const other of ["renameProvider", "completionProvider", "documentSymbolProvider", "definitionProvider"]) assert.equal(server.capabilities[other], undefined, other);
    const path = join(folder, "account.c"), uri = pathToFileURL(path).href, textDocument = { uri };
    assert.deepEqual(await server.open(uri, "c", ACCOUNT), []);
    const lenses = () => server.connection.sendRequest(protocol.CodeLensRequest.type, { textDocument });
    const [lens] = await lenses();
    assert.deepEqual([lens.command.title, lens.range.start.line], ["check all schedules", 10]);
    // Nothing but what was saved is compiled.
    const nothing = server.diagnostics(uri);
    assert.match((await session.check(server.send, ...lens.command.arguments)).text, /save the file first/);
    assert.deepEqual(await nothing, []);
    writeFileSync(path, ACCOUNT);
    const found = server.diagnostics(uri);
    const result = await session.check(server.send, ...lens.command.arguments);
    assert.match(result.text, /data race: deposit 1 writes balance/);
    const [race] = await found;
    assert.match(race.message, /data race/);
    assert.equal(race.range.start.line, 6);
    const after = await lenses();
    assert.match(after[0].command.title, /^check all schedules: ✗ violated: 0 preemptions, 2 steps/);
    assert.equal(after[1].command.command, "preempt.showTrace");
    assert.match(await session.page(server.send, ...after[1].command.arguments), /data race/);
    const hover = await server.connection.sendRequest(protocol.HoverRequest.type, { textDocument, position: { line: 6, character: 6 } });
    assert.match(hover.contents.value, /In the failing execution of main:[\s\S]*step 1, deposit 1/);
    const rust = pathToFileURL(join(folder, "lib.rs")).href;
    await server.open(rust, "rust", "#[preempt::test]\nfn adds() {}\n\n#[test]\nfn other() {}\n");
    const over = await server.connection.sendRequest(protocol.CodeLensRequest.type, { textDocument: { uri: rust } });
    assert.deepEqual(over.map(({ range, command }) => [range.start.line, command.arguments[1]]), [[1, "adds"]]);
    await server.stop();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("Boolean programs are formatted", async () => {
  const server = await serve();
  const uri = "file:///tmp/gate.bp";
  await server.open(uri, "boolean-program", "decl x;\nvoid main() begin\nx := T;\nend\n");
  const edits = await server.connection.sendRequest(protocol.DocumentFormattingRequest.type, { textDocument: { uri }, options: { tabSize: 2, insertSpaces: true } });
  assert.equal(edits[0].newText, "decl x;\nvoid main() begin\n  x := T;\nend\n");
  await server.stop();
});

/** All models below some folders. */
function models(folders) {
  return folders.flatMap((folder) => {
    let names = [];
    try { names = readdirSync(folder); } catch { return []; }
    return names.flatMap((name) => {
      const path = join(folder, name);
      if (statSync(path).isDirectory()) return models([path]);
      return /\.(pml|bp)$/.test(name) ? [path] : [];
    });
  });
}

test("every example can be opened, coloured, outlined and folded into an answer", async () => {
  const server = await serve();
  const paths = models((process.env.EXAMPLES || "").split(":").filter(Boolean));
  let errors = 0;
  for (const path of paths) {
    const uri = pathToFileURL(path).href, textDocument = { uri };
    const found = await server.open(uri, path.endsWith(".bp") ? "boolean-program" : "promela", readFileSync(path, "latin1"));
    errors += found.filter((one) => one.severity === 1).length;
    const ask = (type, more = {}) => server.connection.sendRequest(type, { textDocument, ...more });
    const outline = await ask(protocol.DocumentSymbolRequest.type);
    assert.ok(Array.isArray(outline), path);
    const colours = await ask(protocol.SemanticTokensRequest.type);
    assert.equal(colours.data.length % 5, 0, path);
    assert.ok(Array.isArray(await ask(protocol.CodeLensRequest.type)), path);
    for (const symbol of outline.slice(0, 3)) {
      const places = await ask(protocol.ReferencesRequest.type, { position: symbol.selectionRange.start, context: { includeDeclaration: true } });
      assert.ok(places.length >= 1 || symbol.name === "init" || /^(never|trace|notrace|ltl)$/.test(symbol.name), `${path}: ${symbol.name}`);
    }
    await server.connection.sendNotification(protocol.DidCloseTextDocumentNotification.type, { textDocument });
  }
  console.log(`${paths.length} models, ${errors} errors in them`);
  await server.stop();
});

test("file names are data to a shell", () => {
  assert.equal(session.commandLine("preempt", ["serve", "/a/b.pml"], "linux"), "preempt serve /a/b.pml");
  assert.equal(session.commandLine("preempt", ["/a/$(rm x)'.pml"], "linux"), `preempt '/a/$(rm x)'\\''.pml'`);
  assert.equal(session.commandLine("C:\\p x\\preempt", ["a b.pml"], "win32"), '"C:\\p x\\preempt" "a b.pml"');
});

test("answers become one line", () => {
  const claim = { claim: "holds", verdict: "holds", notes: ["vacuous: `p` is never true"], violation: null };
  assert.deepEqual(session.summary({ claims: [claim] }), { text: "holds; vacuous: `p` is never true", bad: false, trace: false });
  assert.ok(session.summary({ problem: "the model does not compile" }).bad);
  assert.ok(session.summary(null).bad);
});
