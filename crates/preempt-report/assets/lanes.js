// The lanes: a row per step, a column per process. Only the rows in view are drawn; all rows are 30
// pixels high, so that the place of each follows from its number.
const laneView = (() => {
  const { data, count, lanes } = model;
  const ROW = 30;
  const LONG_RUN = 6;
  const STEP = 0, PREEMPTION = 1, CYCLE = 2, HIDDEN = 3, START = 4, REST = 5, FAILURE = 6, BACK = 7, FILLER = 8;
  const deadlock = data.failure && ["invalid_end_state", "deadlock"].includes(data.failure.kind);
  const failureText = data.failure ? ["✗ " + data.failure.message, ...data.reasons].join("; ") : "";
  let current = -1, found = [], go = () => {};
  // Whether the row of the current step is opened, so that nothing of it is cut.
  let isOpen = false;

  let kinds = [], subjects = [], collapsed = false;
  const rowOfStep = new Int32Array(count);
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
      if (failureText.length > 60) add(FILLER, count - 1);
    }
    $("spacer").style.height = kinds.length * ROW + "px";
  }

  /** Lanes and changes share the width in proportion to what they have to say. */
  const [laneShare, changesShare] = (() => {
    let statement = 0, changes = 0;
    const stride = Math.max(1, Math.floor(count / 2000));
    for (let step = 0; step < count; step += stride) {
      const seen = (data.seen[step] || []).map((text) => data.strings[text]);
      const text = [...model.changeTexts(step), ...seen].join("  ");
      statement = Math.max(statement, data.strings[data.text[step]].length + 6);
      changes = Math.max(changes, text.length);
    }
    const bounded = (length) => Math.max(16, Math.min(34, length));
    return [bounded(statement), bounded(changes + 2)];
  })();
  const CHANGES = 150, LANE = data.processes.length > 3 ? 128 : 150;

  function template() {
    return `72px repeat(${Math.max(1, data.processes.length)}, minmax(${LANE}px, ${laneShare}fr)) minmax(${CHANGES}px, ${changesShare}fr)`;
  }

  function names() {
    const row = $("names");
    row.style.gridTemplateColumns = template();
    row.append(make("div", "number", "step"));
    data.processes.forEach(([pid, label], lane) => {
      const cell = shortened("div", "name lane-" + (lane % 8), label);
      row.append(cell);
    });
    row.append(make("div", "name changes", "changes"));
    $("spacer").style.minWidth = row.style.minWidth = 72 + LANE * data.processes.length + CHANGES + "px";
  }

  function laneClass(lane) { return `lane-${lane % 8}`; }

  function place(row, cell, from, to) {
    cell.style.gridColumn = to ? `${from} / ${to}` : String(from);
    cell.style.gridRow = "1";
    row.append(cell);
    return cell;
  }

  /** The lifelines of all processes but those with a cell of their own. */
  function lifelines(row, has) {
    data.processes.forEach((_, lane) => {
      if (!has(lane)) place(row, make("div", "life"), lane + 2);
    });
  }

  function option(row, step, label) {
    row.id = "step-" + (step + 1);
    row.setAttribute("role", "option");
    row.setAttribute("aria-label", label);
    row.setAttribute("aria-selected", String(step === current));
    if (step === current) row.classList.add("here");
    if (step === current && isOpen) row.classList.add("opened");
  }

  function stepRow(row, step) {
    const lane = lanes.get(data.pid[step]);
    const partner = data.partner[step] >= 0 ? lanes.get(data.partner[step]) : -1;
    // Of a rendezvous `c!x => c?y` each side gets its half.
    const [text, receives] = partner < 0 ? [data.strings[data.text[step]]] : data.strings[data.text[step]].split(" => ");
    row.classList.add("step");
    const reads = readsView.words(step);
    option(row, step, `step ${step + 1}, ${model.describe(step)}${data.switch[step] === 2 ? ", after a preemption" : ""}${reads && ", " + reads}`);
    row.setAttribute("aria-posinset", step + 1);
    row.setAttribute("aria-setsize", count);
    place(row, make("div", "number", String(step + 1)), 1);
    lifelines(row, (other) => other === lane || other === partner);
    const cell = place(row, make("div", `cell ${laneClass(lane)}`), lane + 2);
    const joins = step > 0 && data.pid[step - 1] === data.pid[step] && step !== data.cycle;
    if (joins) cell.classList.add("goes-on");
    if (data.line[step]) cell.append(make("span", "line", String(data.line[step])));
    cell.append(make("code", "", text));
    if (model.output.has(step)) cell.append(make("span", "printed", "» " + model.output.get(step).trim()));
    cell.title = `${data.strings[data.file[step]]}:${data.line[step]}  ${text}${reads && "\n" + reads}`;
    if (data.failure && step === count - 1 && data.cycle === null && !deadlock) cell.classList.add("failing");
    if (partner >= 0) {
      const sign = lane < partner ? "⇒" : "⇐";
      place(row, make("div", `cell partner ${laneClass(partner)}`, `${sign} ${receives || "receives"}`), partner + 2);
    }
    const box = place(row, make("div", "changes"), data.processes.length + 2);
    const changes = model.changeTexts(step);
    const seen = (data.seen[step] || []).map((text) => data.strings[text]);
    for (const change of changes) box.append(make("span", "change", change));
    for (const text of seen) box.append(make("span", "change seen", text));
    box.title = [...changes, ...seen].join("\n");
    if (found.length && found[model.after(found, step) - 1] === step) row.classList.add("found");
  }

  function preemptionRow(row, step) {
    row.classList.add("preempts");
    place(row, make("div", "number", ""), 1);
    const before = step - 1;
    const from = lanes.get(data.partner[before] >= 0 ? data.partner[before] : data.pid[before]);
    const to = lanes.get(data.pid[step]);
    const [low, high] = [Math.min(from, to), Math.max(from, to)];
    lifelines(row, (lane) => lane >= low && lane <= high);
    const arrow = place(row, make("div", "leap " + (from < to ? "right" : "left")), low + 2, high + 3);
    arrow.append(make("b", "", `⇄ preemption ${model.after(model.preemptions, step)}`),
      make("span", "", ` ${data.processes[from][1]} could go on`));
  }

  function hiddenRow(row, start) {
    const run = model.after(model.runs, start) - 1;
    const end = run + 1 < model.runs.length ? model.runs[run + 1] : count;
    const lane = lanes.get(data.pid[start]);
    place(row, make("div", "number", "⋮"), 1);
    lifelines(row, (other) => other === lane);
    const cell = place(row, make("div", `cell goes-on ${laneClass(lane)}`), lane + 2);
    const button = make("button", "", `⋮ ${end - start - 3} more steps`);
    button.tabIndex = -1;
    button.addEventListener("click", () => { opened.add(start); layRows(); render(true); });
    cell.append(button);
  }

  function restRow(row) {
    row.classList.add("rests", "tall");
    place(row, make("div", "number", "end"), 1);
    lifelines(row, (lane) => model.rest.has(data.processes[lane][0]));
    for (const [pid, file, line, text] of data.rest) {
      const lane = lanes.get(pid), statement = data.strings[text], ended = statement === "-end-";
      if (lane === undefined) continue;
      const cell = place(row, make("div", `cell rest ${laneClass(lane)}`), lane + 2);
      const where = `${deadlock ? "blocked at" : "stands at"} ${line ? `line ${line}` : ""}`;
      cell.append(make("span", "line", ended ? "ended" : where), make("code", "", ended ? "" : statement));
      const wait = data.waiting.find((known) => known.pid === pid);
      cell.title = `${data.strings[file]}:${line}  ${statement}${wait ? "\n" + [wait.since, ...wait.reasons, wait.who].join("\n") : ""}`;
    }
  }

  function startRow(row) {
    option(row, -1, "start");
    place(row, make("div", "number", "0"), 1);
    lifelines(row, () => false);
    place(row, make("div", "changes faint", "initial state"), data.processes.length + 2);
  }

  function bannerRow(row, className, text, tall) {
    row.classList.add(className);
    if (tall) row.classList.add("tall");
    const banner = place(row, make("div", "banner"), 1, -1);
    banner.append(make("span", "", text));
    banner.title = text;
  }

  function buildRow(index) {
    const kind = kinds[index], step = subjects[index];
    const row = make("div", "row");
    row.style.top = index * ROW + "px";
    row.style.gridTemplateColumns = template();
    if (data.cycle !== null && step >= data.cycle && kind !== FAILURE) row.classList.add("in-cycle");
    switch (kind) {
      case STEP: stepRow(row, step); break;
      case PREEMPTION: preemptionRow(row, step); break;
      case HIDDEN: hiddenRow(row, step); break;
      case REST: restRow(row); break;
      case START: startRow(row); break;
      case CYCLE: bannerRow(row, "cycle", "↻ from here on it repeats for ever"); break;
      case BACK: bannerRow(row, "cycle", "↺ back to the start of the cycle"); break;
      case FAILURE: bannerRow(row, "failure", failureText, kinds[index + 1] === FILLER); break;
    }
    if (kind !== HIDDEN) {
      row.addEventListener("click", () => {
        const target = Math.min(step, count - 1);
        // A second click opens the row.
        if (kind === STEP && target === current) toggleRow();
        else go(target);
      });
    }
    return row;
  }

  let drawnFirst = -1, drawnLast = -1;

  /** Draws the rows in view; all of them for paper. */
  function render(force, everything) {
    const scroll = $("scroll");
    let first = Math.max(0, Math.floor(scroll.scrollTop / ROW) - 8);
    while (first > 0 && kinds[first] === FILLER) first--;
    let last = Math.min(kinds.length - 1, first + Math.ceil(scroll.clientHeight / ROW) + 16);
    if (everything) [first, last] = [0, Math.min(kinds.length - 1, 4000)];
    if (!force && first === drawnFirst && last === drawnLast) return;
    [drawnFirst, drawnLast] = [first, last];
    scroll.style.setProperty("--view", scroll.clientWidth + "px");
    const list = [];
    for (let index = first; index <= last; index++) {
      if (kinds[index] !== FILLER) list.push(buildRow(index));
    }
    const reads = readsView.picture((step) => step < 0 ? 0 : rowOfStep[step], first, last, ROW);
    if (reads) {
      reads.setAttribute("width", "100%");
      reads.setAttribute("height", kinds.length * ROW);
      list.push(reads);
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
    const left = head.offsetLeft - 72, right = head.offsetLeft + head.offsetWidth + $("names").lastChild.offsetWidth + 8;
    if (left < scroll.scrollLeft || right > scroll.scrollLeft + scroll.clientWidth) {
      scroll.scrollLeft = (left + right - scroll.clientWidth) / 2;
    }
  }

  function show(step) {
    current = step;
    // A hidden step opens its run.
    if (step >= 0 && kinds[rowOfStep[step]] === HIDDEN) {
      opened.add(model.runs[model.after(model.runs, step) - 1]);
      layRows();
    }
    reveal(step);
    render(true);
  }

  /** Opens the row of the current step, or closes it. */
  function toggleRow() {
    isOpen = !isOpen;
    render(true);
  }

  function mark(steps) {
    found = steps;
    render(true);
  }

  /** Shortens long runs, or shows them in full again. Returns which. */
  function toggleCollapse() {
    collapsed = !collapsed;
    opened.clear();
    layRows();
    show(current);
    return collapsed;
  }

  function open(onChoose) {
    go = onChoose;
    names();
    layRows();
    $("scroll").addEventListener("scroll", () => requestAnimationFrame(() => render(false)));
    addEventListener("beforeprint", () => render(true, true));
    addEventListener("afterprint", () => render(true));
  }

  return { open, show, mark, render, toggleCollapse, toggleRow };
})();

