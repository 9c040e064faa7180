// The message sequence chart of the path so far.
import { $, draw, laneClass, make } from "./dom.js";
import { act, choicesHere, goTo, session } from "./app.js";
import { askAt } from "./server.js";

const ROW = 34, COLUMN = 190, SIDE = 110, TOP = 14;

export const showChart = () => act(async () => {
  const holder = $("chart");
  const { lanes, messages, from } = await askAt("chart", session.model, choicesHere());
  if (!messages.length) {
    holder.replaceChildren(make("p", "nothing", "No message has been sent on this path."));
    return;
  }
  const steps = [...new Set(messages.flatMap(({ sent, received }) => [sent?.step, received?.step]).filter((step) => step !== undefined))].sort((a, b) => a - b);
  const row = new Map(steps.map((step, at) => [step, at]));
  const x = (pid) => SIDE + COLUMN * lanes.findIndex((lane) => lane.pid === pid);
  const y = (step) => TOP + (row.get(step) ?? 0) * ROW + ROW / 2;
  const width = SIDE * 2 + COLUMN * (lanes.length - 1), height = TOP + steps.length * ROW + 20;
  const picture = draw("svg", { class: "picture chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Message sequence chart, ${messages.length} messages` });
  const head = draw("marker", { id: "message-head", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto" });
  head.append(draw("path", { d: "M0 0L10 5L0 10z", class: "head" }));
  picture.append(head);
  const names = make("div", "chart-names");
  names.style.width = width + "px";
  for (const { pid, name } of lanes) {
    picture.append(draw("line", { class: "life-line", x1: x(pid), x2: x(pid), y1: TOP - 12, y2: height }));
    const label = make("span", laneClass(pid), name);
    label.title = name;
    label.style.left = x(pid) + "px";
    names.append(label);
  }
  for (const step of steps) picture.append(draw("text", { class: "step-number", x: 10, y: y(step) + 4 }, String(step + 1)));
  for (const { label, sent, received } of messages) {
    const group = draw("g", { class: "message" });
    group.append(draw("title", {}, label));
    const start = sent ?? received, end = received ?? sent;
    const away = sent ? (received ? 0 : 56) : 0, before = sent ? 0 : 56;
    const [x1, x2, y1, y2] = [x(start.pid) - before, x(end.pid) + away, y(start.step), y(end.step)];
    const own = sent && received && sent.pid === received.pid;
    group.append(own
      ? draw("path", { class: "arrow buffered", d: `M${x1} ${y1}C${x1 + 60} ${y1} ${x1 + 60} ${y2} ${x2} ${y2}`, "marker-end": "url(#message-head)" })
      : draw("line", { class: sent && received && y1 === y2 ? "arrow" : "arrow buffered", x1, y1, x2, y2, "marker-end": "url(#message-head)" }));
    const text = (label.length > 26 ? label.slice(0, 25) + "…" : label) + (received ? "" : " (not received)");
    // The label lies along its arrow, nearer to the sender.
    const slope = Math.atan((y2 - y1) / (x2 - x1)) * (180 / Math.PI);
    group.append(own || !received
      ? draw("text", { class: "what", x: x1 + 8, y: y1 - 6 }, text)
      : draw("text", { class: "what", "text-anchor": "middle", y: -6, transform: `translate(${(3 * x1 + 2 * x2) / 5} ${(3 * y1 + 2 * y2) / 5}) rotate(${slope})` }, text));
    group.addEventListener("click", () => goTo(start.step + 1));
    picture.append(group);
  }
  const scroll = make("div", "scroll drawing");
  scroll.tabIndex = 0;
  if (from) scroll.append(make("p", "soft", `The messages since step ${from}.`));
  scroll.append(names, picture);
  holder.replaceChildren(scroll);
  scroll.scrollTop = scroll.scrollHeight;
});
