// The grammars, by the engine that VS Code uses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const textmate = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");
const file = (path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")).buffer);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) => textmate.parseRawGrammar(file(`syntaxes/${scope.split(".")[1]}.tmLanguage.json`), "grammar.json"),
});

/** The scope of each piece of a text. */
async function scopes(scope, text) {
  const grammar = await registry.loadGrammar(scope);
  const found = new Map();
  let stack = textmate.INITIAL;
  for (const line of text.split("\n")) {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
    for (const token of tokens) found.set(line.slice(token.startIndex, token.endIndex).trim(), token.scopes.at(-1));
    stack = ruleStack;
  }
  return found;
}

test("Promela", async () => {
  const found = await scopes("source.promela", `#define N 3 /* three */
mtype = { red };
active [2] proctype worker(byte n)
{
again:
	do :: n < 7 -> printf("%d\\n", n) /* a comment
	   over two lines */
	:: else -> goto again
	od
}
ltl fair { [] <> (true) }`);
  assert.equal(found.get("#define"), "keyword.control.directive.promela");
  assert.equal(found.get("worker"), "entity.name.function.promela");
  assert.equal(found.get("fair"), "entity.name.function.promela");
  assert.equal(found.get("again"), "entity.name.label.promela");
  assert.equal(found.get("active"), "storage.modifier.promela");
  assert.equal(found.get("do"), "keyword.control.promela");
  assert.equal(found.get("7"), "constant.numeric.promela");
  assert.equal(found.get("%d"), "constant.other.placeholder.promela");
  assert.equal(found.get("over two lines */".slice(0, -3).trim()) || found.get("over two lines"), "comment.block.promela");
  assert.equal(found.get("true"), "constant.language.promela");
});

test("Boolean programs", async () => {
  const found = await scopes("source.boolean-program", "decl flag; // shared\nvoid main() begin\nagain: flag := T;\n  if (flag) then skip; fi;\nend");
  assert.equal(found.get("main"), "entity.name.function.boolean-program");
  assert.equal(found.get("again"), "entity.name.label.boolean-program");
  assert.equal(found.get("T"), "constant.language.boolean-program");
  assert.equal(found.get("// shared"), "comment.line.double-slash.boolean-program");
});
