// Automata, and the reachable graph around the present state. The server says where everything goes.
import { $, button, draw, grouped, laneClass, make, many } from "./dom.js";
import { act, choicesHere, follow, session } from "./app.js";
import { ask, askAt, decode } from "./server.js";

const MOST_LABELS = 4;
// Of more edges the labels cover each other: only those at the state that is pointed at are shown.
const MOST_LABELLED = 60;
let automaton = 0, levels = 3, merge = [], seconds = 0.3, graphs = 0;
// Other pages of the same server give numbers to their graphs, too.
const own = Math.floor(Math.random() * 2 ** 40);

function svg({ width, height, nodes, edges }, label, describe) {
  const picture = draw("svg", { class: "picture", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": label });
  const defs = draw("defs");
  const head = draw("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" });
  head.append(draw("path", { d: "M0 0L10 5L0 10z", class: "head" }));
  defs.append(head);
  picture.append(defs);
  for (const edge of edges) {
    const [a, b, c, d] = edge.curve;
    picture.append(draw("path", { class: edge.marked ? "edge marked" : "edge", "data-ends": `${edge.from} ${edge.to}`, d: `M${a}C${b} ${c} ${d}`, "marker-end": "url(#arrow)" }));
  }
  const isDense = edges.length > MOST_LABELLED;
  picture.classList.toggle("dense", isDense);
  const cut = (text) => (text.length > 28 ? text.slice(0, 27) + "…" : text);
  for (const { labels, place, from, to } of edges) {
    const text = draw("text", { class: "on", "data-ends": `${from} ${to}` });
    const lines = labels.length > MOST_LABELS ? [...labels.slice(0, MOST_LABELS - 1), `and ${labels.length - MOST_LABELS + 1} more`] : labels;
    lines.forEach((line, at) => text.append(draw("tspan", { x: place[0], y: place[1] + 3 + (at - (lines.length - 1) / 2) * 12 }, cut(line))));
    text.append(draw("title", {}, labels.join("\n")));
    picture.append(text);
  }
  nodes.forEach((node, at) => {
    const element = describe(node);
    picture.append(element);
    if (!isDense) return;
    const show = (isNear) => picture.querySelectorAll(`[data-ends^="${at} "], [data-ends$=" ${at}"]`).forEach((part) => part.classList.toggle("near", isNear));
    for (const [kind, isNear] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]]) element.addEventListener(kind, () => show(isNear));
  });
  return picture;
}

const LEAST = 0.03, MOST = 4, FINER = 1.25;
let zoom = 1;

