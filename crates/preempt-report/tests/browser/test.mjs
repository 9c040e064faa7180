// Opens the pages in a real browser: steps, searches, follows a link, scrolls 100,000 steps, looks
// for errors, and takes pictures.
//
//   node test.mjs CHROMIUM FOLDER      FOLDER holds peterson.html, lock.html, serve.html,
//                                      protocol.html, reads.html, long.html, evil.html; pictures go there too
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, folder] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "preempt-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  viewport: { width: 1440, height: 900 },
  colorScheme: "light",
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});

const problems = [];
const address = (name, hash = "") => pathToFileURL(resolve(folder, name + ".html")).href + hash;
const picture = (page, name) => page.screenshot({ path: join(folder, name + ".png") });
const timings = [];

/** Runs an action until the page has drawn, notes how long it took. */
async function timed(page, name, action) {
  const start = performance.now();
  await action();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  timings.push([name, performance.now() - start]);
}

async function open(name, hash, options = {}) {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(`${name}: ${error}`));
  page.on("console", (message) => { if (message.type() === "error") problems.push(`${name}: ${message.text()}`); });
  page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) problems.push(`${name} loads ${request.url()}`); });
  page.on("dialog", (dialog) => { problems.push(`${name}: dialog ${dialog.message()}`); dialog.dismiss(); });
  if (options.colorScheme || options.media) await page.emulateMedia(options);
  if (options.viewport) await page.setViewportSize(options.viewport);
  await page.goto(address(name, hash));
  return page;
}

const here = (page) => page.locator(".row.here .number").textContent();
const text = (page, selector) => page.locator(selector).first().innerText();

/** What was read from where: an arrow per load, a stale one marked, and the same in words. */
async function readsFrom() {
  const page = await open("reads");
  assert.equal(await page.locator(".reads-svg .read").count(), 2);
  assert.equal(await page.locator(".reads-svg .read.stale").count(), 1);
  const label = await page.locator(".reads-svg").getAttribute("aria-label");
  assert.match(label, /step 3 reads what step 2 stored; step 4 reads the initial value, stale: step 1 stored a newer value/);
  assert.match(await page.locator("#step-4").getAttribute("aria-label"), /reads the initial value, stale/);
  // The arrow begins in the row of the store and ends in the row of the load.
  const arrow = await page.locator(".reads-svg .read:not(.stale) path").boundingBox();
  const [store, load] = await Promise.all(["#step-2", "#step-3"].map((id) => page.locator(id).boundingBox()));
  assert.ok(arrow.y >= store.y && arrow.y <= store.y + store.height, "begins at the store");
  assert.ok(arrow.y + arrow.height >= load.y && arrow.y + arrow.height <= load.y + load.height, "ends at the load");
  await picture(page, "reads");
  await page.close();
  const other = await open("lock");
  assert.equal(await other.locator(".reads-svg").count(), 0);
  await other.close();
}

async function claimOnTop() {
  const page = await open("peterson");
  assert.match(await text(page, "h1"), /both users wait for each other/);
  assert.match(await text(page, "#verdict"), /violated/);
  const moments = await page.locator(".moment").allInnerTexts();
  assert.equal(moments.length, 2);
  assert.match(moments[0], /preemption 1[\s\S]*user \(0\) could go on but is stopped before line 10/);
  assert.match(moments[1], /invalid end state/);
  assert.equal(await page.locator(".row.rests .rest").count(), 2);
  assert.equal(await page.locator(".row.failure").count(), 1);
  assert.equal(await page.locator(".code-line.next").count(), 2);
  await picture(page, "peterson");
  await page.keyboard.press("t");
  await picture(page, "peterson-dark");
  await page.close();
}

