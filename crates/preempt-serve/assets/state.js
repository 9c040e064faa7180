// Variables, channels, watches, and the places one may want to come back to.
import { $, button, make, many, reconcile, shown } from "./dom.js";
import { act, follow, keepBookmarks, redraw, refresh, session } from "./app.js";
import { dropRows } from "./lanes.js";

// Of very many variables, so many are drawn at once, and those that just changed; the others on request.
const MOST_DRAWN = 120;
let all = false;
// What the user wants to see first, or not at all: kept for each model as long as this tab is open.
let wishes = { pinned: [], hidden: [] }, showsHidden = false;

/** How many variables to ask for; all if that is undefined. */
export const variablesInView = () => (all || wishes.pinned.length || $("filter").value ? undefined : MOST_DRAWN);

const place = () => `variables of ${session.info?.name}`;

/** The wishes of this model. */
export function openPreferences() {
  wishes = JSON.parse(sessionStorage.getItem(place()) ?? "null") ?? { pinned: [], hidden: [] };
  showsHidden = false;
  $("filter").value = "";
}

function wish(list, name) {
  const isThere = wishes[list].includes(name);
  wishes[list] = isThere ? wishes[list].filter((other) => other !== name) : [...wishes[list], name];
  sessionStorage.setItem(place(), JSON.stringify(wishes));
  act(refresh);
}

export function openState() {
  $("filter").addEventListener("input", () => act(refresh));
  for (const kind of ["pointerover", "focusin"]) $("variables").addEventListener(kind, (event) => equip(event.target.closest("tr[data-name]")));
  $("watch-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("watch").value.trim();
    $("watch").value = "";
    if (text) watch((list) => (list.includes(text) ? list : [...list, text]));
  });
}

/** Changes the list of watches when it is this change's turn: the list depends on the changes before it. */
const watch = (change) => act(async () => {
  session.watches = change(session.watches);
  dropRows(0);
  await refresh();
});

/** Forgets the watch that was added last. */
export const forgetWatch = () => watch((list) => list.slice(0, -1));

export function showState() {
  const { look } = session;
  const last = look.rows.find((row) => row.at === session.here - 1);
  const fresh = new Map((last?.changes ?? []).map((change) => [change.name, change]));
  $("state-title").textContent = session.here ? `State after step ${session.here}` : "Initial state";
  const wanted = $("filter").value.trim().toLowerCase();
  const fits = ({ name }) => name.toLowerCase().includes(wanted);
  const channels = look.variables.filter(({ value }) => Array.isArray(value)).filter(fits);
  $("channels").replaceChildren(...channels.map((channel) => queue(channel, fresh.get(channel.name))));
  const items = [];
  let owner = null;
  const plain = look.variables.filter(({ value }) => !Array.isArray(value)).filter(fits);
  const isHidden = ({ name }) => wishes.hidden.includes(name) && !wishes.pinned.includes(name);
  for (const { name, value } of plain.filter((one) => wishes.pinned.includes(one.name))) {
    const change = fresh.get(name) ?? null;
    items.push({ key: `pinned ${name}`, what: [value, change], build: () => variable(name, name, value, change) });
  }
  const shownHere = plain.filter((one) => !wishes.pinned.includes(one.name) && (showsHidden || !isHidden(one)));
  const drawn = all || wanted ? shownHere : shownHere.filter((one, at) => at < MOST_DRAWN || fresh.has(one.name));
  for (const { name: whole, value } of drawn) {
    const [, process, name] = whole.match(/^([^:]+\(\d+\)):(.*)$/) ?? [null, null, whole];
    if (process !== owner && process !== null) items.push({ key: `of ${process}`, what: process, build: () => heading(process) });
    owner = process;
    const change = fresh.get(whole) ?? null;
    items.push({ key: `variable ${whole}`, what: [value, change], build: () => variable(whole, name, value, change) });
  }
  const others = look.variable_count - look.variables.length + shownHere.length - drawn.length;
  if (others > 0 && !wanted) items.push({ key: "others", what: others, build: () => moreRow(others) });
  const hidden = plain.filter(isHidden).length;
  if (hidden) items.push({ key: "hidden", what: [hidden, showsHidden], build: () => hiddenRow(hidden) });
  reconcile($("variables").tBodies[0], items);
  showWatches();
  showPlaces();
}

