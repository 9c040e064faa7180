// What was read from where, in an execution that is no interleaving: arrows over the lanes from the row of the store
// to the row of the load. Stale ones are dashed and marked; the label of the row says the same in words.
const readsView = (() => {
  const { data, lanes } = model;
  const of = new Map(data.reads.map(([step, from, missed]) => [step, { from, missed }]));

  /** In words, for the row of the step. */
  function words(step) {
    const read = of.get(step);
    if (!read) return "";
    const source = read.from < 0 ? "the initial value" : `what step ${read.from + 1} stored`;
    const missed = read.missed < 0 ? "" : `, stale: step ${read.missed + 1} stored a newer value`;
    return `reads ${source}${missed}`;
  }

  /** Where the cell of a lane begins and ends. */
  function edges(pid) {
    const head = $("names").children[lanes.get(pid) + 1];
    return [head.offsetLeft + 6, head.offsetLeft + head.offsetWidth - 6];
  }

  function arrow(step, { from, missed }, middle, height) {
    const stale = missed >= 0;
    const [left, right] = edges(data.pid[step]);
    const y1 = middle(from), y2 = middle(step);
    let path;
    if (from < 0) {
      // From the initial state, along the left side of the lane.
      path = `M${left + 4} ${y1}C${left - 26} ${y1 + height} ${left - 26} ${y2 - height} ${left} ${y2}`;
    } else {
      const [a, b] = edges(data.pid[from]);
      if (a === left) path = `M${right} ${y1}C${right + 26} ${y1} ${right + 26} ${y2} ${right} ${y2}`;
      else if (a < left) path = `M${b - 24} ${y1}C${b + 12} ${y1} ${left - 30} ${y2} ${left} ${y2}`;
      else path = `M${a + 4} ${y1}C${a - 24} ${y1} ${right + 30} ${y2} ${right} ${y2}`;
    }
    const group = draw("g", { class: stale ? "read stale" : "read" });
    group.append(draw("title", {}, `step ${step + 1} ${words(step)}`));
    group.append(draw("path", { d: path, "marker-end": stale ? "url(#read-stale)" : "url(#read-head)" }));
    if (stale) group.append(draw("text", { x: right - 14, y: y2 + 4 }, "stale"));
    return group;
  }

  function head(id) {
    const marker = draw("marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" });
    marker.append(draw("path", { d: "M0 0L10 5L0 10z" }));
    return marker;
  }

  /** The arrows that meet the rows from `first` to `last`, as one picture over them; null without any. */
  function picture(rowOf, first, last, ROW) {
    if (!data.reads.length) return null;
    const middle = (step) => (rowOf(step) + 0.5) * ROW;
    const seen = data.reads.filter(([step, from]) => rowOf(from) <= last && rowOf(step) >= first);
    const label = "What was read from where: " + (seen.map(([step]) => `step ${step + 1} ${words(step)}`).join("; ") || "nothing in view");
    const svg = draw("svg", { class: "reads-svg", role: "img", "aria-label": label });
    const definitions = draw("defs", {});
    definitions.append(head("read-head"), head("read-stale"));
    svg.append(definitions, ...seen.map(([step]) => arrow(step, of.get(step), middle, ROW)));
    return svg;
  }

  return { words, picture };
})();

