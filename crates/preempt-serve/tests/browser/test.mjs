// Uses the page as people do: walks Peterson by the keyboard, finds the bug of the version without turn,
// checks, cancels, reloads, in the dark, on a narrow screen; takes pictures.
//
//   node test.mjs CHROMIUM URL FOLDER PAGE
//
// FOLDER holds the models that are served; pictures go there too. PAGE is what a failing Rust test left behind.
// With PREEMPT_SLOW=200 every answer of the server comes 200 ms late, as on a machine with much to do: actions
// then begin while others are under way.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "../../../preempt-report/tests/browser/node_modules/playwright-core/index.mjs";

const [executablePath, url, folder, failed] = process.argv.slice(2);
const [PETERSON, NO_TURN, PROTOCOL, TRAFFIC, SLOW, EVIL, CROWD, BLUETOOTH, FAILED, SHOP, GATE] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
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
const late = Number(process.env.PREEMPT_SLOW ?? 0);
const problems = [];
const timings = [];

async function open(model, path = "", options = {}) {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(`${model}: ${error.stack}`));
  page.on("console", (message) => { if (message.type() === "error") problems.push(`${model}: ${message.text()} ${message.location().url}`); });
  page.on("request", (request) => { if (!request.url().startsWith(url) && !request.url().startsWith("data:")) problems.push(`${model} loads ${request.url()}`); });
  page.on("dialog", (dialog) => { problems.push(`${model}: dialog ${dialog.message()}`); dialog.dismiss(); });
  page.setDefaultTimeout(20_000);
  const delay = options.late ?? late;
  if (delay) await page.route((address) => /\/api\/(?!events)/.test(address.pathname), (route) => setTimeout(() => route.continue().catch(() => {}), delay));
  if (options.colorScheme) await page.emulateMedia(options);
  if (options.viewport) await page.setViewportSize(options.viewport);
  await page.goto(`${url}#model=${model}&path=${path}`);
  await page.locator("#position").filter({ hasText: /of/ }).waitFor();
  return page;
}

const picture = (page, name) => page.screenshot({ path: join(folder, name + ".png") });
const text = (page, selector) => page.locator(selector).first().innerText();
const at = (page, position) => page.waitForFunction((wanted) => document.getElementById("position").textContent === wanted, position);
const variable = (page, name) => page.locator("#variables tr", { has: page.locator("th", { hasText: new RegExp(`^${name}$`) }) }).first().locator("td.value").innerText();

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
  await press(page, ["u"]);
  await page.keyboard.type("inside == 1");
  await press(page, ["Enter"], "4 of 4");
  assert.match(await text(page, "#notice"), /The condition holds here/);
  assert.match(await text(page, ".row.here .watched"), /^1$/);
  await press(page, ["u"]);
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

