// The page: lanes, sources, state, keys. `go` is the only way to another step; every part draws
// itself from the model for the step it is given.
(() => {
  const { data, count, lanes } = model;
  const $ = (id) => document.getElementById(id);
  const ROW = 30;
  const LONG_RUN = 6;
  const STEP = 0, PREEMPTION = 1, CYCLE = 2, HIDDEN = 3, START = 4, REST = 5, FAILURE = 6, BACK = 7, FILLER = 8;
  let current = -1;
  let found = [], words = "";

  // ---- header ---------------------------------------------------------------------------------
  const plural = (n, noun, many) => `${n.toLocaleString("en")} ${n === 1 ? noun : many || noun + "s"}`;

  /** Text in which what stands between backticks is code. */
  function prose(text) {
    const box = make("span", "prose");
    text.split("`").forEach((part, at, all) => {
      const code = at % 2 === 1 && at < all.length - 1;
      box.append(code ? make("code", "", part) : at % 2 === 1 ? "`" + part : part);
    });
    return box;
  }

  const time = (seconds) => (seconds < 0.01 ? "less than 10 ms" : seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`);

  function header() {
    document.querySelector("h1").replaceChildren(prose(data.claim));
    const marks = { holds: "✓ holds", holds_within_bound: "✓ holds within the bound", violated: "✗ violated", inconclusive: "? inconclusive" };
    $("verdict").textContent = marks[data.verdict] || data.verdict;
    const facts = [data.title];
    if (data.property) facts.push(data.property);
    if (count) {
      facts.push(plural(count, "step"), plural(data.cost[1], "preemption"), plural(data.cost[2], "switch", "switches"));
    }
    if (data.failure && data.failure.simplest) facts.push("no simpler execution fails");
    if (data.numbers.states) facts.push(plural(data.numbers.states, "state") + ` in ${time(data.numbers.seconds)}`);
    facts.concat(data.notes).forEach((fact) => $("facts").append(make("span", "", fact)));
    const shown = data.moments.length > 5 ? [...data.moments.slice(0, 3), null, ...data.moments.slice(-1)] : data.moments;
    for (const moment of shown) {
      const item = make("li", moment === null ? "gap" : "");
      if (moment === null) {
        item.append(make("span", "more", `${data.moments.length - 4} more`));
      } else {
        const button = make("button", "moment " + moment.kind);
        const signs = { preemption: "⇄", cycle: "↻", failure: "✗" };
        const title = make("strong", "", `${signs[moment.kind]} ${moment.title}`);
        title.append(make("small", "", ` step ${count ? moment.step + 1 : 0}`));
        button.append(title, prose(moment.detail));
        button.addEventListener("click", () => go(Math.min(moment.step, count - 1)));
        item.append(button);
      }
      $("moments").append(item);
    }
  }

  // ---- rows of the lanes ----------------------------------------------------------------------
  let kinds = [], subjects = [], rowOfStep = new Int32Array(count), collapsed = false;
  const opened = new Set();

  function layRows() {
    kinds = [START];
    subjects = [-1];
    const add = (kind, subject) => { kinds.push(kind); subjects.push(subject); };
    for (let r = 0; r < model.runs.length; r++) {
      const start = model.runs[r], end = r + 1 < model.runs.length ? model.runs[r + 1] : count;
      if (start === data.cycle) add(CYCLE, start);
      if (data.switch[start] === 2) add(PREEMPTION, start);
      const short = collapsed && end - start > LONG_RUN && !opened.has(start);
      for (let step = start; step < end; step++) {
        if (short && step === start + 2) {
          add(HIDDEN, start);
          while (step < end - 1) rowOfStep[step++] = kinds.length - 1;
        }
        rowOfStep[step] = kinds.length;
        add(STEP, step);
      }
    }
    if (data.cycle !== null) add(BACK, count - 1);
    else if (data.rest.length) {
      add(REST, count - 1);
      add(FILLER, count - 1);
    }
    if (data.failure) {
      add(FAILURE, count - 1);
      if (data.failure.message.length > 60) add(FILLER, count - 1);
    }
    $("spacer").style.height = kinds.length * ROW + "px";
  }

  function template() {
    return `72px repeat(${Math.max(1, data.processes.length)}, minmax(150px, 1fr)) minmax(200px, 1.25fr)`;
  }

  function names() {
    const row = $("names");
    row.style.gridTemplateColumns = template();
    row.append(make("div", "number", "step"));
    data.processes.forEach(([pid, label], lane) => {
      const cell = make("div", "name lane-" + (lane % 8), label);
      cell.title = label;
      row.append(cell);
    });
    row.append(make("div", "name changes", "changes"));
    $("spacer").style.minWidth = row.style.minWidth = 72 + 150 * data.processes.length + 200 + "px";
  }

  /** The lane a run continues in, so that neighbouring rows join into one block. */
  function joins(step, other) {
    return other >= 0 && other < count && data.pid[step] === data.pid[other];
  }

  function buildRow(index) {
    const kind = kinds[index], step = subjects[index];
    const row = make("div", "row");
    row.style.top = index * ROW + "px";
    row.style.gridTemplateColumns = template();
    row.dataset.row = index;
    const place = (cell, from, to) => {
      cell.style.gridColumn = to ? `${from} / ${to}` : String(from);
      cell.style.gridRow = "1";
      row.append(cell);
      return cell;
    };
    const life = (except) => data.processes.forEach((_, lane) => {
      if (!except.includes(lane)) place(make("div", "life"), lane + 2);
    });
    if (data.cycle !== null && step >= data.cycle && kind !== FAILURE && !(kind === START)) row.classList.add("in-cycle");
    if (kind === STEP) {
      const lane = lanes.get(data.pid[step]);
      const partner = data.partner[step] >= 0 ? lanes.get(data.partner[step]) : -1;
      row.classList.add("step");
      row.id = "step-" + (step + 1);
      row.setAttribute("role", "option");
      row.setAttribute("aria-posinset", step + 1);
      row.setAttribute("aria-setsize", count);
      row.setAttribute("aria-label", `step ${step + 1}, ${model.describe(step)}${data.switch[step] === 2 ? ", after a preemption" : ""}`);
      place(make("div", "number", String(step + 1)), 1);
      life([lane, partner]);
      const cell = place(make("div", `cell lane-${lane % 8}`), lane + 2);
      if (joins(step, step - 1) && step !== data.cycle) cell.classList.add("goes-on");
      if (data.line[step]) cell.append(make("span", "line", String(data.line[step])));
      cell.append(make("code", "", data.strings[data.text[step]]));
      if (model.output.has(step)) cell.append(make("span", "printed", "» " + model.output.get(step).trim()));
      cell.title = `${data.strings[data.file[step]]}:${data.line[step]}  ${data.strings[data.text[step]]}`;
      if (partner >= 0) place(make("div", `cell partner lane-${partner % 8}`, "⇐ receives"), partner + 2);
      if (data.failure && step === count - 1 && data.cycle === null && data.failure.kind !== "invalid_end_state") cell.classList.add("failing");
      const box = place(make("div", "changes"), data.processes.length + 2);
      // What a channel holds follows from the statement; what a variable holds does not.
      const list = model.changesOf(step);
      list.sort((a, b) => data.channels[a.variable] - data.channels[b.variable]);
      for (const change of list) box.append(make("span", "change", model.changeText(change)));
      box.title = box.textContent;
      if (step === current) row.classList.add("here");
      if (found.length && found[model.after(found, step) - 1] === step) row.classList.add("found");
    } else if (kind === PREEMPTION) {
      row.classList.add("preempts");
      place(make("div", "number", ""), 1);
      const before = step - 1;
      const from = lanes.get(data.partner[before] >= 0 ? data.partner[before] : data.pid[before]);
      const to = lanes.get(data.pid[step]);
      const [low, high] = [Math.min(from, to), Math.max(from, to)];
      data.processes.forEach((_, lane) => {
        if (lane < low || lane > high) place(make("div", "life"), lane + 2);
      });
      const arrow = place(make("div", "leap " + (from < to ? "right" : "left")), low + 2, high + 3);
      arrow.append(make("b", "", `⇄ preemption ${model.after(model.preemptions, step)}`),
        make("span", "", ` ${data.processes[from][1]} could go on`));
    } else if (kind === HIDDEN) {
      const run = model.runs.indexOf(step);
      const end = run + 1 < model.runs.length ? model.runs[run + 1] : count;
      row.classList.add("hidden-run");
      place(make("div", "number", "⋮"), 1);
      const lane = lanes.get(data.pid[step]);
      life([lane]);
      const cell = place(make("div", `cell goes-on lane-${lane % 8}`), lane + 2);
      const button = make("button", "", `⋮ ${end - step - 3} more steps`);
      button.tabIndex = -1;
      button.addEventListener("click", () => { opened.add(step); layRows(); rows(true); });
      cell.append(button);
    } else if (kind === REST) {
      row.classList.add("rests");
      place(make("div", "number", "end"), 1);
      const stuck = data.failure && data.failure.kind === "invalid_end_state";
      row.classList.add("tall");
      data.processes.forEach(([pid], lane) => {
        const at = model.rest.get(pid);
        if (!at) return void place(make("div", "life"), lane + 2);
        const cell = place(make("div", `cell rest lane-${lane % 8}`), lane + 2);
        const text = data.strings[at[3]];
        const where = at[2] ? `line ${at[2]}` : "";
        cell.append(make("span", "line", text === "-end-" ? "ended" : `${stuck ? "blocked at" : "stands at"} ${where}`), make("code", "", text === "-end-" ? "" : text));
        cell.title = `stands at ${data.strings[at[1]]}:${at[2]} before ${text}`;
      });
    } else {
      const texts = {
        [START]: "start",
        [CYCLE]: "↻ from here on it repeats for ever",
        [BACK]: "↺ back to the start of the cycle",
        [FAILURE]: data.failure ? "✗ " + data.failure.message : "",
      };
      row.classList.add({ [START]: "start", [CYCLE]: "cycle", [BACK]: "cycle", [FAILURE]: "failure" }[kind]);
      if (kind === START) {
        place(make("div", "number", "0"), 1);
        life([]);
        const box = place(make("div", "changes", "initial state"), data.processes.length + 2);
        box.classList.add("faint");
        if (current === -1) row.classList.add("here");
        row.id = "step-0";
        row.setAttribute("role", "option");
      } else {
        place(make("div", "banner", texts[kind]), 1, -1).title = texts[kind];
        if (kinds[index + 1] === FILLER) row.classList.add("tall");
      }
    }
    row.addEventListener("click", () => { if (kind !== HIDDEN) go(Math.min(step, count - 1)); });
    return row;
  }

  let drawnFirst = -1, drawnLast = -1;

  /** Draws the rows in view; all of them for paper. */
  function rows(force, everything) {
    const scroll = $("scroll");
    let first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 8);
    while (first > 0 && kinds[first] === FILLER) first--;
    let last = Math.min(kinds.length - 1, first + Math.ceil(scroll.clientHeight / ROW) + 16);
    if (everything) [first, last] = [0, Math.min(kinds.length - 1, 4000)];
    if (!force && first === drawnFirst && last === drawnLast) return;
    [drawnFirst, drawnLast] = [first, last];
    const list = [];
    for (let index = first; index <= last; index++) {
      if (kinds[index] !== FILLER) list.push(buildRow(index));
    }
    $("rows").replaceChildren(...list);
    $("scroll").setAttribute("aria-activedescendant", "step-" + (current + 1));
  }

  function reveal(step) {
    const scroll = $("scroll");
    const index = step < 0 ? 0 : rowOfStep[step];
    const top = index * ROW, view = scroll.clientHeight - ROW;
    // A failing end belongs in view together with its last step.
    const tail = step === count - 1 ? (kinds.length - index) * ROW : 2 * ROW;
    if (top < scroll.scrollTop + ROW || top + tail > scroll.scrollTop + view) {
      scroll.scrollTop = Math.max(0, top - view / 2);
    }
    if (step < 0 || scroll.scrollWidth <= scroll.clientWidth) return;
    // Numbers and changes stay in view at the sides; the lane belongs between them.
    const head = $("names").children[lanes.get(data.pid[step]) + 1];
    const left = head.offsetLeft - 72, right = head.offsetLeft + head.offsetWidth + 212;
    if (left < scroll.scrollLeft || right > scroll.scrollLeft + scroll.clientWidth) {
      scroll.scrollLeft = (left + right - scroll.clientWidth) / 2;
    }
  }

  // ---- moving ---------------------------------------------------------------------------------
  let linkTimer = 0;

  function go(step, fromLink) {
    current = Math.max(-1, Math.min(count - 1, step));
    if (collapsed && current >= 0) openRunOf(current);
    reveal(current);
    rows(true);
    chart.show(current);
    sources();
    state();
    timeline();
    $("position").textContent = `${(current + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
    $("status").textContent = `step ${current + 1} of ${count}: ${model.describe(current)}`;
    if (fromLink) return;
    // Browsers limit how often an address may change; a held key would exceed it.
    clearTimeout(linkTimer);
    linkTimer = setTimeout(() => {
      try { history.replaceState(null, "", "#step=" + (current + 1)); } catch { location.hash = "step=" + (current + 1); }
    }, 120);
  }

  function openRunOf(step) {
    const start = model.runs[model.after(model.runs, step) - 1];
    if (kinds[rowOfStep[step]] === HIDDEN) {
      opened.add(start);
      layRows();
    }
  }

  function linked() {
    const match = /[#&]step=(\d+)/.exec(location.hash);
    return match ? Math.min(count, Number(match[1])) - 1 : null;
  }

  function nextPreemption(direction) {
    const at = model.after(model.preemptions, direction > 0 ? current : current - 1);
    const step = model.preemptions[direction > 0 ? at : at - 1];
    if (step !== undefined) go(step);
  }

  function nextRun(direction) {
    const at = model.after(model.runs, direction > 0 ? current : current - 1);
    const step = model.runs[direction > 0 ? at : at - 1];
    if (step !== undefined) go(step);
    else go(direction > 0 ? count - 1 : -1);
  }

  // ---- search ---------------------------------------------------------------------------------
  function find(text) {
    words = text;
    found = model.search(text);
    $("found").textContent = text.trim() ? (found.length ? `${found.length.toLocaleString("en")} found` : "nothing found") : "";
    if (found.length) nextFound(1, current - 1);
    else rows(true);
  }

  function nextFound(direction, from) {
    if (!found.length) return;
    let at = direction > 0 ? model.after(found, from) : model.after(found, from - 1) - 1;
    at = (at + found.length) % found.length;
    $("found").textContent = `${(at + 1).toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
    go(found[at]);
  }

  // ---- sources --------------------------------------------------------------------------------
  const files = new Map(data.sources.map(([name, text]) => [name, text.replace(/\n$/, "").split("\n")]));
  const cards = [];

  function sourceCards() {
    data.processes.forEach(([pid, label], lane) => {
      const card = make("article", "source lane-" + (lane % 8));
      const title = make("h3", "", label);
      const where = make("span", "where");
      title.append(where);
      const code = make("div", "code");
      code.tabIndex = 0;
      code.setAttribute("aria-label", "source of " + label);
      card.append(title, code);
      $("sources").append(card);
      cards.push({ card, where, code, file: null, from: 0, to: 0 });
    });
    if (!files.size) $("sources").hidden = true;
  }

  /** Very long files are drawn around the current line only. */
  function fill(view, file, line) {
    const lines = files.get(file) || [];
    const inside = view.file === file && (line === 0 || (line > view.from && line <= view.to));
    if (inside) return;
    view.file = file;
    view.from = lines.length > 1200 ? Math.max(0, line - 300) : 0;
    view.to = lines.length > 1200 ? Math.min(lines.length, line + 300) : lines.length;
    const list = [];
    for (let n = view.from; n < view.to; n++) {
      const row = make("div", "code-line");
      row.append(make("span", "mark"), make("span", "line", String(n + 1)), make("code", "", lines[n] || " "));
      list.push(row);
    }
    if (!list.length) list.push(make("p", "nothing", "source not at hand"));
    view.code.replaceChildren(...list);
  }

  /** Whether a process moves again when the cycle starts over. */
  function loops(lane) {
    return data.cycle !== null && model.moves[lane][model.moves[lane].length - 1] >= data.cycle;
  }

  function sources() {
    if (!files.size) return;
    data.processes.forEach((_, lane) => {
      const view = cards[lane];
      const place = model.standsAt(lane, current);
      const file = place.file === null ? null : data.strings[place.file];
      const target = place.next || place.ran;
      const line = target ? target.line : 0;
      fill(view, file, line);
      view.code.querySelectorAll(".next,.ran").forEach((row) => {
        row.classList.remove("next", "ran");
        row.firstChild.textContent = "";
      });
      const mark = (number, name, sign) => {
        const row = number > view.from ? view.code.children[number - view.from - 1] : undefined;
        if (!row || !row.firstChild) return undefined;
        row.classList.add(name);
        row.firstChild.textContent += sign;
        return row;
      };
      const moved = current >= 0 && model.moves[lane][model.after(model.moves[lane], current) - 1] === current;
      view.card.classList.toggle("moved", moved);
      if (moved && place.ran && place.ran.now) mark(place.ran.line, "ran", "✓");
      const ended = place.next && data.strings[place.next.text] === "-end-";
      const row = place.next ? mark(place.next.line, "next", ended ? "■" : "▶") : place.ran ? mark(place.ran.line, "ran", "") : undefined;
      if (row) {
        view.code.scrollTop = row.offsetTop - view.code.clientHeight / 2 + row.offsetHeight / 2;
      }
      const words = [];
      if (moved) words.push(place.ran && place.ran.now ? `ran line ${place.ran.line}` : "received");
      if (place.joins >= 0) words.push(`receives at step ${place.joins + 1}`);
      else if (place.next && place.next.line) {
        words.push(ended ? "ended" : (place.ended && !loops(lane) ? "stands at line " : "next line ") + place.next.line);
      } else if (!place.next && place.ran) words.push("no further step");
      view.where.textContent = words.join(" · ");
    });
  }

  // ---- state ----------------------------------------------------------------------------------
  const views = [];

  function stateTable() {
    const variable = (index, body) => {
      const row = make("tr");
      const name = make("th", "", model.nameOf(index));
      name.scope = "row";
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
      still.slice(0, 500).forEach((index) => variable(index, table));
    }
  }

  const WIDTH = 110, HEIGHT = 22;

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
    const low = Math.min(...points.map((p) => p[1])), high = Math.max(...points.map((p) => p[1]));
    const x = (step) => ((step + 1) / Math.max(1, count)) * (WIDTH - 4) + 2;
    const y = (v) => HEIGHT - 4 - ((v - low) / Math.max(1, high - low)) * (HEIGHT - 8);
    let path = `M2 ${y(points[0][1]).toFixed(1)}`;
    for (const [step, v] of points.slice(1)) path += `H${x(step).toFixed(1)}V${y(v).toFixed(1)}`;
    const picture = draw("svg", { width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
    view.marker = draw("line", { y1: 0, y2: HEIGHT, class: "now" });
    view.at = x;
    picture.append(view.marker, draw("path", { d: path + `H${WIDTH - 2}`, class: "curve" }));
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

  function state() {
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
    data.channels.forEach((is, index) => {
      if (!is) return;
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
      list.push(box);
    });
    $("channels").replaceChildren(...(list.length ? [make("h3", "", "channels"), ...list] : []));
  }

  // ---- overview -------------------------------------------------------------------------------
  const overview = document.createElement("canvas");
  let overviewKey = "";

  function timeline() {
    const canvas = $("timeline");
    if (!count) { canvas.hidden = true; return; }
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const key = [width, height, ratio, color("--paper")].join();
    const x = (step) => 8 + (step / count) * (width - 16);
    if (key !== overviewKey) {
      overviewKey = key;
      canvas.width = overview.width = width * ratio;
      canvas.height = overview.height = height * ratio;
      const pen = overview.getContext("2d");
      pen.scale(ratio, ratio);
      const top = 10, row = (height - top - 4) / data.processes.length;
      data.processes.forEach((_, lane) => {
        pen.fillStyle = color("--lane-" + (lane % 8));
        const y = top + lane * row, moves = model.moves[lane];
        let from = -1, to = -1;
        const flush = () => { if (from >= 0) pen.fillRect(x(from), y + 1, Math.max(1.5, x(to + 1) - x(from) - (count < 400 ? 1 : 0)), Math.max(1.5, row - 2)); };
        for (const step of moves) {
          if (from >= 0 && (step === to + 1 || x(step) - x(to + 1) < 0.5)) to = step;
          else { flush(); from = to = step; }
        }
        flush();
      });
      pen.fillStyle = color("--warn");
      // Many preemptions would paint the lanes over: then they are ticks above them.
      const crowded = model.preemptions.length > width / 24;
      for (const step of model.preemptions) {
        if (crowded) {
          pen.fillRect(x(step) - 0.5, 1, 1, 7);
          continue;
        }
        pen.beginPath();
        pen.moveTo(x(step) - 4, 1);
        pen.lineTo(x(step) + 4, 1);
        pen.lineTo(x(step), 9);
        pen.fill();
        pen.fillRect(x(step) - 0.75, 8, 1.5, height - 12);
      }
      if (data.cycle !== null) {
        pen.strokeStyle = color("--ink");
        pen.strokeRect(x(data.cycle), top - 2, x(count) - x(data.cycle), height - top);
      }
      if (data.failure && data.cycle === null) {
        pen.fillStyle = color("--bad");
        pen.fillRect(x(count) - 2, 2, 4, height - 4);
      }
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(overview, 0, 0);
    pen.scale(ratio, ratio);
    pen.strokeStyle = color("--ink");
    pen.lineWidth = 2;
    const left = x(Math.max(0, current)), wide = Math.max(4, x(Math.max(0, current) + 1) - left);
    pen.strokeRect(left - 0.5, 9, wide + 1, height - 11);
  }

  // ---- controls -------------------------------------------------------------------------------
  const tabs = { lanes: $("lanes"), chart: $("chart"), search: $("search-panel") };

  function nextTab() {
    const names = Object.keys(tabs);
    const at = names.findIndex((name) => !tabs[name].hidden);
    showTab(names[(at + 1) % names.length]);
  }

  function showTab(name) {
    for (const tab of Object.keys(tabs)) {
      tabs[tab].hidden = tab !== name;
      $("tab-" + tab).setAttribute("aria-selected", String(tab === name));
    }
    if (name === "chart") chart.show(current);
    if (name === "lanes") { reveal(current); rows(true); }
  }

  function toggleCollapse() {
    collapsed = !collapsed;
    opened.clear();
    $("collapse").setAttribute("aria-pressed", String(collapsed));
    layRows();
    go(current, true);
  }

  function toggleTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    timeline();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const search = $("search");
    if (event.target === search) {
      if (event.key === "Enter") {
        if (search.value !== words) find(search.value);
        else nextFound(event.shiftKey ? -1 : 1, current);
      } else if (event.key === "Escape") $("scroll").focus();
      else return;
      event.preventDefault();
      return;
    }
    if ($("keys").open) return;
    const control = event.target.closest && event.target.closest("button, summary, .code");
    if (control && (event.key === "Enter" || event.key === " " || event.key.startsWith("Arrow"))) return;
    const actions = {
      j: () => go(current + 1), ArrowDown: () => go(current + 1),
      k: () => go(current - 1), ArrowUp: () => go(current - 1),
      l: () => nextRun(1), ArrowRight: () => nextRun(1),
      h: () => nextRun(-1), ArrowLeft: () => nextRun(-1),
      n: () => nextPreemption(1), N: () => nextPreemption(-1),
      g: () => go(-1), Home: () => go(-1), G: () => go(count - 1), End: () => go(count - 1),
      PageDown: () => go(current + 20), PageUp: () => go(current - 20),
      c: toggleCollapse, t: toggleTheme,
      m: nextTab,
      "/": () => { search.focus(); search.select(); },
      "?": () => $("keys").showModal(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  function controls() {
    $("first").addEventListener("click", () => go(-1));
    $("back").addEventListener("click", () => go(current - 1));
    $("forward").addEventListener("click", () => go(current + 1));
    $("last").addEventListener("click", () => go(count - 1));
    $("preemption").addEventListener("click", () => nextPreemption(1));
    $("preemption").disabled = !model.preemptions.length;
    $("collapse").addEventListener("click", toggleCollapse);
    $("theme").addEventListener("click", toggleTheme);
    $("help").addEventListener("click", () => $("keys").showModal());
    for (const name of Object.keys(tabs)) $("tab-" + name).addEventListener("click", () => showTab(name));
    $("tab-chart").append(make("small", "", ` ${chart.count.toLocaleString("en")}`));
    let timer = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => find($("search").value), 80);
    });
    $("timeline").addEventListener("pointerdown", (event) => {
      const jump = (e) => {
        const box = $("timeline").getBoundingClientRect();
        go(Math.floor(((e.clientX - box.left - 8) / (box.width - 16)) * count));
      };
      jump(event);
      const stop = () => { removeEventListener("pointermove", jump); removeEventListener("pointerup", stop); };
      addEventListener("pointermove", jump);
      addEventListener("pointerup", stop);
    });
    document.addEventListener("keydown", onKey);
    $("scroll").addEventListener("scroll", () => requestAnimationFrame(() => rows(false)));
    addEventListener("resize", () => { rows(true); chart.render(); timeline(); });
    addEventListener("hashchange", () => { const step = linked(); if (step !== null) go(step, true); });
    addEventListener("beforeprint", () => rows(true, true));
    addEventListener("afterprint", () => rows(true));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", timeline);
  }

  header();
  names();
  layRows();
  chart.open($("chart-scroll"), (step) => go(step));
  searchPanel($("figures"));
  sourceCards();
  stateTable();
  controls();
  if (!count && !data.variables.length) {
    // Nothing to step through: the page is about the search.
    document.body.classList.add("no-trace");
    showTab("search");
  }
  // Without a link the page opens where it went wrong: at the end, or where the cycle starts.
  const link = linked();
  go(link !== null ? link : data.cycle !== null ? data.cycle : count - 1, true);
  $("scroll").focus({ preventScroll: true });
})();
