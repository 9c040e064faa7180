// The page: header, keys, links, finding. `go` is the only way to another step; every part draws
// itself from the model for the step it is given.
(() => {
  const { data, count } = model;
  let current = -1;
  let found = [], words = "";

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
    const marks = { holds: "✓ holds", holds_within_bound: "✓ holds within the bound", violated: "✗ violated", inconclusive: "? inconclusive", nothing: "! nothing to check" };
    $("verdict").textContent = marks[data.verdict] || data.verdict;
    const facts = [data.title];
    if (data.property) facts.push("property: " + data.property);
    if (count) {
      const shown = count < data.cost[0] ? ` (the first ${count.toLocaleString("en")} are shown)` : "";
      facts.push(plural(data.cost[0], "step") + shown, plural(data.cost[1], "preemption"), plural(data.cost[2], "switch", "switches"));
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

  let linkTimer = 0;

  function go(step, fromLink) {
    current = Math.max(-1, Math.min(count - 1, step));
    for (const part of [laneView, chart, sources, state, overview, drawn]) part.show(current);
    $("position").textContent = `${(current + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`;
    $("status").textContent = `step ${current + 1} of ${count}: ${model.describe(current)}`;
    if (fromLink) return;
    // Browsers limit how often an address may change; a held key would exceed it.
    clearTimeout(linkTimer);
    linkTimer = setTimeout(() => {
      const place = `#step=${current + 1}${model.showsAll ? "&all" : ""}`;
      try { history.replaceState(null, "", place); } catch { location.hash = place; }
    }, 120);
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

  function find(text) {
    words = text;
    found = model.search(text);
    $("found").textContent = text.trim() ? (found.length ? `${found.length.toLocaleString("en")} found` : "nothing found") : "";
    laneView.mark(found);
    if (found.length) nextFound(1, current - 1);
  }

  function nextFound(direction, from) {
    if (!found.length) return;
    let at = direction > 0 ? model.after(found, from) : model.after(found, from - 1) - 1;
    at = (at + found.length) % found.length;
    $("found").textContent = `${(at + 1).toLocaleString("en")} of ${found.length.toLocaleString("en")}`;
    go(found[at]);
  }

  const tabs = { lanes: $("lanes"), chart: $("chart"), drawing: $("drawing"), search: $("search-panel") };
  if (!data.drawing) delete tabs.drawing;

  /** The user's drawing of a state: its values are known where they change. */
  const drawn = (() => {
    if (!data.drawing) return { show() {} };
    $("tab-drawing").hidden = false;
    const draw = drawing.open($("drawing-scroll"), data.drawing.scene);
    const columns = data.drawing.values, places = columns.map((column) => column.map(([at]) => at));
    return { show: (step) => draw(columns.map((column, at) => column[model.after(places[at], step + 1) - 1][1])) };
  })();

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
    if (name === "lanes") laneView.show(current);
  }

  function toggleCollapse() {
    $("collapse").setAttribute("aria-pressed", String(laneView.toggleCollapse()));
  }

  /** All processes of a crowd, or only those that move: the page is drawn anew. */
  function toggleEveryone() {
    history.replaceState(null, "", `#step=${current + 1}${model.showsAll ? "" : "&all"}`);
    location.reload();
  }

  function toggleTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    overview.show(current);
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
    const control = event.target.closest && event.target.closest("button, summary, .code, .splitter");
    if (control && (event.key === "Enter" || event.key === " " || event.key.startsWith("Arrow"))) return;
    const actions = {
      j: () => go(current + 1), ArrowDown: () => go(current + 1),
      k: () => go(current - 1), ArrowUp: () => go(current - 1),
      l: () => nextRun(1), ArrowRight: () => nextRun(1),
      h: () => nextRun(-1), ArrowLeft: () => nextRun(-1),
      x: () => nextPreemption(1), X: () => nextPreemption(-1),
      g: () => go(-1), Home: () => go(-1), G: () => go(count - 1), End: () => go(count - 1),
      PageDown: () => go(current + 20), PageUp: () => go(current - 20),
      f: toggleCollapse, t: toggleTheme, o: () => laneView.toggleRow(),
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
    const moving = data.processes.length, { everyone, showsAll } = model;
    $("everyone").hidden = !model.isCrowd;
    $("everyone").textContent = showsAll ? "only those that move" : `${moving} of ${everyone} processes move: show all`;
    $("everyone").addEventListener("click", toggleEveryone);
    $("theme").addEventListener("click", toggleTheme);
    $("help").addEventListener("click", () => $("keys").showModal());
    for (const name of Object.keys(tabs)) $("tab-" + name).addEventListener("click", () => showTab(name));
    $("tab-chart").append(make("small", "", ` ${chart.count.toLocaleString("en")}`));
    let timer = 0;
    $("search").addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => find($("search").value), 80);
    });
    document.addEventListener("keydown", onKey);
    addEventListener("resize", () => { laneView.render(true); chart.render(); overview.show(current); });
    addEventListener("hashchange", () => { const step = linked(); if (step !== null) go(step, true); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => overview.show(current));
  }

  header();
  document.querySelector("main").classList.toggle("crowded", data.processes.length > 3);
  laneView.open((step) => go(step));
  chart.open($("chart-scroll"), (step) => go(step));
  overview.open((step) => go(step));
  state.open((step) => go(step));
  sources.open();
  searchPanel($("figures"));
  resizablePanes();
  controls();
  if (!count && !data.variables.length) {
    // Nothing to step through: the page is about the search.
    document.body.classList.add("no-trace");
    sourcesOfSearch();
    showTab("search");
  }
  // Without a link the page opens where it went wrong: at the end, or where the cycle starts.
  const link = linked();
  go(link !== null ? link : data.cycle !== null ? data.cycle : count - 1, true);
  $("scroll").focus({ preventScroll: true });
})();