/** The drawing beside a model follows its variables, here and in the page that is taken along. */
async function drawn() {
  const page = await open(TRAFFIC);
  const lamp = (where, at) => where.locator("#drawing .lamp, #drawing-scroll .lamp").nth(at).getAttribute("class");
  const words = (where) => where.locator("#drawing tspan, #drawing-scroll tspan").allTextContents();
  await page.locator("#tab-drawing").click();
  assert.deepEqual(await words(page), ["red", "red"]);
  assert.equal(await lamp(page, 0), "lamp stop");
  assert.equal(await lamp(page, 1), "lamp");
  const car = page.locator("#drawing .car").first();
  assert.equal(await car.isVisible(), false);
  // The north asks, and gets its green light.
  await page.locator("#condition").fill("north == green");
  await page.locator("#condition").press("Enter");
  await page.waitForFunction(() => document.getElementById("drawing").firstChild.shadowRoot.querySelector("tspan").textContent === "green");
  assert.deepEqual(await words(page), ["green", "red"]);
  assert.equal(await lamp(page, 1), "lamp go");
  assert.equal(await car.isVisible(), true);
  assert.equal(await page.locator("#drawing svg > g").first().getAttribute("transform"), "translate(0 60)");
  await picture(page, "serve-drawing");
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "drawing-dark");
  await page.emulateMedia({ colorScheme: "light" });
  // The page that is taken along has it, too.
  const taken = page.waitForEvent("download");
  await press(page, ["e"]);
  await page.locator("#export-list button").first().click();
  const file = join(folder, "drawn.html");
  await (await taken).saveAs(file);
  const report = await context.newPage();
  report.on("pageerror", (error) => problems.push(`drawn: ${error.stack}`));
  report.on("console", (message) => { if (message.type() === "error") problems.push(`drawn: ${message.text()}`); });
  await report.goto("file://" + file);
  await report.locator("#tab-drawing").click();
  assert.deepEqual(await words(report), ["green", "red"]);
  await report.keyboard.press("g");
  assert.deepEqual(await words(report), ["red", "red"]);
  assert.equal(await lamp(report, 0), "lamp stop");
  await picture(report, "drawn-page");
  await report.close();
  // It is read again when it changes, and says what is wrong with it.
  const drawing = join(folder, "traffic_light.drawing.svg"), before = readFileSync(drawing, "utf8");
  writeFileSync(drawing, before.replace('data-text="east"', 'data-text="east + nothing"'));
  await page.locator("#drawing-problems", { hasText: "`nothing` is not declared" }).waitFor();
  writeFileSync(drawing, before.replace("<title>", "<script>hacked=1</script><title>"));
  await page.locator("#drawing-problems", { hasText: "no `script`" }).waitFor();
  unlinkSync(drawing);
  await page.locator("#tab-drawing").waitFor({ state: "hidden" });
  assert.equal(await page.locator("#tab-lanes").getAttribute("aria-selected"), "true");
  writeFileSync(drawing, before);
  await page.locator("#tab-drawing").waitFor();
  await page.close();
}

