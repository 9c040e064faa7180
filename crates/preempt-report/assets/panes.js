// Panes that can be made wider: a bar between two of them, for the pointer and for the arrow keys.
function resizablePanes() {
  const main = document.querySelector("main");
  const STEP = 24, NARROWEST = 160;
  /** The pane that is shown on one side of a bar. */
  const beside = (bar, next) => {
    let pane = bar[next];
    while (pane && (pane.hidden || pane.getClientRects().length === 0 || pane.classList.contains("splitter"))) pane = pane[next];
    return pane;
  };
  const name = (pane) => (pane.id === "sources" ? "--middle" : pane.id === "state" ? "--right" : "--left");

  function move(bar, by) {
    const before = beside(bar, "previousElementSibling"), after = beside(bar, "nextElementSibling");
    if (!before || !after) return;
    // All widths in pixels as shares, so that the panes keep them in proportion when the window changes.
    const widths = new Map([...main.children].filter((pane) => pane.classList.contains("panel") && pane.offsetWidth).map((pane) => [pane, pane.offsetWidth]));
    const moved = Math.max(NARROWEST - widths.get(before), Math.min(widths.get(after) - NARROWEST, by));
    widths.set(before, widths.get(before) + moved);
    widths.set(after, widths.get(after) - moved);
    for (const [pane, width] of widths) main.style.setProperty(name(pane), width + "fr");
    dispatchEvent(new Event("resize"));
  }

  for (const bar of document.querySelectorAll(".splitter")) {
    bar.addEventListener("pointerdown", (event) => {
      bar.setPointerCapture(event.pointerId);
      let last = event.clientX;
      const drag = (e) => { move(bar, e.clientX - last); last = e.clientX; };
      const stop = () => { bar.removeEventListener("pointermove", drag); bar.removeEventListener("pointerup", stop); };
      bar.addEventListener("pointermove", drag);
      bar.addEventListener("pointerup", stop);
      event.preventDefault();
    });
    bar.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
      if (!by) return;
      move(bar, by);
      event.preventDefault();
      event.stopPropagation();
    });
  }
}

