// Where we are, and how we get elsewhere. Everything on the page is drawn from `session`.
//
// `trail` is the path as a list of choices, `here` how many of its steps are taken. Stepping back keeps the
// trail, so that one can go forward again; another step than the trail's begins a branch, and the trail
// that was left is kept among `branches`.
import { $, make, many, grouped } from "./dom.js";
import { ask, askAt, common, decode, encode, listen, nameTrail } from "./server.js";
import { showSource } from "./source.js";
import { dropRows, knowsRows, openLanes, showLanes } from "./lanes.js";
import { openSteps, processesInView, showSteps } from "./steps.js";
import { openPreferences, openState, showState, variablesInView } from "./state.js";
import { checkEvent, offerOptions, openChecks, showProperties } from "./check.js";
import { openText } from "./edit.js";
import { openExport } from "./export.js";
import { graphEvent, showAutomata, showGraph } from "./pictures.js";
import { showChart } from "./chart.js";
import { hasDrawing, showDrawing } from "./drawn.js";
import { showCompare } from "./compare.js";
import { openKeys } from "./keys.js";

export const session = {
  model: 0, info: null, trail: [], here: 0, look: null, watches: [], breakpoints: new Map(),
  bookmarks: [], branches: [], trace: null, view: "lanes",
};
const VIEWS = ["lanes", "chart", "drawing", "graph", "automata", "compare"];
const MOST_BRANCHES = 12;

/** The path to the present state. */
export const choicesHere = () => session.trail.slice(0, session.here);

// Actions run one after the other, so that fast fingers mean what they say.
let chain = Promise.resolve();
export function act(action) {
  chain = chain.then(action).catch((error) => say(error.message, "bad"));
  return chain;
}

export function say(text, kind = "") {
  const notice = $("notice");
  notice.hidden = !text;
  notice.textContent = text;
  notice.dataset.kind = kind;
}

/** Goes to a point of the trail. Where that is may depend on the actions before: then it is a function. */
export const goTo = (where) => act(async () => {
  const here = typeof where === "function" ? where() : where;
  session.here = Math.max(0, Math.min(session.trail.length, here));
  await refresh();
});

export const goBy = (steps) => goTo(() => session.here + steps);
export const goToEnd = () => goTo(() => session.trail.length);

/** Takes one of the possible steps, or the one that is chosen when it is its turn; none if that is undefined. */
export const take = (which) => act(async () => {
  const choice = typeof which === "function" ? which() : which;
  if (choice === undefined) return;
  const { trail, here } = session;
  if (trail[here] !== choice) {
    leave(here);
    session.trail = [...trail.slice(0, here), choice];
    dropRows(here);
  }
  session.here = here + 1;
  await refresh();
});

/** Follows another path, as text or as choices; the one that is left can be found again. */
export async function follow(path, here) {
  const trail = Array.isArray(path) ? path : decode(path);
  const same = common(trail, session.trail);
  if (same < session.trail.length) leave(same);
  session.trail = trail;
  session.here = Math.min(here ?? trail.length, trail.length);
  dropRows(same);
  await refresh();
}

/** Keeps a trail that is about to be cut behind `at`, if there is something to lose. */
function leave(at) {
  const choices = session.trail;
  if (choices.length <= at) return;
  const rest = session.branches.filter((branch) => common(branch.choices, choices) < branch.choices.length);
  session.branches = [{ choices, at }, ...rest].slice(0, MOST_BRANCHES);
}

/** Asks for the present state and draws everything. */
export async function refresh() {
  say("");
  if (!session.info || !session.info.kind) return draw();
  const { here } = session;
  // Of rows that are on the page already, only those around the present one are asked for.
  const known = knowsRows(here - 50, Math.min(here + 50, session.trail.length) - 2);
  const look = await askAt("look", session.model, session.trail, {
    here, watches: session.watches, processes: processesInView(), variables: variablesInView(),
    ...(known ? { from: Math.max(0, here - 3), rows: 6 } : { rows: 120 }),
  });
  if (look.length < session.trail.length) {
    session.trail = session.trail.slice(0, look.length);
    session.here = Math.min(session.here, look.length);
    say(`The path could be followed for ${many(look.length, "step")} only.`, "warn");
  }
  session.look = look;
  nameTrail(session.model, look.trail, session.trail);
  draw();
}