/** How to search: options with their meanings, what does not go together, and what was chosen on the card. */
async function options() {
  const page = await open(NO_TURN);
  await press(page, ["c"]);
  await page.locator("#options-box summary").click();
  assert.deepEqual(await page.locator("#options code").allInnerTexts(), ["--first", "--store"]);
  assert.equal(await page.locator("#options .soft").first().innerText(), "What --first means");
  await page.locator("[data-option='--store']").selectOption("exact");
  await page.locator("#check-form button.strong").click();
  await page.locator("#check-problem", { hasText: "--store=exact is not understood" }).waitFor();
  // A browser logs every refusal.
  assert.match(problems.pop(), /status of 400/);
  await picture(page, "serve-options");
  await page.locator("[data-option='--store']").selectOption("tree");
  await page.locator("[data-option='--first']").check();
  await page.locator("#check-form button.strong").click();
  await page.locator(".check h3").filter({ hasText: /, --first, --store tree$/ }).waitFor();
  await page.locator(".check", { hasText: "--store tree" }).locator(".claim[data-verdict=violated]").waitFor();
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
  // Why each of them waits, since when, and for whom.
  const waits = await page.locator(".process").allInnerTexts();
  assert.match(waits[0], /process\(0\)[\s\S]*waits since step 1[\s\S]*!wants\[other\]` is false: other is 1, wants\[1\] is 1[\s\S]*only process\(1\) could change that/);
  assert.match(waits[1], /waits since step 2[\s\S]*only process\(0\) could change that/);
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
  const begun = performance.now();
  await many.locator("#tab-graph").click();
  await many.locator("#graph .node.here").waitFor();
  const drawing = performance.now() - begun;
  console.log(`${drawing.toFixed(0).padStart(6)} ms  graph of 200 processes`);
  assert.match(await text(many, "#graph .bar"), /there are more/);
  // Its labels would cover each other: those of the state that has the focus are shown.
  const labels = () => many.locator("#graph svg.dense text.on:visible").count();
  assert.equal(await labels(), 0);
  await many.locator("#graph .node.here").focus();
  assert.ok((await labels()) > 3);
  const drawn = () => many.locator("#graph svg.picture").evaluate((svg) => svg.getBoundingClientRect().width);
  const full = await drawn();
  await many.locator("#graph button", { hasText: "⤢" }).click();
  const whole = await drawn();
  assert.ok(whole < full / 2, `${full} becomes ${whole}`);
  await many.locator("#graph button", { hasText: "+" }).click();
  assert.ok((await drawn()) > whole);
  // The wheel with Ctrl, and dragging.
  const before = await drawn(), sheet = await many.locator("#graph .scroll").boundingBox();
  await many.mouse.move(sheet.x + sheet.width / 2, sheet.y + sheet.height - 40);
  await many.keyboard.down("Control");
  for (let turn = 0; turn < 12; turn++) await many.mouse.wheel(0, -100);
  await many.keyboard.up("Control");
  await many.waitForFunction((least) => document.querySelector("#graph svg.picture").getBoundingClientRect().width > least, before * 5);
  const place = () => many.locator("#graph .scroll").evaluate((box) => [box.scrollLeft, box.scrollTop]);
  const [left] = await place();
  await many.mouse.down();
  await many.mouse.move(sheet.x + sheet.width / 2 - 120, sheet.y + sheet.height - 40, { steps: 4 });
  await many.mouse.up();
  assert.equal((await place())[0], left + 120);
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
  for (const width of [800, 390]) {
    const shop = await open(SHOP, "00", { viewport: { width, height: 900 } });
    const wide = await shop.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${width}: ${wide} pixels too wide`);
    await shop.locator("#source button", { hasText: "Edit" }).click();
    const edited = await shop.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(edited <= 0, `${width}, with the text: ${edited} pixels too wide`);
    await shop.screenshot({ path: join(folder, `serve-${width}.png`), fullPage: true });
    await shop.close();
  }
  // 200 processes of which two have moved, and a row that is opened.
  const crowd = await open(CROWD, "00");
  assert.match(await text(crowd, "#everyone"), /^\d+ of 200 processes move here: show all$/);
  assert.ok(await crowd.locator("#names .name").count() < 6);
  await crowd.keyboard.press("o");
  await crowd.locator(".row.here.opened").waitFor();
  await crowd.locator(".row.here .cell").click();
  assert.equal(await crowd.locator(".row.opened").count(), 0);
  await crowd.locator("#everyone").click();
  await crowd.waitForFunction(() => document.querySelectorAll("#names .name").length > 200);
  await crowd.close();
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
  const waits = /waits since step \d+[\s\S]*\.lock at [\s\S]*failing\.rs:\d+:\d+: held by .*, taken at .*failing\.rs:\d+[\s\S]*could change that/;
  for (const text of await waiting.allInnerTexts()) assert.match(text, waits);
  await picture(report, "test-deadlock");
  await report.close();
  const page = await open(FAILED);
  assert.equal(await text(page, "#kind"), "saved execution");
  assert.match(await text(page, "#source"), /Two transfers take the locks/);
  // It opens at its end, violated, and offers nothing that was not recorded.
  await page.locator(".verdict-line.bad").first().waitFor();
  assert.match(await text(page, ".verdict-line.bad"), /deadlock/i);
  assert.match(await text(page, "#cost"), /1 preemption /);
  assert.equal(await page.locator(".process .reason").filter({ hasText: /held by .*, taken at/ }).count(), 2);
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

const property = (page, label) => page.locator("#properties li", { hasText: label });

/** A graph with a limit of its own: it says how far it is, and is cancelled at once, on the server as well. */
async function longGraph() {
  const page = await open(SLOW);
  await page.locator("#tab-graph").click();
  await page.locator("#graph svg").waitFor();
  await page.locator("#graph summary").click();
  await page.locator("#graph .merge label", { hasText: /^a$/ }).locator("input").check();
  await page.locator("#graph span", { hasText: /groups? of/ }).waitFor();
  await page.locator("#graph input[type=number]").evaluate((field) => { field.value = "40"; field.dispatchEvent(new Event("change")); });
  await page.locator("#graph span", { hasText: /groups? of/ }).waitFor();
  await page.getByLabel("How long states are looked for").selectOption("60");
  await page.locator(".waiting-graph span", { hasText: /states looked at, \d+ to be drawn/ }).waitFor();
  const begun = performance.now();
  await page.locator(".waiting-graph button", { hasText: "Cancel" }).click();
  await page.locator("#graph span", { hasText: "cancelled, there are more" }).waitFor();
  timings.push(["a graph is cancelled", performance.now() - begun]);
  assert.equal(await page.locator(".waiting-graph").count(), 0);
  assert.equal(await page.getByLabel("How long states are looked for").inputValue(), "60");
  // The picture is taken along as it looks.
  await page.getByLabel("How long states are looked for").selectOption("0.3");
  await page.locator("#graph span", { hasText: /groups? of/ }).waitFor();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.locator("#graph button", { hasText: "SVG" }).click()]);
  assert.equal(saved.suggestedFilename(), "slow.graph.svg");
  assert.match(readFileSync(await saved.path(), "utf8"), /^<svg [\s\S]*fill: rgb/);
  // The model is not held up meanwhile.
  await page.getByLabel("How long states are looked for").selectOption("3");
  const other = await open(SLOW);
  await press(other, ["1"], "1 of 1");
  await other.close();
  await page.close();
}

