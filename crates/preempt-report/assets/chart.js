// The message sequence chart. Only the rows in view are drawn.
const chart = (() => {
  const { data } = model;
  const ROW = 34, SIDE = 130, TOP = 48;
  let column = 220;
  const messages = data.messages.map(([label, sent, from, received, to]) => ({ label, sent, from, received, to }));
  const steps = [...new Set(messages.flatMap((m) => [m.sent, m.received]).filter((s) => s >= 0))].sort((a, b) => a - b);
  const rowOf = new Map(steps.map((step, row) => [step, row]));
  // A message is drawn when any part of it is in view; `reach` bounds how far up one can start.
  for (const m of messages) {
    m.top = rowOf.get(m.sent >= 0 ? m.sent : m.received);
    m.bottom = rowOf.get(m.received >= 0 ? m.received : m.sent);
  }
  messages.sort((a, b) => a.top - b.top);
  const reach = messages.reduce((most, m) => Math.max(most, m.bottom - m.top), 0);
  const tops = messages.map((m) => m.top);
  const x = (pid) => SIDE + column * model.lanes.get(pid);
  const y = (row) => row * ROW + ROW / 2;
  let holder, names, spacer, picture, current = -1, choose = () => {};

  function open(element, onChoose) {
    holder = element;
    choose = onChoose;
    if (!messages.length) {
      holder.append(make("p", "nothing", "No process sends a message in this trace."));
      return;
    }
    names = make("div", "chart-names");
    for (const [pid, label] of data.processes) {
      const name = shortened("span", "chart-name lane-" + (model.lanes.get(pid) % 8), label);
      names.append(name);
    }
    spacer = make("div", "chart-spacer");
    spacer.style.height = steps.length * ROW + 20 + "px";
    picture = draw("svg", { class: "chart-svg", role: "img", "aria-label": "Message sequence chart" });
    spacer.append(picture);
    holder.append(names, spacer);
    holder.addEventListener("scroll", () => requestAnimationFrame(render));
    picture.addEventListener("click", (event) => {
      const target = event.target.closest("[data-step]");
      if (target) choose(Number(target.dataset.step));
    });
  }

  /** Lifelines share the width of the panel, but never stand too close to read a label. */
  function spread() {
    const gaps = Math.max(1, data.processes.length - 1);
    column = Math.max(220, Math.min(420, (holder.clientWidth - 2 * SIDE) / gaps));
    const width = Math.max(holder.clientWidth, SIDE * 2 + column * (data.processes.length - 1));
    picture.setAttribute("width", width);
    names.style.width = spacer.style.width = width + "px";
    data.processes.forEach(([pid], lane) => { names.children[lane].style.left = x(pid) + "px"; });
  }

  function render() {
    if (!picture || holder.clientHeight === 0) return;
    spread();
    const first = Math.max(0, Math.floor((holder.scrollTop - TOP) / ROW) - 2);
    const last = Math.min(steps.length - 1, first + Math.ceil(holder.clientHeight / ROW) + 4);
    const offset = first * ROW;
    const height = (last - first + 1) * ROW + 20;
    picture.setAttribute("height", height);
    picture.setAttribute("viewBox", `0 ${offset} ${picture.getAttribute("width")} ${height}`);
    picture.style.top = offset + "px";
    const parts = [draw("defs", {})];
    const head = draw("marker", { id: "head", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto" });
    head.append(draw("path", { d: "M0 0L10 5L0 10z", class: "head" }));
    parts[0].append(head);
    const passed = model.after(steps, current) - 1;
    for (let row = first; row <= last; row++) {
      const here = steps[row] === current;
      parts.push(draw("rect", { x: 0, y: row * ROW, width: "100%", height: ROW, class: here ? "chart-row here" : "chart-row", "data-step": steps[row] }));
      parts.push(draw("text", { x: 12, y: y(row) + 4, class: "chart-number" }, String(steps[row] + 1)));
    }
    for (const [pid] of data.processes) {
      parts.push(draw("line", { x1: x(pid), x2: x(pid), y1: offset, y2: offset + height, class: "life" }));
    }
    for (let i = model.after(tops, first - reach - 1); i < messages.length && messages[i].top <= last; i++) {
      const m = messages[i];
      if (m.bottom >= first) parts.push(arrow(m, m.top > passed));
    }
    picture.replaceChildren(...parts);
  }

  function arrow(m, later) {
    const step = m.sent >= 0 ? m.sent : m.received;
    const group = draw("g", { class: later ? "message later" : "message", "data-step": step });
    group.append(draw("title", {}, m.label));
    const label = m.label.length > 26 ? m.label.slice(0, 25) + "…" : m.label;
    const line = (x1, y1, x2, y2, kind) => draw("line", { x1, y1, x2, y2, class: "arrow" + kind, "marker-end": "url(#head)" });
    if (m.sent >= 0 && m.received >= 0 && m.from !== m.to) {
      const [x1, y1, x2, y2] = [x(m.from), y(m.top), x(m.to), y(m.bottom)];
      group.append(line(x1, y1, x2, y2, m.top === m.bottom ? "" : " buffered"));
      // The label lies along its arrow, nearer to the sender.
      const slope = Math.atan((y2 - y1) / (x2 - x1)) * (180 / Math.PI);
      const place = `translate(${(2 * x1 + x2) / 3} ${(2 * y1 + y2) / 3}) rotate(${slope})`;
      group.append(draw("text", { transform: place, y: -6, class: "what" }, label));
    } else if (m.sent >= 0 && m.received >= 0) {
      const [at, y1, y2] = [x(m.from), y(m.top), y(m.bottom)];
      group.append(draw("path", { d: `M${at} ${y1}C${at + 70} ${y1} ${at + 70} ${y2} ${at} ${y2}`, class: "arrow buffered", "marker-end": "url(#head)" }));
      group.append(draw("text", { x: at + 12, y: y1 - 6, class: "what own" }, label));
    } else if (m.sent >= 0) {
      group.append(line(x(m.from), y(m.top), x(m.from) + 56, y(m.top), " buffered"));
      group.append(draw("text", { x: x(m.from) + 8, y: y(m.top) - 6, class: "what own" }, label + " (not received)"));
    } else {
      group.append(line(x(m.to) - 56, y(m.top), x(m.to), y(m.top), " buffered"));
      group.append(draw("text", { x: x(m.to) - 56, y: y(m.top) - 6, class: "what own" }, label));
    }
    return group;
  }

  function show(step) {
    current = step;
    if (!picture || holder.clientHeight === 0) return;
    const row = Math.max(0, model.after(steps, step) - 1);
    const top = row * ROW;
    if (top < holder.scrollTop || top > holder.scrollTop + holder.clientHeight - TOP - 2 * ROW) {
      holder.scrollTop = top - holder.clientHeight / 2;
    }
    render();
  }

  return { open, show, render, count: messages.length };
})();
