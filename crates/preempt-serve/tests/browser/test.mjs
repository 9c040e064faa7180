// Uses the page as people do: walks Peterson by the keyboard, finds the bug of the version without turn,
// checks, cancels, reloads, in the dark, on a narrow screen; takes pictures.
//
//   node test.mjs CHROMIUM URL FOLDER PAGE
//
// FOLDER holds the models that are served; pictures go there too. PAGE is what a failing Rust test left behind.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "../../../preempt-report/tests/browser/node_modules/playwright-core/index.mjs";

const [executablePath, url, folder, failed] = process.argv.slice(2);
const [PETERSON, NO_TURN, PROTOCOL, TRAFFIC, SLOW, EVIL, CROWD, BLUETOOTH, FAILED] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const profile = mkdtempSync(join(tmpdir(), "preempt-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  viewport: { width: 1280, height: 800 },
  colorScheme: "light",
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
const problems = [];
const timings = [];

async function open(model, path = "", options = {}) {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(`${model}: ${error.stack}`));
  page.on("console", (message) => { if (message.type() === "error") problems.push(`${model}: ${message.text()} ${message.location().url}`); });
  page.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(`${model} loads ${request.url()}`); });
  page.on("dialog", (dialog) => { problems.push(`${model}: dialog ${dialog.message()}`); dialog.dismiss(); });
  page.setDefaultTimeout(20_000);
  if (options.colorScheme) await page.emulateMedia(options);
  if (options.viewport) await page.setViewportSize(options.viewport);
  await page.goto(`${url}#model=${model}&path=${path}`);
  await page.locator("#position").filter({ hasText: /of/ }).waitFor();
  return page;
}

const picture = (page, name) => page.screenshot({ path: join(folder, name + ".png") });
const text = (page, selector) => page.locator(selector).first().innerText();
const at = (page, position) => page.waitForFunction((wanted) => document.getElementById("position").textContent === wanted, position);
const variable = (page, name) => page.locator("#variables tr", { has: page.locator("th", { hasText: new RegExp(`^${name}$`) }) }).first().locator("td").innerText();

/** Presses keys, and waits for the place they lead to. */
async function press(page, keys, position) {
  for (const key of keys) await page.keyboard.press(key);
  if (position) await at(page, position);
}

async function keyboardOnly() {
  const page = await open(PETERSON);
  assert.equal(await text(page, "#name"), "peterson.pml");
  assert.equal(await page.locator(".step-choice").count(), 2);
  // wants, turn, the wait, inside++: the critical section.
  await press(page, ["1", "1", "1", "1"], "4 of 4");
  assert.match(await variable(page, "inside"), /0 → 1/);
  assert.match(await text(page, "#cost"), /^4 steps · 0 preemptions/);
  assert.match(await text(page, ".row.here"), /inside: 0 → 1/);
  assert.equal(await page.locator(".mark b").count(), 2);
  // Back, another step: a branch, which costs a preemption.
  await press(page, ["k", "k"], "2 of 4");
  assert.equal(await page.locator(".row.later").count(), 2);
  assert.match(await page.locator(".step-choice").nth(1).innerText(), /preemption/);
  await press(page, ["2"], "3 of 3");
  assert.match(await text(page, "#cost"), /1 preemption/);
  assert.match(await text(page, ".row.here .badge"), /⇄ 1/);
  assert.match(await text(page, "#places"), /another path: 4 steps/);
  // Choosing with n and Enter, forward along the path with j.
  await press(page, ["k"], "2 of 3");
  await press(page, ["n", "n", "Enter"], "3 of 3");
  await press(page, ["g"], "0 of 3");
  await press(page, ["j", "j", "j"], "3 of 3");
  await press(page, ["m", "m", "m", "m"]);
  await page.locator("#compare .columns").waitFor();
  assert.match(await text(page, "#compare"), /They agree for 2 steps/);
  await press(page, ["m", "b"]);
  await page.locator("#places", { hasText: "★" }).waitFor();
  await press(page, ["?"]);
  assert.equal(await page.locator("#keys[open]").count(), 1);
  await press(page, ["Escape"]);
  // Watches and runs without a mouse.
  await press(page, ["w"]);
  await page.keyboard.type("wants[0] + wants[1]");
  await press(page, ["Enter"]);
  await page.locator("#watches li b").filter({ hasText: /^2$/ }).waitFor();
  await press(page, ["Escape", "g"], "0 of 3");
  await press(page, ["/"]);
  await page.keyboard.type("inside == 1");
  await press(page, ["Enter"], "4 of 4");
  assert.match(await text(page, "#notice"), /The condition holds here/);
  assert.match(await text(page, ".row.here .watched"), /^1$/);
  await press(page, ["/"]);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("inside == 2");
  await press(page, ["Enter"]);
  await page.locator("#notice").filter({ hasText: "No state that can be reached" }).waitFor();
  // A link is the state.
  const other = await context.newPage();
  await other.goto(page.url());
  await at(other, "4 of 4");
  assert.match(await variable(other, "inside"), /1$/);
  await other.close();
  await picture(page, "serve-walk");
  await page.close();
}

