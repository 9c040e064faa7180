// What was searched: what an answer rests on, how much of the code was reached, what each preemption bound added,
// Spin's numbers.
function searchPanel(holder) {
  const { numbers } = model.data;
  const whole = (n) => n.toLocaleString("en");
  const table = (title, rows) => {
    if (!rows.length) return;
    holder.append(make("h3", "", title));
    const body = make("table", "figures");
    for (const cells of rows) {
      const row = make("tr");
      cells.forEach((cell, at) => {
        const box = make(at === 0 ? "th" : "td");
        if (at === 0) box.scope = "row";
        box.append(cell);
        row.append(box);
      });
      body.append(row);
    }
    holder.append(body);
  };
  notes();
  coverage();
  bounds();
  table("the search", [
    ...counted(),
    ["errors", whole(numbers.errors)],
    ...(numbers.vector ? [["state vector", `${whole(numbers.vector)} bytes`]] : []),
    ["memory", `${(numbers.memory / 1048576).toFixed(1)} MB`],
    ["time", numbers.seconds < 1 ? `${Math.round(numbers.seconds * 1000)} ms` : `${numbers.seconds.toFixed(1)} s`],
  ]);

  /** What was counted depends on how was searched: states, real executions, or nodes of decision diagrams. */
  function counted() {
    if (numbers.nodes !== null) return [["nodes of decision diagrams, at most", whole(numbers.nodes)]];
    if (numbers.executions !== null) return [["partial orders", whole(numbers.states)], ["executions", whole(numbers.executions)]];
    return [
      ["states stored", whole(numbers.states)],
      ...(numbers.revisits ? [["states visited again", whole(numbers.revisits)]] : []),
      ["states matched", whole(numbers.matched)],
      ["transitions", whole(numbers.transitions)],
      ["atomic steps", whole(numbers.atomic)],
      ["depth reached", whole(numbers.depth)],
    ];
  }

  function meter(old, fresh, most) {
    const bar = make("span", "meter");
    const parts = [make("span", "old"), make("span", "new")];
    [old, fresh].forEach((share, at) => { parts[at].style.width = (100 * share) / Math.max(1, most) + "%"; });
    bar.append(...parts);
    return bar;
  }

  /** What weakens the answer comes before all numbers. */
  function notes() {
    if (!model.data.notes.length) return;
    holder.append(make("h3", "", "worth knowing"));
    const list = make("ul", "notes");
    for (const note of model.data.notes) list.append(make("li", note.startsWith("vacuous") ? "vacuous" : "", note));
    holder.append(list);
  }

  function coverage() {
    table("statements reached", numbers.statements.map(([process, count]) => {
      const missed = numbers.unreached.filter(([other]) => other === process).length;
      return [process, meter(0, count - missed, count), missed ? `${whole(count - missed)} of ${whole(count)}` : `all ${whole(count)}`];
    }));
  }

  function bounds() {
    const most = Math.max(1, ...numbers.bounds.map((row) => row[1]));
    let before = 0;
    const what = numbers.executions === null ? "states" : "partial orders", work = numbers.executions === null ? "transitions" : "executions";
    table(`${what} by ${numbers.unit} needed`, numbers.bounds.map(([bound, states, transitions, errors]) => {
      const bar = meter(Math.min(before, states), Math.max(0, states - before), most);
      const words = `${whole(states)} (+${whole(Math.max(0, states - before))}), ${whole(transitions)} ${work}${errors ? `, ${whole(errors)} ✗` : ""}`;
      before = states;
      return [`at most ${bound}`, bar, words];
    }));
  }
  table("code that no execution reached", numbers.unreached.map(([process, file, line, text]) => {
    return [process, `${file}:${line}`, make("code", "", text)];
  }));
}

/** Without an execution to step through, the sources show which lines no execution reached. */
function sourcesOfSearch() {
  const { data } = model;
  for (const [file, text] of data.sources) {
    const card = make("article", "source"), title = make("h3", "", file), code = make("div", "code");
    const missed = new Set(data.numbers.unreached.filter(([, other]) => other === file).map(([, , line]) => line));
    title.append(make("span", "where", missed.size ? `${missed.size === 1 ? "1 line" : missed.size + " lines"} with code never reached` : ""));
    code.tabIndex = 0;
    code.setAttribute("aria-label", "source of " + file);
    colours.lines(file, text.replace(/\n$/, "")).slice(0, 5000).forEach((pieces, at) => {
      const row = make("div", missed.has(at + 1) ? "code-line missed" : "code-line");
      if (missed.has(at + 1)) row.title = "never reached";
      row.append(make("span", "mark", missed.has(at + 1) ? "∅" : ""), make("span", "line", String(at + 1)), colours.element(pieces));
      code.append(row);
    });
    card.append(title, code);
    $("sources").append(card);
  }
}

