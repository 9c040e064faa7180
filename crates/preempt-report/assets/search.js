// What was searched: Spin's numbers, what each preemption bound added, code never reached.
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
  table("the search", [
    ["states stored", whole(numbers.states)],
    ...(numbers.revisits ? [["states visited again", whole(numbers.revisits)]] : []),
    ["states matched", whole(numbers.matched)],
    ["transitions", whole(numbers.transitions)],
    ["atomic steps", whole(numbers.atomic)],
    ["depth reached", whole(numbers.depth)],
    ["errors", whole(numbers.errors)],
    ...(numbers.vector ? [["state vector", `${whole(numbers.vector)} bytes`]] : []),
    ["memory", `${(numbers.memory / 1048576).toFixed(1)} MB`],
    ["time", numbers.seconds < 1 ? `${Math.round(numbers.seconds * 1000)} ms` : `${numbers.seconds.toFixed(1)} s`],
  ]);
  const most = Math.max(1, ...numbers.bounds.map((row) => row[1]));
  let before = 0;
  table("states by preemptions needed", numbers.bounds.map(([bound, states, , errors]) => {
    const bar = make("span", "meter");
    const old = make("span", "old"), fresh = make("span", "new");
    old.style.width = (100 * Math.min(before, states)) / most + "%";
    fresh.style.width = (100 * Math.max(0, states - before)) / most + "%";
    bar.append(old, fresh);
    const words = `${whole(states)} (+${whole(Math.max(0, states - before))})${errors ? `, ${whole(errors)} ✗` : ""}`;
    before = states;
    return [`at most ${bound}`, bar, words];
  }));
  table("code that no execution reached", numbers.unreached.map(([process, file, line, text]) => {
    return [process, `${file}:${line}`, make("code", "", text)];
  }));
}