async function history() {
  const page = await open(PETERSON);
  const pause = () => page.waitForTimeout(400);
  await pause();
  await press(page, ["1"], "1 of 1");
  await pause();
  await press(page, ["1"], "2 of 2");
  await pause();
  await press(page, ["k"], "1 of 2");
  await pause();
  await page.locator("#models").selectOption(String(NO_TURN));
  await page.locator("#name").filter({ hasText: "peterson_no_turn.pml" }).waitFor();
  await page.goBack();
  await page.locator("#name").filter({ hasText: /^peterson.pml$/ }).waitFor();
  await at(page, "1 of 2");
  await page.goBack();
  await at(page, "2 of 2");
  await page.goBack();
  await at(page, "1 of 1");
  await page.goForward();
  await at(page, "2 of 2");
  await page.close();
}

async function byHand() {
  const page = await open(NO_TURN);
  await page.locator(".step-choice").first().click();
  await at(page, "1 of 1");
  const choice = page.locator(".process", { hasText: "process(1)" }).locator(".step-choice");
  assert.match(await choice.innerText(), /⇄ preemption[\s\S]*wants\[1\]: 0 → 1/);
  await choice.click();
  await page.locator(".verdict-line", { hasText: "Deadlock" }).waitFor();
  assert.match(await text(page, "#cost"), /2 steps · 1 preemption/);
  assert.equal(await page.locator(".step-choice").count(), 0);
  assert.equal(await page.locator(".mark b.waits").count(), 2);
  await page.locator("#rows .row").first().click();
  await at(page, "0 of 2");
  await page.close();
}

async function checks() {
  const page = await open(NO_TURN);
  await press(page, ["c"]);
  await page.locator("input[value=iterate]").check();
  await page.locator("#check-form button.strong").click();
  await page.locator(".claim[data-verdict=violated]").waitFor();
  await page.locator("button", { hasText: "Open the counterexample" }).click();
  await page.locator(".verdict-line", { hasText: "Deadlock" }).waitFor();
  assert.match(await text(page, "#cost"), /2 steps · 1 preemption/);
  await page.locator("#tab-graph").click();
  await press(page, ["g"]);
  await page.locator(".node.error").waitFor();
  // The graph may have been drawn before the counterexample's path was there.
  await page.waitForFunction(() => document.querySelectorAll(".node.marked").length === 3);
  await picture(page, "serve-graph");
  await page.locator(".node.error").click();
  await at(page, "2 of 2");
  await page.locator("#tab-lanes").click();
  await picture(page, "serve-counterexample");
  // A formula that is none.
  await press(page, ["c"]);
  await page.locator("#formula").fill("[] (inside <=");
  await page.locator("#check-form button.strong").click();
  await page.locator(".check .problem").waitFor();
  await page.close();
  const slow = await open(SLOW);
  await press(slow, ["c"]);
  await slow.locator("#check-form button.strong").click();
  await slow.locator(".progress", { hasText: /[\d,]+ states · [\d,]+\/s · depth/ }).waitFor();
  await picture(slow, "serve-progress");
  await slow.locator(".check button", { hasText: "Cancel" }).click();
  await slow.locator(".claim[data-verdict=inconclusive]").waitFor();
  assert.match(await text(slow, ".claim"), /interrupted/);
  await slow.close();
}