/** The list of properties: one button for all, results that stay, coverage in the source. */
async function properties() {
  const page = await open(SHOP);
  const names = await page.locator("#properties .property-name").allInnerTexts();
  assert.equal(names.length, 5, names.join());
  assert.match(await property(page, "ltl small").innerText(), /not checked/);
  assert.equal(await page.locator(".coverage-bar:not([hidden])").count(), 0);
  await page.locator("#check-all").click();
  await page.waitForFunction(() => [...document.querySelectorAll("#properties li")].every((item) => !["unknown", "running"].includes(item.dataset.verdict)));
  assert.equal(await text(page, "#check-all"), "Check all");
  assert.equal(await property(page, "ltl small").getAttribute("data-verdict"), "violated");
  assert.match(await property(page, "ltl small").innerText(), /✗[\s\S]*violated, (\d+\.\d\d s|less than 10 ms)/);
  assert.match(await property(page, "ltl sold").innerText(), /✓[\s\S]*holds, /);
  assert.equal(await property(page, "assertions").getAttribute("data-verdict"), "holds");
  // Which lines are reached at all.
  assert.match(await text(page, ".coverage-bar"), /coverage: \d+ of \d+ lines/);
  const unreached = await page.locator(".code-line.unreached").allInnerTexts();
  assert.ok(unreached.some((line) => line.includes("seats = 99")), unreached.join("|"));
  assert.ok(!unreached.some((line) => line.includes("sold++")), unreached.join("|"));
  assert.ok(await page.locator(".code-line.reached").count() >= 4);
  await picture(page, "serve-properties");
  await page.locator(".coverage-bar input").uncheck();
  assert.equal(await page.locator(".code-line.unreached").count(), 0);
  // Elsewhere, and back; in another tab; after a reload.
  await page.locator("#models").selectOption(String(PETERSON));
  await page.locator("#name").filter({ hasText: "peterson.pml" }).waitFor();
  assert.equal(await page.locator("#checks .check").count(), 0);
  await page.locator("#models").selectOption(String(SHOP));
  await page.locator("#name").filter({ hasText: "shop.pml" }).waitFor();
  await page.reload();
  const other = await open(SHOP);
  for (const each of [page, other]) {
    await each.locator("#properties li[data-verdict=violated]").waitFor();
    assert.equal(await property(each, "ltl sold").getAttribute("data-verdict"), "holds");
    assert.equal(await each.locator("#checks .check").count(), 5);
  }
  // A check that is begun in one tab is seen in the other.
  await property(page, "ltl small").locator("button").click();
  await other.waitForFunction(() => document.querySelectorAll("#checks .check").length === 6);
  await other.locator(".check", { hasText: "ltl small" }).first().locator("button", { hasText: "Open the counterexample" }).click();
  await other.waitForFunction(() => /^[1-9]\d* of/.test(document.getElementById("position").textContent));
  await other.close();
  await page.close();
}

