// The keyboard, and the buttons that have a key.
import { $ } from "./dom.js";
import { bookmark, copyLink, goBy, goTo, goToEnd, nextView, toggleTheme } from "./app.js";
import { chooseStep, chosenStep, randomSteps, takeChosen, takeNumber } from "./steps.js";
import { toggleBreakpoint } from "./source.js";
import { forgetWatch } from "./state.js";
import { toggleRow } from "./lanes.js";
import { openDialog } from "./check.js";
import { showExport } from "./export.js";

const keys = {
  j: () => goBy(1),
  k: () => goBy(-1),
  ArrowDown: () => goBy(1),
  ArrowUp: () => goBy(-1),
  PageDown: () => goBy(20),
  PageUp: () => goBy(-20),
  g: () => goTo(0),
  Home: () => goTo(0),
  G: () => goToEnd(),
  End: () => goToEnd(),
  n: () => chooseStep(1),
  p: () => chooseStep(-1),
  r: () => randomSteps(),
  u: () => $("condition").focus(),
  B: () => toggleBreakpointOfChosen(),
  w: () => $("watch").focus(),
  W: () => forgetWatch(),
  "/": () => $("filter").focus(),
  o: () => toggleRow(),
  m: () => nextView(),
  c: () => openDialog(),
  e: () => showExport(),
  b: () => bookmark(),
  y: () => copyLink(),
  t: () => toggleTheme(),
  "?": () => $("keys").showModal(),
};

function toggleBreakpointOfChosen() {
  const step = chosenStep();
  if (step?.line) toggleBreakpoint(step.file, step.line);
}

export function openKeys() {
  $("bookmark").addEventListener("click", bookmark);
  $("link").addEventListener("click", copyLink);
  $("theme").addEventListener("click", toggleTheme);
  $("help").addEventListener("click", () => $("keys").showModal());
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (target.matches("input, select, textarea")) {
      if (key === "Escape") target.blur();
      return;
    }
    const isButton = target.matches("button, [role=button], summary");
    if (key === "Enter" && !isButton) takeChosen();
    else if (/^[1-9]$/.test(key)) takeNumber(Number(key) - 1);
    else if (keys[key] && !(target.matches("[role=tab]") && key.startsWith("Arrow"))) keys[key]();
    else return;
    event.preventDefault();
  });
}