async function pictures() {
  const page = await open(TRAFFIC, "010");
  await page.locator("#tab-automata").click();
  await page.locator("#automata .node.here").first().waitFor();
  const names = await page.locator("#automata option").allInnerTexts();
  assert.ok(names.some((name) => name.startsWith("formula")), names.join());
  await page.locator("#automata select").selectOption({ label: names.find((name) => name.startsWith("formula")) });
  await page.locator("#automata .node").first().waitFor();
  await picture(page, "automata");
  await page.close();
  // Many processes: the graph comes, says that it is not all, and can be seen as a whole.
  const many = await open(CROWD);
  await many.locator("#tab-graph").click();
  await many.locator("#graph .node.here").waitFor();
  assert.match(await text(many, "#graph .bar"), /there are more/);
  const drawn = () => many.locator("#graph svg.picture").evaluate((svg) => svg.getBoundingClientRect().width);
  const full = await drawn();
  await many.locator("#graph button", { hasText: "⤢" }).click();
  const whole = await drawn();
  assert.ok(whole < full / 2, `${full} becomes ${whole}`);
  await many.locator("#graph button", { hasText: "+" }).click();
  assert.ok((await drawn()) > whole);
  await picture(many, "graph-of-many");
  await many.close();
  const protocol = await open(PROTOCOL);
  await press(protocol, ["r"]);
  await protocol.locator("#tab-chart").click();
  await protocol.locator("#chart .message").first().waitFor();
  await picture(protocol, "chart");
  await protocol.close();
  const bluetooth = await open(BLUETOOTH);
  await press(bluetooth, ["1", "1", "1"], "3 of 3");
  assert.match(await text(bluetooth, "#kind"), /Boolean program/);
  await bluetooth.locator(".code-line", { hasText: "pending := pending + 1" }).locator(".line").click();
  await bluetooth.locator("#places", { hasText: "breakpoint" }).waitFor();
  await bluetooth.close();
}

async function reloads() {
  const page = await open(PETERSON, "0000");
  const file = join(folder, "peterson.pml");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, before.replace("byte turn;", "byte turn;\nbyte more;"));
  await page.locator("#notice", { hasText: "The file changed; the path is the same." }).waitFor();
  assert.equal(await text(page, "#position"), "4 of 4");
  assert.match(await text(page, "#source"), /byte more/);
  writeFileSync(file, before.replace("inside++;", "inside + ;"));
  await page.locator("#notice", { hasText: "has errors now" }).waitFor();
  assert.match(await text(page, ".mistakes"), /error P\d+/);
  writeFileSync(file, before.replace("inside++;", "inside = inside + 1;"));
  await page.locator("#notice", { hasText: "of 4 steps" }).waitFor();
  writeFileSync(file, before);
  await page.locator("#notice", { hasText: "the path is the same" }).waitFor();
  await page.close();
}