/** A Boolean program: watches, conditions, what steps read, who waits, coverage, editing. */
async function booleanProgram() {
  // Watches are typed faster than the server answers: none may get lost.
  const page = await open(GATE, "", { late: Math.max(late, 100) });
  await press(page, ["w"]);
  await page.keyboard.type("opened & visitor_1.seen");
  await press(page, ["Enter"]);
  await page.keyboard.type("keeper@Open");
  await press(page, ["Enter"]);
  await page.keyboard.type("opened & nothing");
  await press(page, ["Enter", "Escape"]);
  await page.locator("#watches", { hasText: "the variable `nothing` is not declared" }).waitFor();
  await press(page, ["u"]);
  assert.match(await page.locator("#condition").getAttribute("placeholder"), /t@Label/);
  await page.keyboard.type("keeper@Open");
  await press(page, ["Enter"]);
  await page.locator("#notice", { hasText: "The condition holds here" }).waitFor();
  assert.match(await text(page, "#watches"), /keeper@Open[\s\S]*1/);
  // A visitor comes to the closed gate, and waits there for the keeper.
  await page.locator(".step-choice", { hasText: "seen := F" }).first().click();
  await page.locator("#steps", { hasText: "could change that" }).waitFor();
  assert.match(await text(page, "#steps"), /visitor_1[\s\S]*opened is false: opened is F[\s\S]*only keeper could change that/);
  assert.ok(await page.locator(".code-line.at .mark b.waits").count() > 0, "positions in the margin");
  await page.locator("#condition").fill("visitor_1.seen & visitor_2.seen");
  await page.locator("#until button").first().click();
  await page.locator("#notice", { hasText: "The condition holds here" }).waitFor();
  assert.match(await text(page, "#rows"), /opened: T/, "what a step has read");
  await page.locator("#check-all").click();
  await page.locator("#properties li[data-verdict=holds]").waitFor();
  await page.locator(".coverage-bar", { hasText: /coverage: \d+ of \d+ lines/ }).waitFor();
  const unreached = await page.locator(".code-line.unreached").allInnerTexts();
  assert.deepEqual(unreached.map((line) => line.trim().split(/\s+/).slice(1).join(" ")), ["lost := T;"]);
  await picture(page, "serve-boolean");
  await page.close();
}

/** Variables: filtered, pinned, hidden, and so again after a reload. */
async function variables() {
  const page = await open(SHOP);
  const names = () => page.locator("#variables th[scope=row]").allInnerTexts();
  assert.deepEqual(await names(), ["seats", "sold", "waiting", "seen", "seen"]);
  await page.locator("#filter").fill("SE");
  await page.waitForFunction(() => document.querySelectorAll("#variables th[scope=row]").length === 3);
  assert.deepEqual(await names(), ["seats", "seen", "seen"]);
  await page.locator("#filter").fill("");
  // What can be done with a row comes when it is pointed at, or has the focus.
  await page.locator("#variables tr[data-name='buyer(1):seen']").hover();
  await page.getByLabel("Show first: buyer(1):seen").click();
  await page.locator("#variables tr[data-name=seats] th").focus();
  await page.getByLabel("Hide: seats").click();
  await page.waitForFunction(() => document.querySelectorAll("#variables th[scope=row]").length === 4);
  assert.deepEqual(await names(), ["buyer(1):seen", "sold", "waiting", "seen"]);
  await page.reload();
  await page.locator("#position").filter({ hasText: /of/ }).waitFor();
  assert.deepEqual(await names(), ["buyer(1):seen", "sold", "waiting", "seen"]);
  await page.locator("button", { hasText: "1 hidden variable: show" }).click();
  await page.getByLabel("Show again: seats").click();
  await page.getByLabel("No longer first: buyer(1):seen").click();
  await page.waitForFunction(() => document.querySelector("#variables th[scope=row]").textContent === "seats");
  assert.deepEqual(await names(), ["seats", "sold", "waiting", "seen", "seen"]);
  await page.close();
}

