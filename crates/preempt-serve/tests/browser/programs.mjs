// C programs and Rust tests, as people use them on the page: nothing runs before it is asked for; a test that fails opens as lanes.
//
//   node programs.mjs CHROMIUM URL FOLDER
//
// Model 0 is a C program, model 1 a Rust package with two tests over the facade and one of std, model 2 a C program whose
// search takes long. Pictures go to FOLDER.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "../../../preempt-report/tests/browser/node_modules/playwright-core/index.mjs";

const [executablePath, url, folder] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "preempt-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath, headless: true, viewport: { width: 1280, height: 800 }, colorScheme: "light", acceptDownloads: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const problems = [];

async function open(model) {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(error.stack));
  page.on("console", (message) => { if (message.type() === "error") problems.push(`${message.text()} ${message.location().url}`); });
  page.setDefaultTimeout(20_000);
  await page.goto(`${url}#model=${model}&path=`);
  await page.locator("#position").filter({ hasText: /of/ }).waitFor();
  return page;
}

const picture = (page, name) => page.screenshot({ path: join(folder, name + ".png") });
const text = (page, selector) => page.locator(selector).first().innerText();
const property = (page, label) => page.locator("#properties li", { hasText: label });

async function program() {
  const page = await open(0);
  assert.equal(await text(page, "#kind"), "C program");
  assert.match(await text(page, "#run-words"), /Nothing is compiled or run before a button is pressed/);
  assert.match(await text(page, "#properties"), /preempt cc account\.c -o program && preempt run -- \.\/program/);
  assert.match(await text(page, "#properties"), /not checked/);
  assert.match(await text(page, "#steps"), /No execution that fails is known/);
  assert.equal(await text(page, "#check-all"), "Run all");
  // The dialog offers what there is for programs, and nothing else.
  await page.locator("#open-check").click();
  for (const id of ["formula-row", "options-box", "fair-row", "iterate-row", "memory-row"]) assert.ok(await page.locator(`#${id}`).isHidden(), id);
  await page.locator("#check-close").click();
  await property(page, "no execution fails").locator("button").click();
  await page.locator("#properties li[data-verdict=violated]").waitFor();
  assert.match(await text(page, "#checks"), /data race: deposit 1 writes balance at .*account\.c:7/);
  await page.locator("#checks button", { hasText: "Open the counterexample" }).click();
  await page.locator("#position").filter({ hasText: /^2 of 2$/ }).waitFor();
  assert.match(await text(page, "#names"), /deposit 1[\s\S]*deposit 2/);
  assert.match(await text(page, "#rows"), /write balance = 10[\s\S]*read balance -> 10/);
  assert.match(await text(page, "#steps"), /✗ data race/);
  assert.ok(await page.locator(".code-line.ran").count() === 1, "the line that ran");
  await page.keyboard.press("g");
  await page.locator("#position").filter({ hasText: /^0 of 2$/ }).waitFor();
  assert.ok(await page.locator(".code-line.at .mark b").count() > 0, "positions in the margin");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await picture(page, "serve-c");
  // It is taken along in every form.
  for (const [form, content] of [["page", /^<!doctype html>/], ["trace", /"format"/], ["report", /data_race|data race/], ["chart", /^<svg/]]) {
    await page.keyboard.press("e");
    const waiting = page.waitForEvent("download");
    await page.locator(`#export-list [data-form=${form}]`).click();
    assert.match(readFileSync(await (await waiting).path(), "utf8"), content, form);
    await page.locator("#export-dialog:not([open])").waitFor({ state: "attached" });
  }
  // What was found stays after a reload.
  await page.reload();
  await page.locator("#properties li[data-verdict=violated]").waitFor();
  await page.locator("#position").filter({ hasText: /2 of 2/ }).waitFor();
  await page.close();
}

async function rustTests() {
  const page = await open(1);
  assert.equal(await text(page, "#kind"), "Rust tests");
  assert.equal(await page.locator("#properties li").count(), 3);
  assert.match(await text(page, "#properties"), /cargo test tests::adds[\s\S]*preempt cargo test --test std loses_one/);
  await page.locator("#seconds").evaluate((field) => { field.value = "500"; });
  await page.locator("#check-all").click();
  await page.waitForFunction(() => [...document.querySelectorAll("#properties li")].every((item) => ["holds", "holds_within_bound", "violated"].includes(item.dataset.verdict)), null, { timeout: 400_000 });
  assert.equal(await property(page, "tests::adds").getAttribute("data-verdict"), "holds");
  assert.equal(await property(page, "tests::loses_an_update").getAttribute("data-verdict"), "violated");
  assert.equal(await property(page, "loses_one").getAttribute("data-verdict"), "violated");
  // Both failing executions begin at the start; the button leads along each.
  const cards = page.locator("#checks .check", { has: page.locator("button", { hasText: "Open the counterexample" }) });
  for (let at = 0; at < 2; at++) {
    await cards.nth(at).locator("button", { hasText: "Open the counterexample" }).click();
    await page.waitForFunction(() => /^([1-9]\d*) of \1$/.test(document.getElementById("position").textContent));
    await page.locator("#steps", { hasText: "✗" }).waitFor();
    assert.match(await text(page, "#rows"), /load/);
    assert.equal(await page.locator(".code-line.ran").count(), 1);
    await picture(page, `serve-rust-${at}`);
  }
  await page.keyboard.press("g");
  await page.locator("#position").filter({ hasText: /^0 of/ }).waitFor();
  const choices = await page.locator(".step-choice").allInnerTexts();
  assert.ok(choices.some((one) => one.includes("tests::loses_an_update: ")) && choices.some((one) => one.includes("loses_one: ")), choices.join("|"));
  await page.close();
}

/** A search that would take long is cancelled, and nothing of it stays behind; or it ends at its limit. */
async function cancelled() {
  const page = await open(2);
  const run = property(page, "no execution fails").locator("button");
  await run.click();
  await page.locator("#checks button", { hasText: "Cancel" }).waitFor();
  await page.waitForTimeout(1500);
  const begun = Date.now();
  await page.locator("#checks button", { hasText: "Cancel" }).click();
  await page.locator("#properties li[data-verdict=inconclusive]").waitFor();
  // Within a second on a machine that has nothing else to do.
  assert.ok(Date.now() - begun < 2500, `cancelled after ${Date.now() - begun} ms`);
  assert.match(await text(page, "#checks"), /interrupted/);
  await page.locator("#seconds").evaluate((field) => { field.value = "2"; });
  const limited = Date.now();
  await run.click();
  await page.locator("#checks", { hasText: /time limit/ }).waitFor();
  assert.ok(Date.now() - limited < 6000, `ended after ${Date.now() - limited} ms`);
  await page.close();
}

try {
  await program();
  console.log("ok program");
  await cancelled();
  console.log("ok cancelled");
  await rustTests();
  console.log("ok rustTests");
  assert.deepEqual(problems, []);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
