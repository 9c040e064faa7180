// Checks: the list of properties with what is known of each, a dialog for everything else, and a card for each check. What a
// check has found stays: the server keeps it for pages that are opened or come back later.
import { $, button, grouped, make, many } from "./dom.js";
import { act, follow, redraw, session } from "./app.js";
import { ask, decode } from "./server.js";

// The cards of this model, and the properties that are still to be checked.
const cards = new Map();
let queue = [];

export function openChecks() {
  $("open-check").addEventListener("click", openDialog);
  $("check-close").addEventListener("click", () => $("check-dialog").close());
  $("check-all").addEventListener("click", () => act(queue.length ? stopAll : checkAll));
  $("check-form").addEventListener("submit", (event) => {
    event.preventDefault();
    act(start);
  });
}

/** The options of a search, as the command has them, each with what it means. */
export function offerOptions(list) {
  $("options-box").hidden = !list?.length;
  $("options").replaceChildren(...(list ?? []).map(({ name, about, values, value_name }) => {
    const row = make("label", "option"), words = make("span", "soft", about);
    let field = make("input");
    if (values.length) {
      field = make("select");
      for (const value of ["", ...values]) {
        const option = make("option", "", value || "by itself");
        option.value = value;
        field.append(option);
      }
    } else if (value_name) {
      field.placeholder = value_name;
      field.autocomplete = "off";
    } else {
      field.type = "checkbox";
    }
    field.dataset.option = name;
    row.append(make("code", "", name), field, words);
    return row;
  }));
}

/** Those that were chosen, with their values. */
function chosenOptions() {
  const fields = [...document.querySelectorAll("#options [data-option]")];
  const value = (field) => (field.type === "checkbox" ? field.checked || null : field.value.trim() || null);
  const chosen = fields.map((field) => [field.dataset.option, value(field)]).filter(([, known]) => known !== null);
  return chosen.map(([name, known]) => [name, known === true ? null : known]);
}

export function openDialog() {
  $("check-problem").textContent = "";
  $("check-dialog").showModal();
}

/** The properties of the model, and all that is known of them. */
export function showProperties() {
  const { properties = [], has_formulas, is_launched, results = [], running = [] } = session.info;
  $("property").replaceChildren(...properties.map(({ id, label }) => {
    const option = make("option", "", label);
    option.value = id;
    return option;
  }));
  $("formula-row").hidden = !has_formulas;
  for (const id of ["options-box", "fair-row", "iterate-row", "memory-row"]) $(id).classList.toggle("for-models", Boolean(is_launched));
  $("run-words").hidden = !is_launched;
  $("open-check").disabled = !properties.length;
  cards.clear();
  queue = [];
  $("checks").replaceChildren();
  for (const event of results) done(card(event.check, event.asked), event);
  for (const { check, asked } of running) card(check, asked);
  listProperties();
}

const isRunning = ({ status }) => status.isConnected && !status.dataset.over;
const GLYPHS = { holds: "✓", holds_within_bound: "✓", violated: "✗", inconclusive: "?", nothing: "?" };
const NAMES = { holds: "holds", violated: "violated", inconclusive: "inconclusive", nothing: "nothing to check" };
const verdictName = ({ verdict, bound }) => (verdict === "holds_within_bound" ? `holds within ${bound}` : NAMES[verdict]);
// Of several claims the worst one counts.
const ORDER = ["violated", "inconclusive", "nothing", "holds_within_bound", "holds"];

/** The newest result about a property of the model as it is now. */
function known(id) {
  const { results = [], version } = session.info;
  return results.findLast((event) => event.asked.property === id && !event.asked.formula && event.version === version);
}

