// The package that users install: everything the manifest names is in it, nothing else, and the bundle loads.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

const here = new URL("..", import.meta.url);
const require = createRequire(import.meta.url);
const Module = require("node:module");

/** Unpacks an archive into a folder, with the reader that the packager itself uses. */
function unpack(archive, folder) {
  return new Promise((done, fail) => require("yauzl").open(archive, { lazyEntries: true }, (error, zip) => {
    if (error) return fail(error);
    zip.on("entry", (entry) => zip.openReadStream(entry, (problem, stream) => {
      if (problem) return fail(problem);
      const parts = [];
      stream.on("data", (part) => parts.push(part));
      stream.on("end", () => {
        const path = join(folder, entry.fileName);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, Buffer.concat(parts));
        zip.readEntry();
      });
    }));
    zip.on("end", done);
    zip.on("error", fail);
    zip.readEntry();
  }));
}

test("the package is complete and small", async () => {
  execFileSync("npm", ["run", "package"], { cwd: here, stdio: "pipe" });
  const folder = mkdtempSync(join(tmpdir(), "preempt-vsix-"));
  try {
    await unpack(new URL("preempt.vsix", here).pathname, folder);
    const inside = (path) => join(folder, "extension", path);
    const manifest = JSON.parse(readFileSync(inside("package.json")));
    const { grammars, languages } = manifest.contributes;
    const files = [manifest.main, ...grammars.map((one) => one.path), ...languages.map((one) => one.configuration)];
    for (const file of files) assert.ok(readFileSync(inside(file)).length > 100, file);
    assert.throws(() => readFileSync(inside("node_modules/esbuild/package.json")));
    assert.ok(readFileSync(new URL("preempt.vsix", here)).length < 1 << 20, "less than a megabyte");
    // The bundle needs nothing but the editor's own module.
    const load = Module._load;
    const anything = new Proxy(function () {}, { get: (_, name) => (name === "prototype" ? {} : anything), construct: () => ({}) });
    Module._load = (name, ...rest) => (name === "vscode" ? anything : load(name, ...rest));
    try {
      assert.equal(typeof require(inside(manifest.main)).activate, "function");
    } finally {
      Module._load = load;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