function heading(process) {
  const row = make("tr", "owner"), head = make("th", "", process);
  head.colSpan = 3;
  row.append(head);
  return row;
}

function variable(whole, name, value, change) {
  const row = make("tr", change ? "fresh" : ""), head = make("th", "", name), cell = make("td", "value");
  head.scope = "row";
  head.title = whole;
  if (change && change.from !== null) cell.append(make("s", "", shown(change.from)), " → ");
  cell.append(shown(value));
  row.append(head, cell);
  row.dataset.name = whole;
  head.tabIndex = 0;
  // Elsewhere they come when the row is pointed at or has the focus: there may be very many rows.
  if (wishes.pinned.includes(whole) || wishes.hidden.includes(whole)) equip(row);
  return row;
}

/** Pins and hides. */
function equip(row) {
  if (!row || row.querySelector(".wishes")) return;
  const whole = row.dataset.name;
  const tools = make("td", "wishes");
  const tool = (list, symbol, words) => {
    const isOn = wishes[list].includes(whole);
    const element = button(symbol, () => wish(list, whole), "small");
    element.setAttribute("aria-pressed", String(isOn));
    element.setAttribute("aria-label", `${words} ${whole}`);
    element.title = words;
    tools.append(element);
  };
  tool("pinned", wishes.pinned.includes(whole) ? "★" : "☆", wishes.pinned.includes(whole) ? "No longer first:" : "Show first:");
  tool("hidden", wishes.hidden.includes(whole) ? "+" : "×", wishes.hidden.includes(whole) ? "Show again:" : "Hide:");
  row.append(tools);
}

function hiddenRow(count) {
  const row = make("tr");
  const label = showsHidden ? "leave out what is hidden" : `${many(count, "hidden variable")}: show`;
  row.insertCell().append(button(label, () => { showsHidden = !showsHidden; act(refresh); }, "small"));
  return row;
}

function moreRow(count) {
  const row = make("tr");
  row.insertCell().append(button(`${count} more variables`, () => act(async () => { all = true; await refresh(); })));
  return row;
}

function queue({ name, value }, change) {
  const box = make("div", change ? "channel fresh" : "channel");
  box.append(make("span", "channel-name", name));
  const list = make("ol", "queue");
  if (!value.length) list.append(make("li", "none", "empty"));
  for (const message of value) list.append(make("li", "", message));
  box.append(list);
  return box;
}

function showWatches() {
  $("watch-form").parentElement.hidden = !session.info.expressions;
  $("watch").placeholder = `watch, e.g. ${session.info.expressions}`;
  $("watches").replaceChildren(...session.watches.map((text, at) => {
    const item = make("li");
    const { value, problem } = session.look.watches[at] ?? {};
    item.append(make("code", "", text), make("b", problem ? "problem" : "value", problem ?? (value === null ? "no value here" : shown(value))));
    const remove = button("×", () => watch((list) => list.filter((other) => other !== text)), "small");
    remove.setAttribute("aria-label", `Stop watching ${text}`);
    item.append(remove);
    return item;
  }));
}

function showPlaces() {
  const list = [];
  const place = (label, detail, path, remove) => {
    const item = make("li");
    const go = button("", () => act(() => follow(path)), "place");
    go.append(make("span", "", label), make("small", "soft", detail));
    item.append(go);
    if (remove) {
      const cross = button("×", remove, "small");
      cross.setAttribute("aria-label", `Forget ${label}`);
      item.append(cross);
    }
    list.push(item);
  };
  for (const mark of session.bookmarks) {
    place(`★ ${mark.name}`, `step ${mark.steps}`, mark.path, () => act(async () => {
      session.bookmarks = session.bookmarks.filter((other) => other !== mark);
      await keepBookmarks();
      redraw();
    }));
  }
  session.branches.forEach(({ choices, at }) => place(`↳ another path: ${many(choices.length, "step")}`, `the first ${at} in common`, choices));
  for (const [file, line] of session.breakpoints.values()) list.push(make("li", "soft", `● breakpoint ${file.split("/").pop()}:${line}`));
  if (!list.length) list.push(make("li", "soft", "Bookmarks, branches that were left, and breakpoints are listed here."));
  $("places").replaceChildren(...list);
}