function listProperties() {
  const { properties = [] } = session.info;
  $("properties-box").hidden = !properties.length;
  $("check-all").textContent = queue.length ? "Stop" : session.info.is_launched ? "Run all" : "Check all";
  $("properties").replaceChildren(...properties.map(({ id, label, command }) => {
    const item = make("li");
    const runs = [...cards.values()].some((one) => one.asked?.property === id && !one.asked.formula && isRunning(one));
    const event = known(id);
    const claims = event?.results.claims ?? [];
    const worst = ORDER.map((name) => claims.find((claim) => claim.verdict === name)).find(Boolean);
    let [glyph, words] = ["·", "not checked"];
    if (worst) [glyph, words] = [GLYPHS[worst.verdict], `${verdictName(worst)}, ${seconds(event)}`];
    if (event?.results.problem) [glyph, words] = ["?", event.results.problem];
    if (queue.includes(id)) [glyph, words] = ["…", "waits for its turn"];
    if (runs) [glyph, words] = ["…", "running"];
    item.dataset.verdict = runs ? "running" : worst?.verdict ?? "unknown";
    item.append(make("span", "glyph", glyph), make("span", "property-name", label), make("small", "soft", words));
    if (command) item.append(make("code", "command", command));
    const again = button(event ? "again" : command ? "run" : "check", () => act(() => startOne(id)), "small");
    again.setAttribute("aria-label", `${command ? "Run" : "Check"}: ${label}`);
    if (command) again.title = `Compiles and runs it: ${command}`;
    again.disabled = runs;
    item.append(again);
    return item;
  }));
}

const number = (id) => ($(id).value ? Number($(id).value) : null);
const limits = () => ({ seconds: number("seconds"), memory: session.info.is_launched ? null : number("megabytes") });

const startOne = (id) => ask("check", { model: session.model, property: id, ...limits() });

async function checkAll() {
  queue = (session.info.properties ?? []).map(({ id }) => id);
  await next();
}

async function stopAll() {
  queue = [];
  for (const [check, one] of cards) if (isRunning(one)) await ask("cancel", { check });
  listProperties();
}

/** Begins with the next property of those that are to be checked. */
async function next() {
  const id = queue.shift();
  if (id !== undefined) await startOne(id);
  listProperties();
}

/** Checks again what was checked before, or everything: the text has changed. */
export async function checkAgain(before) {
  const ids = new Set(before.filter(({ asked }) => !asked.formula).map(({ asked }) => asked.property));
  queue = (session.info.properties ?? []).map(({ id }) => id).filter((id) => !ids.size || ids.has(id));
  await next();
}

async function start() {
  const { is_launched, has_formulas } = session.info;
  const scope = new FormData($("check-form")).get("scope");
  const formula = $("formula").value.trim();
  const body = {
    model: session.model, property: $("property").value, formula: formula || null,
    bound: scope === "bound" ? number("bound") : null, iterate: scope === "iterate",
    fair: $("fair").checked && has_formulas, options: is_launched ? [] : chosenOptions(), ...limits(),
  };
  try {
    await ask("check", body);
    $("check-dialog").close();
  } catch (error) {
    $("check-problem").textContent = error.message;
  }
}

function labelOf({ label, formula, bound, iterate, fair, options = [] }) {
  const scope = bound !== null ? `, at most ${many(bound, "preemption")}` : iterate ? ", by preemptions" : "";
  return [(formula ?? label) + scope + (fair ? ", fair" : ""), ...options].join(", ");
}

/** A check on the page; events may come before the answer that names it. */
function card(id, asked) {
  let one = cards.get(id);
  if (!one) {
    const box = make("div", "check");
    box.setAttribute("role", "group");
    one = { box, title: make("h3"), status: make("p", "progress"), bar: make("progress"), end: make("div", "ended") };
    one.status.setAttribute("role", "status");
    one.bar.setAttribute("aria-label", "Part of a limit that is used up");
    one.bar.max = 1;
    one.cancel = button("Cancel", () => act(() => ask("cancel", { check: id })), "small");
    one.status.textContent = "running";
    box.append(one.title, one.status, one.bar, one.cancel, one.end);
    cards.set(id, one);
    $("checks").prepend(box);
    while ($("checks").children.length > 6) $("checks").lastChild.remove();
  }
  if (asked) {
    one.asked = asked;
    one.title.textContent = labelOf(asked);
    one.box.setAttribute("aria-label", `Check: ${labelOf(asked)}`);
  }
  return one;
}

export function checkEvent(event) {
  // Of other models the server keeps what is found.
  if (event.model !== session.model || !session.info) return;
  if (event.event === "started") card(event.check, event.asked);
  if (event.event === "progress") progress(card(event.check), event.progress);
  if (event.event === "checked") {
    const results = (session.info.results ?? []).filter(({ check }) => check !== event.check);
    session.info.results = [...results, event];
    const one = card(event.check, event.asked);
    if (!one.status.dataset.over) done(one, event);
    if (queue.length) act(next);
    if (session.info.is_launched) act(learn);
    redraw();
  }
  if (event.event !== "progress") listProperties();
}

