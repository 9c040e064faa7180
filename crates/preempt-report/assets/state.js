// The state after a step: variables with what changed and their history, channels as queues.
const state = (() => {
  const { data, count } = model;
  const views = [];
  let current = -1, go = () => {};

  function open(onChoose) {
    go = onChoose;
    let lastOwner = "";
    const variable = (index, body) => {
      const row = make("tr");
      const [owner, short] = ownerOf(index);
      if (owner !== lastOwner && owner) {
        const heading = make("tr", "owner");
        const cell = make("th", "", owner);
        cell.colSpan = 3;
        heading.append(cell);
        body.append(heading);
      }
      lastOwner = owner;
      const name = make("th");
      name.append(shortened("span", "", short));
      name.scope = "row";
      name.title = model.nameOf(index);
      const value = make("td", "value"), history = make("td", "spark");
      row.append(name, value, history);
      body.append(row);
      const view = { index, row, value, marker: null, list: null };
      if (model.changedAt[index].length) {
        const button = make("button", "");
        button.title = "history of " + model.nameOf(index);
        button.setAttribute("aria-expanded", "false");
        button.append(spark(view));
        button.addEventListener("click", () => toggleHistory(view, button));
        history.append(button);
      }
      views.push(view);
    };
    propositionRows();
    const [body] = $("variables").tBodies;
    const all = data.variables.map((_, index) => index).filter((index) => !data.channels[index]);
    const moving = all.filter((index) => model.changedAt[index].length);
    const still = all.filter((index) => !model.changedAt[index].length);
    moving.forEach((index) => variable(index, body));
    if (still.length) {
      const box = $("constants");
      box.hidden = false;
      box.querySelector("summary").textContent = still.length === 1 ? "1 variable never changes" : `${still.length} variables never change`;
      const table = box.querySelector("tbody");
      lastOwner = "";
      still.slice(0, 500).forEach((index) => variable(index, table));
    }
  }

  const propositions = [];

  /** A row for each state expression of the property: whether it holds now, and along the way. */
  function propositionRows() {
    if (!data.propositions.length) return;
    const [body] = $("propositions").tBodies;
    $("propositions").hidden = false;
    for (const [name, holds] of data.propositions) {
      const row = make("tr", "proposition"), label = make("th"), value = make("td", "value"), curve = make("td", "spark");
      label.scope = "row";
      label.append(shortened("span", "", name));
      label.title = name;
      const points = [];
      let before = null;
      holds.forEach((held, at) => {
        if (held >= 0 && held !== before) points.push([at - 1, before = held]);
      });
      const marker = draw("line", { y1: 0, y2: HEIGHT, class: "now" });
      const picture = draw("svg", { width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
      picture.append(marker, draw("path", { d: stairs(points), class: "curve" }));
      curve.append(picture);
      row.append(label, value, curve);
      body.append(row);
      propositions.push({ holds, row, value, marker });
    }
  }

  /** The value that counts after a step: the property does not look inside indivisible sequences. */
  function heldAt(holds, step) {
    for (let at = step + 1; at >= 0; at--) if (holds[at] >= 0) return holds[at];
    return -1;
  }

  function showPropositions() {
    for (const { holds, row, value, marker } of propositions) {
      const now = heldAt(holds, current), before = current < 0 ? now : heldAt(holds, current - 1);
      value.textContent = now < 0 ? "·" : now ? "true" : "false";
      row.classList.toggle("fresh", now !== before);
      marker.setAttribute("x1", x(current));
      marker.setAttribute("x2", x(current));
    }
  }

  /** At a deadlock: why each process waits, and for whom. */
  function showWaiting() {
    const box = $("waiting");
    if (current < count - 1 || !data.waiting.length) { box.replaceChildren(); return; }
    const list = make("ul", "waiting");
    for (const { pid, name, since, reasons, who } of data.waiting) {
      const item = make("li", "lane-" + (model.lanes.get(pid) ?? pid) % 8);
      item.append(make("b", "", name), make("span", "", " " + since));
      for (const text of [...reasons, who]) item.append(make("small", "", text));
      list.append(item);
    }
    box.replaceChildren(make("h3", "", "who waits for whom"), list);
  }

  /** `worker(1):n` belongs to `worker(1)`; a global belongs to nobody. */
  function ownerOf(index) {
    const name = model.nameOf(index), at = name.indexOf(":");
    return at > 0 ? [name.slice(0, at), name.slice(at + 1)] : ["", name];
  }

  const WIDTH = 90, HEIGHT = 22;
  const x = (step) => ((step + 1) / Math.max(1, count)) * (WIDTH - 4) + 2;

  /** A line that keeps its value until the next point, all of it inside the picture. */
  function stairs(points) {
    if (!points.length) return "";
    const low = Math.min(...points.map((p) => p[1])), high = Math.max(...points.map((p) => p[1]));
    const y = (v) => (HEIGHT - 4 - ((v - low) / Math.max(1, high - low)) * (HEIGHT - 8)).toFixed(1);
    let path = `M2 ${y(points[0][1])}`;
    for (const [step, v] of points.slice(1)) path += `H${x(step).toFixed(1)}V${y(v)}`;
    return path + `H${WIDTH - 2}`;
  }

  /** A step line of all values; words are ranked in the order of their first appearance. */
  function spark(view) {
    const at = model.changedAt[view.index], to = model.changedTo[view.index];
    const ranks = new Map();
    const level = (value) => {
      const v = value < 0 ? null : data.values[value];
      if (typeof v === "number") return v;
      if (!ranks.has(value)) ranks.set(value, ranks.size);
      return ranks.get(value);
    };
    const stride = Math.max(1, Math.ceil(at.length / 400));
    const points = [[-1, level(data.initial[view.index])]];
    for (let i = 0; i < at.length; i += stride) points.push([at[i], level(to[i])]);
    const picture = draw("svg", { width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
    view.marker = draw("line", { y1: 0, y2: HEIGHT, class: "now" });
    view.at = x;
    picture.append(view.marker, draw("path", { d: stairs(points), class: "curve" }));
    return picture;
  }

  function toggleHistory(view, button) {
    if (view.list) {
      view.list.remove();
      view.list = null;
      button.setAttribute("aria-expanded", "false");
      return;
    }
    button.setAttribute("aria-expanded", "true");
    view.list = make("tr", "history");
    const cell = make("td");
    cell.colSpan = 3;
    const at = model.changedAt[view.index], to = model.changedTo[view.index];
    const middle = model.after(at, current), from = Math.max(0, middle - 100);
    for (let i = from; i < Math.min(at.length, from + 200); i++) {
      const link = make("button", "", `${at[i] + 1}: ${model.show(i ? to[i - 1] : data.initial[view.index])} → ${model.show(to[i])}`);
      link.addEventListener("click", () => go(at[i]));
      cell.append(link);
    }
    view.list.append(cell);
    view.row.after(view.list);
  }

  function show(step) {
    current = step;
    $("state-title").textContent = current < 0 ? "State at the start" : `State after step ${current + 1}`;
    for (const view of views) {
      const now = model.valueAt(view.index, current);
      const at = model.after(model.changedAt[view.index], current);
      const fresh = at > 0 && current >= 0 && model.changedAt[view.index][at - 1] === current;
      view.row.classList.toggle("fresh", fresh);
      view.row.classList.toggle("absent", now < 0);
      if (fresh) {
        const before = model.valueAt(view.index, current - 1);
        view.value.replaceChildren(make("s", "", model.show(before)), " → ", make("b", "", model.show(now)));
      } else {
        view.value.textContent = model.show(now);
      }
      if (view.marker) {
        view.marker.setAttribute("x1", view.at(current));
        view.marker.setAttribute("x2", view.at(current));
      }
    }
    showPropositions();
    showWaiting();
    channels();
    const printed = current >= 0 && model.output.get(current);
    $("output").replaceChildren(...(printed ? [make("h3", "", "printed"), make("pre", "", printed)] : []));
  }

  /** The messages of a channel; a name that was a plain variable before shows its value. */
  function queueOf(value) {
    if (value < 0) return [];
    return Array.isArray(data.values[value]) ? data.values[value] : [String(data.values[value])];
  }

  function channels() {
    const list = [];
    model.channelNames.forEach((others, index) => {
      const value = model.valueAt(index, current);
      const messages = queueOf(value);
      const at = model.after(model.changedAt[index], current);
      const fresh = at > 0 && current >= 0 && model.changedAt[index][at - 1] === current;
      const box = make("div", fresh ? "channel fresh" : "channel");
      box.append(make("span", "channel-name", model.nameOf(index)));
      const queue = make("ol", "queue");
      queue.setAttribute("aria-label", "oldest first");
      const before = current >= 0 ? model.valueAt(index, current - 1) : -1;
      const grew = fresh && queueOf(before).length < messages.length;
      messages.slice(0, 64).forEach((message, place) => {
        queue.append(make("li", grew && place === messages.length - 1 ? "new" : "", message));
      });
      if (!messages.length) queue.append(make("li", "none", "empty"));
      box.append(queue);
      if (others.length) box.append(make("small", "", "also " + others.map(model.nameOf).join(", ")));
      list.push(box);
    });
    $("channels").replaceChildren(...(list.length ? [make("h3", "", "channels"), ...list] : []));
  }

  return { open, show };
})();