function draw() {
  const { look, info } = session;
  $("name").textContent = info ? shortName(info.name) : "preempt";
  $("name").title = info ? info.name : "";
  document.title = info ? `${shortName(info.name)} · preempt` : "preempt";
  $("kind").textContent = info?.kind ?? "";
  if (!look) return;
  const { cost } = look;
  $("cost").textContent = `${many(cost.steps, "step")} · ${many(cost.preemptions, "preemption")} · ${many(cost.switches, "switch").replace("switchs", "switches")}`;
  $("position").textContent = `${grouped(session.here)} of ${grouped(session.trail.length)}`;
  for (const id of ["first", "back"]) $(id).disabled = session.here === 0;
  for (const id of ["forward", "last"]) $(id).disabled = session.here >= session.trail.length;
  showSource();
  showSteps();
  showState();
  showView();
  remember();
}

const shortName = (name) => name.split("/").pop();

function showView() {
  $("tab-drawing").hidden = !hasDrawing();
  if (session.view === "drawing" && !hasDrawing()) return choose("lanes");
  const draw = { lanes: showLanes, chart: showChart, drawing: showDrawing, graph: showGraph, automata: showAutomata, compare: showCompare };
  draw[session.view]();
}

export function choose(view) {
  session.view = view;
  for (const name of VIEWS) {
    $(name).hidden = name !== view;
    $("tab-" + name).setAttribute("aria-selected", String(name === view));
    $("tab-" + name).tabIndex = name === view ? 0 : -1;
  }
  if (session.look) act(async () => showView());
}

export function nextView(by = 1) {
  const views = VIEWS.filter((view) => view !== "drawing" || hasDrawing());
  choose(views[(views.indexOf(session.view) + by + views.length) % views.length]);
}

/** Runs by itself: `nearest`, `random` or `process`. */
export const run = (mode, more = {}) => act(async () => {
  const lines = [...session.breakpoints.values()];
  const from = choicesHere();
  const answer = await askAt("run", session.model, from, { mode, lines, ...more });
  if (answer.end !== "nowhere") {
    const trail = [...from.slice(0, answer.kept), ...decode(answer.path)];
    nameTrail(session.model, answer.trail, trail);
    await follow(trail);
  }
  const searched = answer.states ? ` (${many(answer.states, "state")} looked at)` : "";
  const words = {
    condition: `The condition holds here${searched}.`,
    breakpoint: "A process stands at a breakpoint.",
    fault: "",
    no_step: mode === "process" ? "The process cannot go on." : "",
    nowhere: `No state that can be reached from here satisfies this${searched}.`,
    limit: mode === "random" ? "" : `Not found within the limits${searched}.`,
  };
  if (words[answer.end]) say(words[answer.end], answer.end === "nowhere" || answer.end === "limit" ? "warn" : "");
});

// Browsers are slow with long addresses: of longer paths the address has the name that the server knows.
const LONGEST_ADDRESS = 2000;

/** The address names the state, so that it can be shared; with all of its path if that is asked for. */
function address(whole) {
  const { trail, look } = session;
  const path = whole || trail.length < LONGEST_ADDRESS || !look ? `path=${encode(trail)}` : `trail=${look.trail}.${trail.length}`;
  const parts = [`model=${session.model}`, path];
  if (session.here !== trail.length) parts.push(`here=${session.here}`);
  return "#" + parts.join("&");
}

// Steps in quick succession are one place in the browser's history.
const QUICK = 250;
let remembered = -QUICK;

/** The browser's back and forward walk through the places that were looked at. */
function remember() {
  const hash = address(false);
  if (location.hash === hash) return;
  const now = performance.now();
  const isNew = location.hash && now - remembered >= QUICK;
  remembered = now;
  if (isNew) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

/** The model, path and place that the address names. */
async function recalled() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const model = Number(wanted.get("model") || 0), here = wanted.has("here") ? Number(wanted.get("here")) : undefined;
  if (!wanted.has("trail")) return { model, path: wanted.get("path") || "", here };
  const [trail, keep] = wanted.get("trail").split(".").map(Number);
  try {
    return { model, path: (await ask("path", { model, onto: { trail, keep } })).path, here };
  } catch {
    return { model, path: "", here: 0, lost: true };
  }
}

export const copyLink = () => act(async () => {
  const link = location.href.split("#")[0] + address(true);
  try {
    await navigator.clipboard.writeText(link);
    say("The link is copied. Elsewhere: preempt serve MODEL --at " + encode(choicesHere()));
  } catch {
    say(link);
  }
});

export const bookmark = () => act(async () => {
  const path = encode(choicesHere());
  if (session.bookmarks.some((known) => known.path === path)) return;
  const last = session.look.rows.find((row) => row.at === session.here - 1);
  session.bookmarks.push({ path, steps: session.here, name: last ? `${last.process}: ${last.text}` : "start" });
  await keepBookmarks();
  draw();
});