async function stepping() {
  const page = await open("lock");
  assert.equal(await here(page), "9");
  await page.keyboard.press("g");
  assert.equal(await here(page), "0");
  for (const [key, expected] of [["j", "1"], ["j", "2"], ["j", "3"], ["k", "2"], ["l", "7"], ["h", "2"], ["G", "9"], ["X", "7"], ["X", "2"], ["x", "7"], ["X", "2"]]) {
    await page.keyboard.press(key);
    assert.equal(await here(page), expected, `after ${key}`);
  }
  await page.waitForURL(/#step=2$/);
  await page.keyboard.press("j");
  assert.match(await text(page, "tr.fresh"), /locked\s+0 → 1/);
  assert.match(await text(page, "#state-title"), /after step 3/);
  // Where everybody stands: worker 1 just ran line 9, worker 0 was stopped before line 9.
  const where = await page.locator(".where").allInnerTexts();
  assert.deepEqual(where, ["next line 9", "ran line 9 · next line 10"]);
  await page.locator("tr.fresh .spark button").click();
  assert.match(await text(page, ".history"), /3: 0 → 1/);
  await picture(page, "lock");
  await page.locator(".moment.failure").click();
  assert.equal(await here(page), "9");
  await page.keyboard.press("?");
  assert.equal(await page.locator("dialog[open]").count(), 1);
  await picture(page, "keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("f");
  assert.equal(await page.locator("#collapse").getAttribute("aria-pressed"), "true");
  await page.close();
}

async function links() {
  const page = await open("lock", "#step=4");
  assert.equal(await here(page), "4");
  await page.evaluate(() => { location.hash = "#step=8"; });
  await page.waitForFunction(() => document.querySelector(".row.here .number").textContent === "8");
  await page.goto(address("lock", "#step=999999"));
  assert.equal(await here(page), "9");
  await page.close();
}

async function searching() {
  const page = await open("lock", "#step=1");
  await page.keyboard.press("/");
  await page.keyboard.type("inside++");
  await page.keyboard.press("Enter");
  assert.equal(await here(page), "4");
  assert.equal(await text(page, "#found"), "1 of 2");
  await page.keyboard.press("Enter");
  assert.equal(await here(page), "8");
  await page.keyboard.press("Shift+Enter");
  assert.equal(await here(page), "4");
  await page.locator("#search").fill("no such thing");
  await page.waitForFunction(() => document.getElementById("found").textContent === "nothing found");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  assert.equal(await here(page), "5");
  await page.close();
}

async function messages() {
  const page = await open("protocol");
  await picture(page, "protocol");
  // Four names, three channels.
  assert.equal(await page.locator(".channel").count(), 3);
  assert.match(await text(page, ".channel >> nth=1"), /to_receiver[\s\S]*data,3[\s\S]*also sender\(0\):out/);
  await page.keyboard.press("m");
  assert.equal(await page.locator(".message").count(), 5);
  await picture(page, "protocol-chart");
  await page.locator(".chart-row").nth(4).click({ position: { x: 20, y: 15 } });
  assert.match(await text(page, "#position"), /^5 of 9/);
  assert.match(await text(page, ".channel.fresh"), /to_sender/);
  await page.close();
}

async function cycle() {
  const page = await open("serve");
  assert.equal(await here(page), "3");
  assert.equal(await page.locator(".row.cycle").count(), 2);
  assert.equal(await page.locator(".row.step.in-cycle").count(), 2);
  await picture(page, "serve");
  await page.close();
}

async function otherReaders() {
  const narrow = await open("lock", "", { viewport: { width: 420, height: 900 } });
  const overflow = await narrow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels too wide`);
  await picture(narrow, "lock-narrow");
  await narrow.close();
  const dark = await open("protocol", "#step=5", { colorScheme: "dark" });
  await picture(dark, "protocol-dark");
  await dark.close();
  const crowd = await open("crowd");
  const lane = await crowd.locator(".row.here .cell").boundingBox();
  const list = await crowd.locator("#scroll").boundingBox();
  assert.ok(lane.x > list.x && lane.x + lane.width < list.x + list.width, "the lane of the step is in view");
  await picture(crowd, "crowd");
  await crowd.close();
  const bound = await open("bound");
  assert.match(await text(bound, "#verdict"), /holds within the bound/);
  assert.equal(await bound.locator(".meter").count(), 3);
  assert.match(await text(bound, "#figures"), /code that no execution reached/);
  await picture(bound, "bound");
  await bound.close();
  const paper = await open("lock");
  await paper.pdf({ path: join(folder, "lock.pdf"), landscape: true });
  await paper.close();
}

/** Names, values and statements that try to be markup. */
async function hostile() {
  const page = await open("evil");
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.close();
}

async function hundredThousand() {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(`long: ${error}`));
  await timed(page, "open 100,000 steps", () => page.goto(address("long")));
  assert.equal(await here(page), "100000");
  const rows = await page.locator(".rows .row").count();
  assert.ok(rows < 120, `${rows} rows in the document`);
  await picture(page, "long");
  await timed(page, "go to the start", () => page.keyboard.press("g"));
  await timed(page, "one step", () => page.keyboard.press("j"));
  await timed(page, "50 steps", async () => { for (let i = 0; i < 50; i++) await page.keyboard.press("j"); });
  await timed(page, "next preemption", () => page.keyboard.press("x"));
  await timed(page, "go to the end", () => page.keyboard.press("G"));
  await timed(page, "scroll to the middle", () => page.evaluate(() => {
    const box = document.getElementById("scroll");
    box.scrollTop = box.scrollHeight / 2;
  }));
  const middle = Number(await page.locator(".row.step .number").first().textContent());
  assert.ok(middle > 40_000 && middle < 60_000, `row ${middle} in the middle`);
  await timed(page, "scroll 40 pages", () => page.evaluate(async () => {
    const box = document.getElementById("scroll");
    for (let i = 0; i < 40; i++) {
      box.scrollTop += box.clientHeight;
      await new Promise(requestAnimationFrame);
    }
  }));
  await timed(page, "search, 12,000 hits", () => page.evaluate(() => {
    const box = document.getElementById("search");
    box.focus();
    box.value = "time = (time";
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  }));
  assert.match(await text(page, "#found"), /of 1\d,\d{3}$/);
  await timed(page, "next hit", () => page.keyboard.press("Enter"));
  await page.keyboard.press("Escape");
  await timed(page, "message chart", () => page.keyboard.press("m"));
  assert.ok(await page.locator(".message").count() > 3);
  await picture(page, "long-chart");
  await page.keyboard.press("m");
  await page.keyboard.press("m");
  await timed(page, "fold runs", () => page.keyboard.press("f"));
  await timed(page, "deep link", async () => {
    await page.evaluate(() => { location.hash = "#step=54321"; });
    await page.waitForFunction(() => document.querySelector(".row.here .number")?.textContent === "54321");
  });
  await page.close();
}

/** What was searched, how much of the code was reached, and what the answer does not say. */
async function holdsSaysSomething() {
  const page = await open("holds");
  assert.match(await text(page, ".notes .vacuous"), /never true/);
  const tables = await page.locator("#figures h3").allInnerTexts();
  assert.deepEqual(tables.slice(0, 3), ["worth knowing", "statements reached", "states by preemptions needed"]);
  assert.match(await text(page, "#figures"), /proctype user[^]*of 6/);
  assert.ok(await page.locator(".meter .new").count() > 2, "pictures of the numbers");
  assert.ok(await page.locator("#sources .code-line.missed").count() > 0, "unreached lines are marked");
  assert.ok(await page.locator("#sources .syntax-keyword").count() > 3, "syntax colours");
  await picture(page, "holds");
  await page.close();
}

async function whoWaits() {
  const page = await open("waits");
  const waits = await page.locator(".waiting li").allInnerTexts();
  assert.equal(waits.length, 2);
  assert.match(waits[0], /user \(0\) waits since step \d+[^]*wants\[1\] is 1[^]*only user \(1\) could change that/);
  assert.match(await text(page, ".moment.failure"), /user \(0\) waits/);
  assert.ok(await page.locator(".change.seen").count() > 0, "values that were looked at");
  await page.keyboard.press("k");
  assert.equal(await page.locator(".waiting li").count(), 0, "only at the end");
  await picture(page, "waits");
  await page.close();
}

/** 200 processes of which three move: those, until all are asked for; a row that is opened shows everything. */
async function stillCrowd() {
  const page = await open("still");
  const lanes = () => page.locator("#names .name:not(.changes)").count();
  assert.equal(await lanes(), 3);
  assert.equal(await page.locator("#sources article").count(), 3);
  assert.equal(await text(page, "#everyone"), "3 of 200 processes move: show all");
  assert.equal(await page.locator(".row.rests .rest").count(), 3);
  await picture(page, "still");
  await page.keyboard.press("k");
  await page.locator("#everyone").click();
  await page.waitForFunction(() => document.querySelectorAll("#names .name:not(.changes)").length === 200);
  assert.equal(await text(page, "#everyone"), "only those that move");
  assert.match(page.url(), /#step=5&all$/);
  assert.equal(await here(page), "5");
  await page.locator("#everyone").click();
  await page.waitForFunction(() => document.querySelectorAll("#names .name:not(.changes)").length === 3);
  const height = () => page.locator(".row.here").evaluate((row) => row.offsetHeight);
  assert.equal(await height(), 30);
  await page.keyboard.press("o");
  assert.ok(await height() > 45, `${await height()} pixels`);
  const cut = await page.locator(".row.here").evaluate((row) => [...row.querySelectorAll(".cell, .changes")].filter((box) => box.scrollWidth > box.clientWidth + 1).length);
  assert.equal(cut, 0);
  await picture(page, "opened");
  await page.locator(".row.here .cell").click();
  assert.equal(await height(), 30);
  await page.close();
  const small = await open("still", "", { viewport: { width: 390, height: 844 } });
  const overflow = await small.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels too wide`);
  await picture(small, "still-390");
  await small.close();
  // On paper: every step, nothing that is there to be pressed.
  const paper = await open("still", "", { media: "print" });
  await paper.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await paper.locator(".row.step:visible").count(), 6);
  assert.equal(await paper.locator("button:visible").count(), await paper.locator(".moment:visible, .spark button:visible, #waiting button:visible").count());
  const short = await paper.locator(".row .cell, .row > .changes").evaluateAll((boxes) => boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).length);
  assert.equal(short, 0, "nothing is cut on paper");
  await paper.screenshot({ path: join(folder, "still-paper.png"), fullPage: true });
  await paper.close();
}