/** The picture as a file, with the looks that it has here. */
function save(picture) {
  const looks = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font", "text-anchor"];
  const copy = picture.cloneNode(true);
  const from = [picture, ...picture.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, at) => {
    const seen = getComputedStyle(element);
    for (const look of looks) if (seen.getPropertyValue(look)) to[at].style.setProperty(look, seen.getPropertyValue(look));
  });
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const address = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  const link = make("a");
  Object.assign(link, { href: address, download: `${session.info.name.split("/").pop().replace(/\.[^.]*$/, "")}.${session.view}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Buttons, the wheel with Ctrl, and dragging: larger, smaller, whole, elsewhere. */
function zoomable(bar, scroll, picture) {
  const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  const set = (wanted, x = scroll.clientWidth / 2, y = scroll.clientHeight / 2) => {
    const before = zoom;
    zoom = Math.max(LEAST, Math.min(MOST, wanted));
    picture.setAttribute("width", width * zoom);
    picture.setAttribute("height", height * zoom);
    const by = zoom / before;
    scroll.scrollTo((scroll.scrollLeft + x) * by - x, (scroll.scrollTop + y) * by - y);
  };
  const whole = () => set(Math.min(1, scroll.clientWidth / width, scroll.clientHeight / height));
  const named = (text, title, go) => {
    const one = button(text, go);
    one.title = title;
    one.setAttribute("aria-label", title);
    return one;
  };
  bar.append(named("SVG", "Take the picture along", () => save(picture)));
  bar.append(named("−", "Smaller", () => set(zoom / FINER)), named("+", "Larger", () => set(zoom * FINER)), named("⤢", "The whole picture", whole));
  scroll.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const place = scroll.getBoundingClientRect();
    set(event.deltaY < 0 ? zoom * FINER : zoom / FINER, event.clientX - place.left, event.clientY - place.top);
  }, { passive: false });
  let from = null;
  scroll.addEventListener("pointerdown", (event) => {
    if (event.button === 0 && !event.target.closest(".node")) from = [event.clientX + scroll.scrollLeft, event.clientY + scroll.scrollTop];
  });
  scroll.addEventListener("pointermove", (event) => { if (from) scroll.scrollTo(from[0] - event.clientX, from[1] - event.clientY); });
  for (const end of ["pointerup", "pointerleave"]) scroll.addEventListener(end, () => { from = null; });
  picture.setAttribute("width", width * zoom);
  picture.setAttribute("height", height * zoom);
}

function box(node, className) {
  const [x, y, width, height] = node.box;
  const group = draw("g", { class: className });
  group.append(draw("rect", { x, y, width, height, rx: 7 }));
  const lines = node.label.split("\n");
  lines.forEach((line, at) => group.append(draw("text", { class: "in", x: x + width / 2, y: y + height / 2 + 4.5 + (at - (lines.length - 1) / 2) * 15 }, line)));
  return group;
}

export const showAutomata = () => act(async () => {
  const holder = $("automata");
  const { automata } = await askAt("automata", session.model, choicesHere());
  if (!automata.length) {
    holder.replaceChildren(make("p", "nothing", "Only Promela models have automata to show."));
    return;
  }
  automaton = Math.min(automaton, automata.length - 1);
  const choice = make("select");
  choice.setAttribute("aria-label", "Automaton");
  automata.forEach(({ name, kind }, at) => {
    const option = make("option", "", `${kind} ${name}`);
    option.value = String(at);
    choice.append(option);
  });
  choice.value = String(automaton);
  choice.addEventListener("change", () => { automaton = Number(choice.value); showAutomata(); });
  const bar = make("div", "bar");
  bar.append(choice);
  const chosen = automata[automaton];
  if (chosen.kind !== "process type" && chosen.nodes) {
    const alive = chosen.nodes.some(({ here }) => here.length);
    const what = chosen.kind === "formula" ? "looks for violations of the formula" : "a never claim";
    bar.append(make("span", "soft", alive ? `${what}; marked: where it can be after reading this path` : `${what}; nothing can be violated any more from here`));
  }
  const scroll = make("div", "scroll drawing");
  scroll.tabIndex = 0;
  if (chosen.problem) scroll.append(make("p", "nothing", chosen.problem));
  else {
    const picture = svg(chosen, `${chosen.kind} ${chosen.name}`, (node) => {
      const here = node.here.length > 0;
      const group = box(node, `node${node.accepting ? " accepting" : ""}${here ? " here" : ""}${node.pids.length ? " " + laneClass(node.pids[0]) : ""}`);
      const [x, y, width, height] = node.box;
      if (node.accepting) group.append(draw("rect", { x: x + 3, y: y + 3, width: width - 6, height: height - 6, rx: 5, class: "inner" }));
      if (node.initial) group.append(draw("path", { class: "edge", d: `M${x + width / 2} ${y - 24}V${y}`, "marker-end": "url(#arrow)" }));
      if (here) group.append(draw("text", { class: "who", x: x + width / 2, y: y + height + 14 }, node.here.join(", ")));
      group.append(draw("title", {}, here ? `${node.label}: ${node.here.join(", ")}` : node.label));
      return group;
    });
    scroll.append(picture);
    zoomable(bar, scroll, picture);
  }
  holder.replaceChildren(bar, scroll);
  const marked = chosen.nodes?.find(({ here }) => here.length);
  if (marked) scroll.scrollTo(marked.box[0] * zoom - scroll.clientWidth / 2, marked.box[1] * zoom - scroll.clientHeight / 2);
});

/** A graph that takes long: how far it is, and a way to have what there is. */
function showWaiting(holder, number) {
  const box = make("div", "bar waiting-graph");
  box.dataset.number = String(number);
  box.append(make("span", "soft", "looking for states …"));
  // Not one after the other with all else: it is what all else waits for.
  box.append(button("Cancel", () => ask("cancel", { graph: number })));
  holder.prepend(box);
}

/** The server says how far a graph is. */
export function graphEvent({ number, looked_at, drawn }) {
  const words = document.querySelector(`.waiting-graph[data-number="${number}"] span`);
  if (words) words.textContent = `${many(looked_at, "state")} looked at, ${grouped(drawn)} to be drawn`;
}

export const showGraph = () => act(async () => {
  const holder = $("graph");
  const here = choicesHere();
  const number = own + graphs++;
  const waiting = setTimeout(() => showWaiting(holder, number), 400);
  let picture;
  try {
    picture = await askAt("graph", session.model, here, { levels, merge, seconds, number, trace: session.trace?.path ?? null });
  } finally {
    clearTimeout(waiting);
    holder.querySelector(".waiting-graph")?.remove();
  }
  const bar = make("div", "bar");
  const label = make("label", "", "steps away ");
  const input = make("input");
  Object.assign(input, { type: "number", min: 1, max: 40, value: levels });
  input.addEventListener("change", () => { levels = Math.max(1, Math.min(40, Number(input.value) || 1)); showGraph(); });
  label.append(input);
  bar.append(label);
  const details = make("details", "merge");
  details.append(make("summary", "", merge.length ? `merged by ${merge.join(", ")}` : "merge states by variables"));
  for (const name of picture.variables) {
    const row = make("label");
    const tick = make("input");
    tick.type = "checkbox";
    tick.checked = merge.includes(name);
    tick.addEventListener("change", () => {
      merge = tick.checked ? [...merge, name] : merge.filter((other) => other !== name);
      showGraph();
    });
    row.append(tick, name);
    details.append(row);
  }
  bar.append(details);
  const time = make("label", "", "for at most "), times = make("select");
  for (const value of [0.3, 3, 10, 60]) {
    const option = make("option", "", `${value} s`);
    option.value = String(value);
    times.append(option);
  }
  times.value = String(seconds);
  times.setAttribute("aria-label", "How long states are looked for");
  times.addEventListener("change", () => { seconds = Number(times.value); showGraph(); });
  time.append(times);
  bar.append(time);
  const missing = picture.cancelled ? "; cancelled, there are more" : picture.full ? "; there are more" : "";
  const groups = merge.length ? `${many(picture.nodes.length, "group")} of ${many(picture.looked_at, "state")}` : many(picture.nodes.length, "state");
  bar.append(make("span", "soft", groups + missing));
  const scroll = make("div", "scroll drawing");
  const drawing = svg(picture, "Reachable states", (node) => {
    const group = box(node, `node reach${node.level === 0 ? " here" : ""}${node.error ? " error" : ""}${node.marked ? " marked" : ""}${node.transient ? " transient" : ""}`);
    if (node.error) group.append(draw("text", { class: "cross", x: node.box[0] + node.box[2] - 4, y: node.box[1] + 4 }, "✗"));
    const words = `${node.level ? `${node.level} ${node.level === 1 ? "step" : "steps"} away: ` : ""}${node.label.replaceAll("\n", ", ")}${node.error ? ", wrong" : ""}`;
    group.append(draw("title", {}, words));
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.setAttribute("aria-label", words);
    const go = () => act(() => follow([...here.slice(0, picture.kept), ...decode(node.path)]));
    group.addEventListener("click", go);
    group.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.stopPropagation(); go(); } });
    return group;
  });
  scroll.append(drawing);
  zoomable(bar, scroll, drawing);
  const opened = holder.querySelector("details")?.open;
  holder.replaceChildren(bar, scroll);
  details.open = Boolean(opened);
  const present = picture.nodes[0]?.box;
  if (present) scroll.scrollTo((present[0] + present[2] / 2) * zoom - scroll.clientWidth / 2, 0);
});
