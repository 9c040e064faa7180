// The strip under the header: the whole trace at a glance. What does not depend on the current step
// is drawn once per size and theme.
const overview = (() => {
  const { data, count } = model;
  const drawn = document.createElement("canvas");
  let drawnFor = "";

  function show(current) {
    const canvas = $("timeline");
    if (!count) { canvas.hidden = true; return; }
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const key = [width, height, ratio, color("--paper")].join();
    const x = (step) => 8 + (step / count) * (width - 16);
    if (key !== drawnFor) {
      drawnFor = key;
      canvas.width = drawn.width = width * ratio;
      canvas.height = drawn.height = height * ratio;
      const pen = drawn.getContext("2d");
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
    // On paper there is no overview.
    if (!drawn.width || !drawn.height) return;
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(drawn, 0, 0);
    pen.scale(ratio, ratio);
    pen.strokeStyle = color("--ink");
    pen.lineWidth = 2;
    const left = x(Math.max(0, current)), wide = Math.max(4, x(Math.max(0, current) + 1) - left);
    pen.strokeRect(left - 0.5, 9, wide + 1, height - 11);
  }

  /** Calls `choose` with the step under the pointer, while it is down. */
  function open(choose) {
    const canvas = $("timeline");
    canvas.addEventListener("pointerdown", (event) => {
      const jump = (e) => {
        const box = canvas.getBoundingClientRect();
        choose(Math.floor(((e.clientX - box.left - 8) / (box.width - 16)) * count));
      };
      jump(event);
      const stop = () => { removeEventListener("pointermove", jump); removeEventListener("pointerup", stop); };
      addEventListener("pointermove", jump);
      addEventListener("pointerup", stop);
    });
  }

  return { open, show };
})();

