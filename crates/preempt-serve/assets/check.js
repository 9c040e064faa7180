// Checks: asked for in a dialog, shown beside the state while they run and afterwards.
import { $, button, grouped, make, many } from "./dom.js";
import { act, follow, redraw, session } from "./app.js";
import { ask, decode } from "./server.js";

const cards = new Map();

export function openChecks() {
  $("open-check").addEventListener("click", openDialog);
  $("check-close").addEventListener("click", () => $("check-dialog").close());
  $("check-form").addEventListener("submit", (event) => {
    event.preventDefault();
    act(start);
  });
}

export function openDialog() {
  $("check-problem").textContent = "";
  $("check-dialog").showModal();
}

export function showProperties() {
  const { properties = [], has_expressions } = session.info;
  $("property").replaceChildren(...properties.map(({ id, label }) => {
    const option = make("option", "", label);
    option.value = id;
    return option;
  }));
  $("formula-row").hidden = !has_expressions;
  $("open-check").disabled = !properties.length;
}

async function start() {
  const scope = new FormData($("check-form")).get("scope");
  const formula = $("formula").value.trim();
  const number = (id) => ($(id).value ? Number($(id).value) : null);
  const body = {
    model: session.model, property: $("property").value, formula: formula || null,
    bound: scope === "bound" ? number("bound") : null, iterate: scope === "iterate",
    fair: $("fair").checked, seconds: number("seconds"), memory: number("megabytes"),
  };
  try {
    const { check } = await ask("check", body);
    const label = formula || $("property").selectedOptions[0]?.textContent || "";
    const words = { all: "", bound: `, at most ${many(body.bound ?? 0, "preemption")}`, iterate: ", by preemptions" };
    card(check, label + words[scope]);
    $("check-dialog").close();
  } catch (error) {
    $("check-problem").textContent = error.message;
  }
}

/** A check on the page; events may come before the answer that names it. */
function card(id, label) {
  let known = cards.get(id);
  if (!known) {
    const box = make("div", "check");
    box.setAttribute("role", "group");
    known = { box, title: make("h3"), status: make("p", "progress"), bar: make("progress"), end: make("div", "ended") };
    known.status.setAttribute("role", "status");
    known.bar.setAttribute("aria-label", "Part of a limit that is used up");
    known.bar.max = 1;
    known.cancel = button("Cancel", () => act(() => ask("cancel", { check: id })), "small");
    known.status.textContent = "running";
    box.append(known.title, known.status, known.bar, known.cancel, known.end);
    cards.set(id, known);
    $("checks").prepend(box);
    while ($("checks").children.length > 6) $("checks").lastChild.remove();
  }
  if (label) {
    known.title.textContent = label;
    known.box.setAttribute("aria-label", `Check: ${label}`);
  }
  return known;
}

export function checkEvent(event) {
  if (event.event === "progress") progress(card(event.check), event.progress);
  if (event.event === "checked") done(card(event.check), event);
}

function progress(known, at) {
  if (at.found) known.found = true;
  const words = [];
  if (known.found || at.simplifying) words.push("violated; looking for a simpler counterexample");
  if (at.states !== undefined) {
    words.push(many(at.states, "state"), `${grouped(at.rate)}/s`, `depth ${grouped(at.depth)}`, `${grouped(at.memory / 2 ** 20)} MB${at.memory_limit ? ` of ${grouped(at.memory_limit / 2 ** 20)}` : ""}`);
  }
  if (at.method) words.push(`${at.method}: ${many(at.switches, "switch").replace("switchs", "switches")}, ${grouped(at.size)} in memory`);
  words.push(`${at.seconds.toFixed(0)} s${at.seconds_left ? `, ${at.seconds_left.toFixed(0)} s left` : ""}`);
  known.status.textContent = words.join(" · ");
  const time = at.seconds_left === null || at.seconds_left === undefined ? 0 : at.seconds / (at.seconds + at.seconds_left);
  known.bar.value = Math.max(time, at.memory_limit ? at.memory / at.memory_limit : 0);
}

function done(known, event) {
  known.cancel.remove();
  known.bar.remove();
  known.status.textContent = `${event.seconds.toFixed(event.seconds < 10 ? 2 : 0)} s`;
  if (event.results.problem) {
    known.end.append(make("p", "problem", event.results.problem));
    return;
  }
  for (const claim of event.results.claims) known.end.append(verdict(claim, event));
}

function verdict(claim, event) {
  const box = make("div", "claim");
  box.dataset.verdict = claim.verdict;
  const names = { holds: "holds", holds_within_bound: `holds within ${claim.bound}`, violated: "violated", inconclusive: "inconclusive", nothing: "nothing to check" };
  box.append(make("span", "verdict", names[claim.verdict]), make("p", "", claim.sentence));
  const { violation } = claim;
  if (violation) {
    box.append(button("Open the counterexample", () => act(() => openTrace(violation, event)), "strong"));
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

async function openTrace(violation, event) {
  if (event.model !== session.model || event.version !== session.info.version) throw new Error("The model changed since this check: check it again.");
  session.trace = { path: violation.path, cycle: violation.cycle, length: decode(violation.path).length };
  await follow(violation.path);
  redraw();
}
