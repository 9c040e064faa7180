// Variables, channels, watches, and the places one may want to come back to.
import { $, button, make, many, reconcile, shown } from "./dom.js";
import { act, follow, keepBookmarks, redraw, refresh, session } from "./app.js";
import { dropRows } from "./lanes.js";

// Of very many variables, so many are drawn at once, and those that just changed; the others on request.
const MOST_DRAWN = 120;
let all = false;

/** How many variables to ask for; all if that is undefined. */
export const variablesInView = () => (all ? undefined : MOST_DRAWN);

export function openState() {
  $("watch-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("watch").value.trim();
    $("watch").value = "";
    if (text && !session.watches.includes(text)) watch([...session.watches, text]);
  });
}

const watch = (list) => act(async () => {
  session.watches = list;
  dropRows(0);
  await refresh();
});

export function showState() {
  const { look } = session;
  const last = look.rows.find((row) => row.at === session.here - 1);
  const fresh = new Map((last?.changes ?? []).map((change) => [change.name, change]));
  $("state-title").textContent = session.here ? `State after step ${session.here}` : "Initial state";
  const channels = look.variables.filter(({ value }) => Array.isArray(value));
  $("channels").replaceChildren(...channels.map((channel) => queue(channel, fresh.get(channel.name))));
  const items = [];
  let owner = null;
  for (const { name: whole, value } of look.variables.filter(({ value }) => !Array.isArray(value))) {
    const [, process, name] = whole.match(/^([^:]+\(\d+\)):(.*)$/) ?? [null, null, whole];
    if (process !== owner && process !== null) items.push({ key: `of ${process}`, what: process, build: () => heading(process) });
    owner = process;
    const change = fresh.get(whole) ?? null;
    items.push({ key: `variable ${whole}`, what: [value, change], build: () => variable(whole, name, value, change) });
  }
  const others = look.variable_count - look.variables.length;
  if (others > 0) items.push({ key: "others", what: others, build: () => moreRow(others) });
  reconcile($("variables").tBodies[0], items);
  showWatches();
  showPlaces();
}

function heading(process) {
  const row = make("tr", "owner"), head = make("th", "", process);
  head.colSpan = 2;
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
  $("watch-form").parentElement.hidden = !session.info.has_expressions;
  $("watches").replaceChildren(...session.watches.map((text, at) => {
    const item = make("li");
    const { value, problem } = session.look.watches[at] ?? {};
    item.append(make("code", "", text), make("b", problem ? "problem" : "value", problem ?? (value === null ? "no value here" : shown(value))));
    const remove = button("×", () => watch(session.watches.filter((other) => other !== text)), "small");
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