/** The execution as files. */
async function exports() {
  const page = await open(SHOP);
  await press(page, ["1", "1"], "2 of 2");
  const forms = [
    ["page", "shop.html", /^<!doctype html>/], ["trace", "shop.trace.json", /"format"/], ["report", "shop.report.json", /"schema"/],
    ["chart", "shop.svg", /^<svg/], ["trail", "shop.trail", /^-4:-4:-4/m],
  ];
  for (const [form, name, content] of forms) {
    await press(page, ["e"]);
    const waiting = page.waitForEvent("download");
    await page.locator(`#export-list [data-form=${form}]`).click();
    const download = await waiting;
    assert.equal(download.suggestedFilename(), name);
    assert.match(readFileSync(await download.path(), "utf8"), content);
    await page.locator("#export-dialog:not([open])").waitFor({ state: "attached" });
  }
  await page.close();
  // A Boolean program has no trail.
  const program = await open(BLUETOOTH);
  await program.locator("#export").click();
  assert.equal(await program.locator("#export-list li:visible").count(), 4);
  await program.close();
}

/** The text, changed on the page: tried, wrong, right, saved. */
async function editing() {
  const page = await open(SHOP);
  const file = join(folder, "shop.pml"), before = readFileSync(file, "utf8");
  await press(page, ["1", "1"], "2 of 2");
  await page.locator("#source button", { hasText: "Edit" }).click();
  const area = page.getByLabel("Text of the model");
  assert.equal(await area.inputValue(), before);
  // A mistake: the text stays, its line is marked and selected.
  const wrong = before.replace("sold++", "sold + ;");
  await area.fill(wrong);
  assert.match(await text(page, ".edit-status"), /not saved/);
  await page.keyboard.press("Control+Enter");
  await page.locator("#notice", { hasText: "The text has errors: it is kept as it is." }).waitFor();
  assert.equal(await area.inputValue(), wrong);
  assert.ok((await page.locator("#checks h3").allInnerTexts()).some((title) => title === "ltl small: [] (sold < 2)"), "checks keep their names");
  assert.ok(await page.locator("#checks .stale button.strong").first().isDisabled());
  assert.match(await text(page, ".gutter .bad"), /✗ \d+/);
  const line = Number((await text(page, ".gutter .bad")).match(/\d+/)[0]);
  assert.match(wrong.split("\n")[line - 1], /sold \+ ;/);
  await page.waitForFunction((wanted) => { const area = document.querySelector(".editor textarea"); return area.value.slice(area.selectionStart, area.selectionEnd) === wanted; }, wrong.split("\n")[line - 1]);
  await picture(page, "serve-edit");
  // Mended, and what was checked before is checked again; the file is as it was.
  const better = before.replace("seats > 0 -> seen = seats; seats--", "atomic { seats > 0 -> seats-- }");
  await area.fill(better);
  await page.locator(".editor button", { hasText: "Check" }).click();
  await page.waitForFunction(() => document.querySelector("#properties li[data-verdict=holds]") && ![...document.querySelectorAll("#properties li")].some((item) => item.dataset.verdict === "running"));
  await property(page, "ltl small").and(page.locator("[data-verdict=holds]")).waitFor();
  assert.equal(readFileSync(file, "utf8"), before);
  // Saved: the file holds it, the editor closes.
  await area.focus();
  await page.keyboard.press("Control+S");
  await page.locator("#source button", { hasText: "Edit" }).waitFor();
  assert.equal(readFileSync(file, "utf8"), better);
  // Begun and discarded.
  await page.locator("#source button", { hasText: "Edit" }).click();
  await area.fill("nonsense");
  await page.locator(".editor button", { hasText: "Discard" }).click();
  await page.locator("#source button", { hasText: "Edit" }).waitFor();
  assert.equal(readFileSync(file, "utf8"), better);
  // Gone, and back.
  unlinkSync(file);
  await page.locator("#notice", { hasText: "The file is gone: it was deleted or renamed." }).waitFor();
  assert.match(await text(page, ".mistakes"), /is gone/);
  writeFileSync(file, before);
  await page.locator("#notice", { hasText: /The file changed; the path/ }).waitFor();
  await page.close();
}

try {
  for (const scenario of [keyboardOnly, history, byHand, drawn, checks, properties, booleanProgram, variables, exports, editing, pictures, longGraph, reloads, otherReaders, failingTest, hostile, options, crowd]) {
    await scenario();
    console.log(`ok ${scenario.name}`);
  }
  for (const [name, time] of timings) console.log(`${time.toFixed(0).padStart(6)} ms  ${name}`);
  assert.deepEqual(problems, []);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
