// The state as its author draws it: the elements once, then the values of each state that is looked at.
/* global drawing */
import { $, make } from "./dom.js";
import { session } from "./app.js";

let built = null, show = () => {};

/** Whether there is anything to show here. */
export const hasDrawing = () => Boolean(session.info?.drawing);

export function showDrawing() {
  const wanted = session.info.drawing, text = JSON.stringify(wanted ?? null);
  if (built !== text) {
    built = text;
    const sheet = make("div", "sheet");
    const words = make("div", "soft");
    words.id = "drawing-problems";
    $("drawing").replaceChildren(sheet, words);
    show = wanted?.scene ? drawing.open(sheet, wanted.scene) : () => {};
  }
  const drawn = session.look?.drawn;
  const problems = wanted?.problem ? [wanted.problem] : drawn?.problems ?? [];
  $("drawing-problems").replaceChildren(...problems.map((problem) => make("p", "problem", problem)));
  if (drawn) show(drawn.values);
}