/** An execution that was found may have texts of its own. */
async function learn() {
  const { sources } = await ask("open", { model: session.model });
  if (sources.length === session.info.sources.length) return;
  session.info = { ...session.info, sources };
  redraw();
}

function progress(one, at) {
  if (at.found) one.found = true;
  const words = [];
  if (one.found || at.simplifying) words.push("violated; looking for a simpler counterexample");
  if (at.states !== undefined) {
    words.push(many(at.states, "state"), `${grouped(at.rate)}/s`, `depth ${grouped(at.depth)}`, `${grouped(at.memory / 2 ** 20)} MB${at.memory_limit ? ` of ${grouped(at.memory_limit / 2 ** 20)}` : ""}`);
  }
  if (at.method) words.push(`${at.method}: ${many(at.switches, "switch").replace("switchs", "switches")}, ${grouped(at.size)} in memory`);
  words.push(`${at.seconds.toFixed(0)} s${at.seconds_left ? `, ${at.seconds_left.toFixed(0)} s left` : ""}`);
  one.status.textContent = words.join(" · ");
  const time = at.seconds_left === null || at.seconds_left === undefined ? 0 : at.seconds / (at.seconds + at.seconds_left);
  one.bar.value = Math.max(time, at.memory_limit ? at.memory / at.memory_limit : 0);
}

const seconds = ({ seconds: time }) => (time < 0.01 ? "less than 10 ms" : `${time.toFixed(time < 10 ? 2 : 0)} s`);

function done(one, event) {
  one.cancel.remove();
  one.bar.remove();
  one.status.dataset.over = "yes";
  const stale = event.version !== session.info.version;
  one.box.classList.toggle("stale", stale);
  one.status.textContent = seconds(event) + (stale ? ", before the last change" : "");
  if (event.results.problem) {
    one.end.append(make("p", "problem", event.results.problem));
    return;
  }
  for (const claim of event.results.claims) one.end.append(verdict(claim, event));
}

function verdict(claim, event) {
  const box = make("div", "claim");
  box.dataset.verdict = claim.verdict;
  box.append(make("span", "verdict", verdictName(claim)), make("p", "", claim.sentence));
  const { violation } = claim;
  if (violation) {
    const show = button("Open the counterexample", () => act(() => openTrace(violation, event)), "strong");
    show.disabled = event.version !== session.info.version;
    if (show.disabled) show.title = "The model has changed since this check: check it again.";
    box.append(show);
    for (const reason of violation.reasons) box.append(make("p", "reason", reason));
    if (!violation.complete) box.append(make("p", "soft", "Not all of its steps were found again among those of this walk."));
  }
  if (claim.per_bound.length > 1) {
    const table = make("table", "bounds");
    const most = Math.max(...claim.per_bound.map((row) => row.states), 1);
    for (const row of claim.per_bound) {
      const line = table.insertRow();
      const bar = make("meter");
      bar.max = most;
      bar.value = row.states;
      line.insertCell().textContent = `≤ ${row.bound} ${claim.bound_unit}`;
      line.insertCell().append(bar);
      line.insertCell().textContent = `${many(row.states, "state")}, ${many(row.transitions, "transition")}${row.errors ? `, ${row.errors} ✗` : ""}`;
    }
    box.append(table);
  }
  if (claim.unreached.length) {
    const details = make("details");
    details.append(make("summary", "", `${many(claim.unreached.length, "statement")} never reached`));
    for (const { process, line, text } of claim.unreached.slice(0, 100)) details.append(make("div", "soft", `${process}:${line}  ${text}`));
    box.append(details);
  }
  for (const note of claim.notes) box.append(make("p", "soft", note));
  return box;
}

/** The lines that no execution reaches, from the newest check that has found out; nothing where there is none. */
export function unreachedLines() {
  const { results = [], version } = session.info;
  const claims = results.filter((event) => event.version === version).flatMap((event) => event.results.claims ?? []);
  const lines = claims.findLast(({ unreached_lines }) => unreached_lines)?.unreached_lines;
  return lines ? new Set(lines.map(([file, line]) => `${file}:${line}`)) : null;
}

async function openTrace(violation, event) {
  if (event.model !== session.model || event.version !== session.info.version) throw new Error("The model changed since this check: check it again.");
  session.trace = { path: violation.path, cycle: violation.cycle, length: decode(violation.path).length };
  await follow(violation.path);
  redraw();
}
