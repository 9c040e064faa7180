// The lanes: a row per step of the trail, a column per process, one per watch. Only the rows in view are
// drawn, and only those near it are asked for; all rows are equally high.
import { $, laneClass, make, reconcile, shown } from "./dom.js";
import { goTo, session } from "./app.js";
import { askAt } from "./server.js";

const ROW = 30, PAGE = 200;
// With more lanes than this all are equally wide and there are no lifelines: rows would be slow to lay out.
const CROWD = 16;
const rows = new Map();
let isOpen = false, showsAll = false, asked = null, lanes = [], headed = "", columns = "", layout = 0;

/** Forgets the rows from `from` on: the trail is another one there. */
export function dropRows(from) {
  for (const at of [...rows.keys()]) if (at >= from) rows.delete(at);
}

/** Whether all rows of a part of the trail are here. */
export function knowsRows(from, to) {
  for (let at = Math.max(0, from); at <= to; at++) if (!rows.has(at)) return false;
  return true;
}

function learn(look) {
  let preemptions = look.preemptions;
  for (const row of look.rows) {
    if (row.switch === "preemption") row.preemption = ++preemptions;
    rows.set(row.at, row);
  }
}

export function openLanes() {
  $("everyone").addEventListener("click", () => { showsAll = !showsAll; showLanes(); });
  $("scroll").addEventListener("scroll", () => requestAnimationFrame(render));
  new ResizeObserver(render).observe($("scroll"));
  $("rows").addEventListener("click", (event) => {
    const row = event.target.closest("[data-here]");
    if (!row) return;
    // A second click opens the row.
    if (Number(row.dataset.here) === session.here) toggleRow();
    else goTo(Number(row.dataset.here));
  });
}

/** Opens the row of the present step, so that nothing of it is cut, or closes it. */
export function toggleRow() {
  isOpen = !isOpen;
  render();
}

/** Of a crowd, the processes that have moved, until all are asked for. */
function lanesInView(all) {
  const moving = all.filter(({ moves }) => moves);
  const isCrowd = all.length > CROWD && moving.length < all.length;
  $("everyone").hidden = !isCrowd;
  $("everyone").textContent = showsAll ? "only those that move" : `${moving.length} of ${all.length} processes move here: show all`;
  return isCrowd && !showsAll ? moving : all;
}

export function showLanes() {
  learn(session.look);
  lanes = lanesInView(session.look.lanes);
  const crowd = lanes.length > CROWD;
  const [lane, more, watched] = crowd ? ["140px", "260px", "90px "] : ["minmax(140px, 2fr)", "minmax(150px, 2fr)", "minmax(64px, .6fr) "];
  const template = `64px repeat(${Math.max(1, lanes.length)}, ${lane}) ${more} ${watched.repeat(session.watches.length)}`;
  const names = $("names");
  const heading = JSON.stringify([lanes, session.watches]);
  if (heading !== headed) {
    showNames(names);
    layout++;
  }
  headed = heading;
  const width = 64 + 140 * Math.max(1, lanes.length) + (crowd ? 260 : 150) + (crowd ? 90 : 64) * session.watches.length;
  $("spacer").style.minWidth = names.style.minWidth = width + "px";
  // Two hundred columns are laid out for every row: in a crowd, cells are put where they belong instead.
  $("scroll").classList.toggle("crowd", crowd);
  if (template !== columns) $("scroll").style.setProperty("--columns", template);
  columns = template;
  $("spacer").style.height = (session.trail.length + 1) * ROW + "px";
  const box = $("scroll"), top = session.here * ROW;
  const view = box.clientHeight - 34;
  if (top < box.scrollTop || top + ROW > box.scrollTop + view) box.scrollTop = top - view / 2;
  const last = rows.get(session.here - 1);
  // Lanes that share the width are in view already; others are all equally wide.
  if (last && (crowd || width > box.clientWidth)) {
    const left = 64 + 140 * lanes.findIndex(({ pid }) => pid === last.pid);
    if (left < box.scrollLeft + 64 || left + 140 > box.scrollLeft + box.clientWidth) box.scrollLeft = left - box.clientWidth / 2;
  }
  render();
}

function showNames(names) {
  names.replaceChildren(make("div", "number", "step"));
  for (const { pid, name } of lanes) {
    const cell = make("div", `name ${laneClass(pid)}`, name);
    cell.title = name;
    names.append(cell);
  }
  names.append(make("div", "name", "changes"));
  for (const text of session.watches) {
    const cell = make("div", "name watched", text);
    cell.title = text;
    names.append(cell);
  }
}

async function render() {
  const box = $("scroll");
  if (box.offsetParent === null || !session.look) return;
  const count = session.trail.length;
  const first = Math.max(0, Math.floor(box.scrollTop / ROW) - 4);
  const last = Math.min(count, first + Math.ceil(box.clientHeight / ROW) + 8);
  const items = [];
  let missing = -1;
  for (let here = first; here <= last; here++) {
    const step = rows.get(here - 1), goesOn = step && rows.get(here - 2)?.pid === step.pid;
    if (here > 0 && !step && missing < 0) missing = here - 1;
    const build = () => (here === 0 ? startRow() : stepRow(here, step, goesOn));
    items.push({ key: here, what: [layout, step, goesOn], build, update: (row) => mark(row, here) });
  }
  reconcile($("rows"), items);
  $("scroll").setAttribute("aria-activedescendant", `row-${session.here}`);
  if (missing >= 0) fetchRows(missing);
}