export async function keepBookmarks() {
  await ask("bookmarks", { model: session.model, bookmarks: session.bookmarks });
}

export function redraw() { draw(); }

/** Opens a model, at a path if one is given. */
async function open(model, path = "", here) {
  const info = await ask("open", { model });
  const anew = session.model !== model;
  Object.assign(session, { model, info, bookmarks: info.bookmarks, look: null });
  if (anew) Object.assign(session, { watches: [], breakpoints: new Map(), branches: [], trace: null });
  session.trail = [];
  session.here = 0;
  dropRows(0);
  $("models").value = String(model);
  openText(anew);
  openPreferences();
  showProperties();
  if (!info.kind) {
    draw();
    showSource();
    return;
  }
  const { recording } = info;
  if (recording && recording.cycle !== null) session.trace = { cycle: recording.cycle, length: recording.steps };
  // What was saved is there to be looked at: it opens at its end.
  session.trail = decode(path || recording?.path || "");
  session.here = Math.min(here ?? session.trail.length, session.trail.length);
  await refresh();
}

/** A file changed: the same processes take the same statements, as far as that goes. */
const reload = (event) => act(async () => {
  if (event.model !== session.model) return;
  const before = { path: encode(session.trail), version: session.info.version, here: session.here };
  const info = await ask("open", { model: session.model });
  session.info = info;
  const checkNext = session.checkNext;
  session.checkNext = null;
  openText(false);
  showProperties();
  if (!info.kind) {
    showSource();
    const what = info.file?.is_draft ? "The text has errors: it is kept as it is." : info.file?.is_gone ? "The file is gone: it was deleted or renamed." : "The file changed and has errors now.";
    say(`${what} The path is replayed when ${info.file?.is_gone && !info.file.is_draft ? "it is back" : "they are fixed"}.`, "bad");
    // The version that the path belongs to is the last one that could be read.
    session.info.version = before.version;
    return;
  }
  const carried = await ask("carry", { model: session.model, path: before.path, version: before.version });
  session.branches = [];
  session.trace = null;
  session.trail = decode(carried.path);
  session.here = Math.min(before.here, session.trail.length);
  dropRows(0);
  await refresh();
  const what = info.file?.is_draft ? "The text changed" : "The file changed";
  say(carried.kept === carried.of ? `${what}; the path is the same.` : `${what}; the path goes on for ${carried.kept} of ${carried.of} steps.`, carried.kept === carried.of ? "" : "warn");
  if (checkNext) await checkNext();
});

/** The file changed while its text is being changed here. */
function onDisk(event) {
  if (event.model === session.model) say("The file has changed on disk. What is written here stays; Discard shows the file.", "warn");
}

function openTheme() {
  const known = sessionStorage.getItem("theme");
  if (known) document.documentElement.dataset.theme = known;
}

export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  sessionStorage.setItem("theme", root.dataset.theme);
}

async function start() {
  openTheme();
  const { models, options } = await ask("models");
  offerOptions(options);
  models.forEach((name, at) => {
    const short = shortName(name);
    const option = make("option", "", models.filter((other) => shortName(other) === short).length > 1 ? name : short);
    option.value = String(at);
    $("models").append(option);
  });
  $("models").hidden = models.length < 2;
  $("models").addEventListener("change", () => act(() => open(Number($("models").value))));
  openLanes();
  openSteps();
  openState();
  openChecks();
  openExport();
  openKeys();
  for (const view of VIEWS) $("tab-" + view).addEventListener("click", () => choose(view));
  document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    nextView(by);
    $("tab-" + session.view).focus();
  });
  const handlers = { changed: reload, disk: onDisk, graph: graphEvent };
  listen((event) => (handlers[event.event] ?? checkEvent)(event), (connected) => {
    document.body.classList.toggle("lost", !connected);
    if (!connected) say("The server does not answer.", "bad");
    else if ($("notice").textContent === "The server does not answer.") say("");
  });
  const wanted = await recalled();
  await open(wanted.model < models.length ? wanted.model : 0, wanted.path, wanted.here);
  if (wanted.lost) say("The server does not know the path of this address any more. A copied link has all of it.", "warn");
  window.addEventListener("hashchange", () => act(async () => {
    if (location.hash === address(false)) return;
    const { model, path, here } = await recalled();
    if (model !== session.model) await open(model, path, here);
    else if (path !== encode(session.trail) || (here ?? session.trail.length) !== session.here) await follow(path, here);
  }));
}

act(start);
