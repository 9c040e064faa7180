// The source of every process, with the line it just ran and the line it would run next.
const sources = (() => {
  const { data } = model;
  const files = new Map(data.sources.map(([name, text]) => [name, colours.lines(name, text.replace(/\n$/, ""))]));
  const cards = [];

  function open() {
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
      row.append(make("span", "mark"), make("span", "line", String(n + 1)), colours.element(lines[n] || []));
      list.push(row);
    }
    if (!list.length) list.push(make("p", "nothing", "source not at hand"));
    view.code.replaceChildren(...list);
  }

  /** Whether a process moves again when the cycle starts over. */
  function loops(lane) {
    return data.cycle !== null && model.moves[lane][model.moves[lane].length - 1] >= data.cycle;
  }

  function show(current) {
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

  return { open, show };
})();