async function otherReaders() {
  const dark = await open(NO_TURN, "0", { colorScheme: "dark" });
  const ground = () => dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(15, 18, 23)");
  await picture(dark, "serve-dark");
  await press(dark, ["t"]);
  assert.equal(await ground(), "rgb(245, 246, 248)");
  // Everything that can be used has a name.
  const nameless = await dark.evaluate(() => [...document.querySelectorAll("button, input, select, [role=button], svg")]
    .filter((element) => !element.textContent.trim() && !element.getAttribute("aria-label") && !element.closest("label"))
    .map((element) => element.outerHTML));
  assert.deepEqual(nameless, []);
  assert.equal(await dark.locator("[role=option][aria-selected=true]").getAttribute("aria-label"), "step 1, process(1): wants[_pid] = true; wants[1]: 0 → 1");
  await dark.close();
  const narrow = await open(PETERSON, "01", { viewport: { width: 400, height: 800 } });
  const overflow = await narrow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels too wide`);
  await narrow.locator(".step-choice").first().click();
  await at(narrow, "3 of 3");
  await picture(narrow, "serve-narrow");
  for (const tab of ["chart", "graph", "automata", "compare"]) {
    await narrow.locator("#tab-" + tab).click();
    await narrow.locator(`#${tab} > *`).first().waitFor();
    const wide = await narrow.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${tab}: ${wide} pixels too wide`);
  }
  await narrow.close();
}

/** The execution of a Rust test that failed: its page, and the same execution walked through. */
async function failingTest() {
  const report = await context.newPage();
  report.on("pageerror", (error) => problems.push(`page of a test: ${error.stack}`));
  await report.goto("file://" + failed);
  await report.keyboard.press("G");
  const waiting = report.locator("#waiting li");
  await waiting.first().waitFor();
  assert.equal(await waiting.count(), 2);
  for (const text of await waiting.allInnerTexts()) assert.match(text, /waits for[\s\S]*\.lock at [\s\S]*failing\.rs:\d+:\d+: held by .*, who took it at .*failing\.rs:\d+/);
  await picture(report, "test-deadlock");
  await report.close();
  const page = await open(FAILED);
  assert.equal(await text(page, "#kind"), "saved execution");
  assert.match(await text(page, "#source"), /Two transfers take the locks/);
  // It opens at its end, violated, and offers nothing that was not recorded.
  await page.locator(".verdict-line.bad").first().waitFor();
  assert.match(await text(page, ".verdict-line.bad"), /deadlock/i);
  assert.match(await text(page, "#cost"), /1 preemption /);
  assert.match(await text(page, ".row.here"), /lock/);
  assert.equal(await page.locator(".step-choice").count(), 0);
  // Back to the start, where there is one way on: the recorded one.
  await press(page, ["g"]);
  await page.locator(".step-choice").first().waitFor();
  assert.equal(await page.locator(".step-choice").count(), 1);
  await page.close();
}

/** Names, values and statements that try to be markup. */
async function hostile() {
  const page = await open(EVIL);
  await press(page, ["1", "1"], "2 of 2");
  await press(page, ["w"]);
  await page.keyboard.type("</script><img src=x onerror=hacked=1>");
  await press(page, ["Enter", "Escape", "m", "m", "m", "m", "m"]);
  await page.locator("#watches .problem").waitFor();
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await page.close();
}

/** 200 processes, and a path of 100,000 steps. */
async function crowd() {
  const page = await open(CROWD);
  // Two steps each of the first 40 processes, the others on request.
  assert.equal(await page.locator(".step-choice").count(), 80);
  assert.equal(await page.locator("#steps > button").innerText(), "160 more processes");
  await page.evaluate(async () => {
    const base = location.href.split("#")[0];
    let path = "";
    for (let part = 0; part < 12; part++) {
      const response = await fetch(base + "api/run", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model: 6, path, mode: "random", steps: 10000, seed: part }) });
      path = (await response.json()).path;
    }
    location.hash = `#model=6&path=${path}`;
  });
  await page.waitForFunction(() => /^1\d\d,\d\d\d of/.test(document.getElementById("position").textContent), null, { timeout: 60_000 });
  // What an action costs is counted: bytes to and from the server, and elements that are made anew.
  await page.evaluate(() => {
    window.cost = { bytes: 0, made: 0 };
    const before = window.fetch;
    window.fetch = async (address, options) => {
      const response = await before(address, options);
      window.cost.bytes += (options?.body ?? "").length + (await response.clone().text()).length;
      return response;
    };
    new MutationObserver((records) => {
      for (const { addedNodes } of records) for (const node of addedNodes) window.cost.made += 1 + (node.querySelectorAll?.("*").length ?? 0);
    }).observe(document.body, { childList: true, subtree: true });
  });
  const timed = async (name, action, done, most) => {
    await page.evaluate(() => Object.assign(window.cost, { bytes: 0, made: 0 }));
    const start = performance.now();
    await action();
    await page.waitForFunction(done.wait, done.value);
    const time = performance.now() - start;
    await page.waitForTimeout(100);
    const { bytes, made } = await page.evaluate(() => window.cost);
    timings.push([`${name}: ${bytes} bytes, ${made} elements`, time]);
    assert.ok(bytes < most.bytes && made < most.made, `${name}: ${bytes} bytes, ${made} elements`);
  };
  const near = { bytes: 50_000, made: 400 }, far = { bytes: 120_000, made: 1200 };
  const count = Number((await text(page, "#position")).split(" ")[0].replaceAll(",", ""));
  const position = (here) => ({ wait: (wanted) => document.getElementById("position").textContent.startsWith(wanted + " of"), value: here.toLocaleString("en") });
  await timed("one step on, 200 processes, 100,000 steps", () => page.keyboard.press("1"), position(count + 1), near);
  await timed("one step back", () => page.keyboard.press("k"), position(count), near);
  await timed("to the start", () => page.keyboard.press("g"), position(0), far);
  await timed("to the end", () => page.keyboard.press("G"), position(count + 1), far);
  // The address is short, and leads back here; a link that is copied has all of the path.
  assert.ok(page.url().length < 300, page.url().slice(0, 300));
  await page.reload();
  await at(page, `${(count + 1).toLocaleString("en")} of ${(count + 1).toLocaleString("en")}`);
  await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
  await press(page, ["y"]);
  await page.waitForFunction(() => window.copied?.length > 100_000);
  const rows = await page.locator("#rows .row").count();
  assert.ok(rows < 100, `${rows} rows in the document`);
  await page.evaluate(() => { document.getElementById("scroll").scrollTop = 1_500_000; });
  await page.locator("#rows .row .cell").first().waitFor();
  await picture(page, "crowd");
  await page.close();
}

try {
  for (const scenario of [keyboardOnly, history, byHand, checks, pictures, reloads, otherReaders, failingTest, hostile, crowd]) {
    await scenario();
    console.log(`ok ${scenario.name}`);
  }
  for (const [name, time] of timings) console.log(`${time.toFixed(0).padStart(6)} ms  ${name}`);
  assert.deepEqual(problems, []);
  const late = timings.filter(([, time]) => time > 800);
  assert.deepEqual(late, []);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