async function fetchRows(missing) {
  const { trail, watches } = session, from = Math.max(0, missing - PAGE / 4);
  if (asked?.trail === trail && asked.from === from) return;
  asked = { trail, from };
  const look = await askAt("rows", session.model, trail, { from, rows: PAGE, watches }).catch(() => null);
  asked = null;
  if (look && session.trail === trail) {
    learn(look);
    render();
  }
}

function frame(here, label) {
  const row = make("div", "row step");
  row.id = `row-${here}`;
  row.dataset.here = here;
  row.setAttribute("role", "option");
  row.setAttribute("aria-label", label);
  const number = make("div", "number", String(here));
  number.style.gridColumn = "1";
  row.append(number);
  return row;
}

/** What of a row depends on where we are. */
function mark(row, here) {
  const { trace } = session;
  const set = (name, value) => { if (row.getAttribute(name) !== value) row.setAttribute(name, value); };
  set("aria-selected", String(here === session.here));
  set("aria-posinset", String(here + 1));
  set("aria-setsize", String(session.trail.length + 1));
  row.classList.toggle("here", here === session.here);
  row.classList.toggle("opened", isOpen && here > 0 && here === session.here);
  row.classList.toggle("later", here > session.here);
  row.classList.toggle("in-cycle", Boolean(trace && trace.cycle !== null && here > trace.cycle && here <= trace.length));
  row.style.top = here * ROW + "px";
}

function place(row, cell, column) {
  if (lanes.length > CROWD) {
    const lane = column - 2, beyond = lane - lanes.length;
    const left = 64 + 140 * Math.min(lane, lanes.length) + (beyond > 0 ? 260 + 90 * (beyond - 1) : 0);
    cell.style.left = left + "px";
    cell.style.width = (beyond < 0 ? 140 : beyond === 0 ? 260 : 90) + "px";
  } else {
    cell.style.gridColumn = String(column);
    cell.style.gridRow = "1";
  }
  row.append(cell);
  return cell;
}

function lifelines(row, taken) {
  if (lanes.length > CROWD) return;
  lanes.forEach((_, at) => { if (!taken(at)) place(row, make("div", "life"), at + 2); });
}

function startRow() {
  const row = frame(0, "start");
  lifelines(row, () => false);
  place(row, make("div", "changes soft", "initial state"), lanes.length + 2);
  return row;
}

function stepRow(here, step, goesOn) {
  if (!step) return frame(here, `step ${here}`);
  const { words, seen = [] } = step;
  const label = `step ${here}, ${step.process}: ${step.text}${words.length ? "; " + words.join(", ") : ""}${step.preemption ? ", after a preemption" : ""}${seen.length ? "; " + seen.join(", ") : ""}${step.fault ? "; " + step.fault.message : ""}`;
  const row = frame(here, label);
  const lane = lanes.findIndex(({ pid }) => pid === step.pid);
  const partner = step.partner === null ? -1 : lanes.findIndex(({ pid }) => pid === step.partner);
  lifelines(row, (at) => at === lane || at === partner);
  // Of a rendezvous `c!x => c?y` each side gets its half.
  const [text, receives] = partner < 0 ? [step.text] : step.text.split(" => ");
  const cell = place(row, make("div", `cell ${laneClass(step.pid)}`), lane + 2);
  if (goesOn) cell.classList.add("goes-on");
  if (step.preemption) {
    row.classList.add("preempts");
    const badge = make("span", "badge", `⇄ ${step.preemption}`);
    badge.title = `preemption ${step.preemption}: the process that moved before could have gone on`;
    cell.append(badge);
  }
  if (step.line) cell.append(make("span", "at-line", String(step.line)));
  cell.append(make("code", "", text));
  if (step.output) cell.append(make("span", "printed", "» " + step.output.trim()));
  cell.title = `${step.file}:${step.line}  ${text}`;
  if (step.fault) {
    cell.classList.add("failing");
    cell.title += "\n" + [step.fault.message, ...step.fault.reasons].join("\n");
  }
  if (partner >= 0) place(row, make("div", `cell partner ${laneClass(step.partner)}`, `${lane < partner ? "⇒" : "⇐"} ${receives ?? "receives"}`), partner + 2);
  const box = place(row, make("div", "changes"), lanes.length + 2);
  for (const word of words) box.append(make("span", "change", word));
  for (const word of seen) box.append(make("span", "change seen", word));
  box.title = [...words, ...seen].join("\n");
  step.watches.forEach((value, at) => place(row, make("div", "watched", shown(value)), lanes.length + 3 + at));
  return row;
}
