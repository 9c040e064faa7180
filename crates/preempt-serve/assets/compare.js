// Two branches side by side: where they part, what each does since then, in what their states differ.
import { $, laneClass, make, many, shown } from "./dom.js";
import { act, choicesHere, session } from "./app.js";
import { ask, encode } from "./server.js";

let other = null;

export const showCompare = () => act(async () => {
  const holder = $("compare");
  const here = encode(choicesHere());
  const places = [
    ...(session.trace ? [["the counterexample", session.trace.path]] : []),
    ...session.bookmarks.map(({ name, path, steps }) => [`★ ${name} (step ${steps})`, path]),
    ...session.branches.map(({ choices, at }) => [`↳ another path: ${many(choices.length, "step")}, the first ${at} in common`, encode(choices)]),
  ].filter(([, path]) => path !== here);
  if (!places.length) {
    holder.replaceChildren(make("p", "nothing", "Nothing to compare with yet: go back, take another step, and the branch that was left is offered here. Bookmarks and counterexamples are, too."));
    return;
  }
  if (!places.some(([, path]) => path === other)) other = places[0][1];
  const choice = make("select");
  choice.setAttribute("aria-label", "Compare this state with");
  for (const [name, path] of places) {
    const option = make("option", "", name);
    option.value = path;
    choice.append(option);
  }
  choice.value = other;
  choice.addEventListener("change", () => { other = choice.value; showCompare(); });
  const answer = await ask("compare", { model: session.model, paths: [here, other] });
  const bar = make("div", "bar");
  bar.append(make("span", "", "this path, and"), choice, make("span", "soft", `They agree for ${answer.common} step${answer.common === 1 ? "" : "s"}.`));
  const columns = make("div", "columns");
  answer.sides.forEach((side, at) => columns.append(column(side, at ? choice.selectedOptions[0].textContent : "this path")));
  const table = make("table", "variables differences");
  table.append(make("caption", "", answer.differences.length ? "In what the states differ" : "The variables have the same values."));
  for (const { name, from, to } of answer.differences) {
    const row = table.insertRow();
    const head = make("th", "", name);
    head.scope = "row";
    row.append(head, make("td", "value", shown(from)), make("td", "value", shown(to)));
  }
  const scroll = make("div", "scroll compared");
  scroll.tabIndex = 0;
  scroll.append(columns, table);
  holder.replaceChildren(bar, scroll);
});

function column({ rows, length, cost, end, fault }, title) {
  const box = make("div", "side-by-side");
  box.append(make("h3", "", title), make("p", "soft", `${length} steps, ${cost.preemptions} preemptions`));
  const list = make("ol");
  for (const step of rows) {
    const item = make("li", `cell ${laneClass(step.pid)}`);
    item.value = step.at + 1;
    if (step.switch === "preemption") item.append(make("span", "badge", "⇄"));
    item.append(make("span", "at-line", step.process), make("code", "", step.text));
    item.append(make("span", "would", [...step.words, ...(step.seen ?? [])].join("  ")));
    list.append(item);
  }
  if (!rows.length) box.append(make("p", "soft", "It ends where they part."));
  box.append(list);
  const reasons = rows.at(-1)?.fault?.reasons ?? [];
  if (fault) box.append(make("p", "verdict-line bad", ["✗ " + fault.message, ...reasons].join("; ")));
  else if (end === "deadlock") box.append(make("p", "verdict-line bad", "✗ deadlock"));
  return box;
}