async function decidedByPrefix() {
  const page = await open("decided");
  assert.equal(await page.locator(".row.cycle").count(), 0, "nothing repeats for ever");
  assert.match(await text(page, ".row.failure"), /p < 3 is false: p is 3/);
  const row = page.locator("#propositions tr.proposition");
  assert.match(await row.innerText(), /false/);
  await page.keyboard.press("g");
  assert.match(await row.innerText(), /true/);
  // The name loses its middle, not its end.
  const tail = await row.locator(".tail-part").boundingBox(), cell = await row.locator("th").boundingBox();
  assert.ok(tail.x + tail.width <= cell.x + cell.width + 1, "the end of the name is in view");
  await picture(page, "decided");
  await page.close();
}

async function panes() {
  const page = await open("peterson");
  const width = () => page.evaluate(() => document.getElementById("lanes").offsetWidth);
  const before = await width();
  const bar = page.locator(".splitter").first();
  await bar.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  const after = await width();
  assert.ok(after < before - 40, `${before} to ${after}`);
  const box = await bar.boundingBox();
  await page.mouse.move(box.x + 5, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 105, box.y + 200, { steps: 4 });
  await page.mouse.up();
  assert.ok(Math.abs(await width() - after - 100) < 8, `dragged from ${after} to ${await width()}`);
  await page.close();
}

try {
  for (const scenario of [holdsSaysSomething, whoWaits, stillCrowd, decidedByPrefix, panes, claimOnTop, readsFrom, stepping, links, searching, messages, cycle, otherReaders, hostile, hundredThousand]) {
    await scenario();
    console.log(`ok ${scenario.name}`);
  }
  for (const [name, time] of timings) console.log(`${time.toFixed(0).padStart(6)} ms  ${name}`);
  assert.deepEqual(problems, []);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
