// What can happen next: the possible steps of every process, what each would change, and what it costs.
import { $, button, changed, laneClass, make } from "./dom.js";
import { act, goBy, goTo, goToEnd, run, session, take } from "./app.js";

// Of a crowd, so many processes are drawn at once; the others on request.
const MOST_DRAWN = 40;
let order = [], chosen = 0, all = false;

export function openSteps() {
  $("first").addEventListener("click", () => goTo(0));
  $("back").addEventListener("click", () => goBy(-1));
  $("forward").addEventListener("click", () => goBy(1));
  $("last").addEventListener("click", goToEnd);
  $("random").addEventListener("click", randomSteps);
  $("until").addEventListener("submit", (event) => { event.preventDefault(); until("nearest"); });
  $("until-random").addEventListener("click", () => until("random"));
}

const seed = () => Math.floor(Math.random() * 2 ** 32);
export const randomSteps = () => run("random", { steps: 10, seed: seed() });

function until(mode) {
  const condition = $("condition").value.trim();
  const more = condition ? { until: condition } : {};
  $("condition").blur();
  run(mode, mode === "random" ? { ...more, seed: seed() } : more);
}

/** Takes the step with this number on the page. */
export const takeNumber = (number) => take(() => order[number]?.index);
export const takeChosen = () => take(() => order[chosen]?.index);

/** Chooses another step with the keyboard. */
export const chooseStep = (by) => act(async () => {
  if (!order.length) return;
  chosen = (chosen + by + order.length) % order.length;
  document.querySelectorAll("#steps .step-choice").forEach((element, at) => {
    element.classList.toggle("chosen", at === chosen);
    if (at === chosen) element.focus();
  });
});

export function showSteps() {
  const { look } = session;
  $("condition").placeholder = session.info.has_expressions ? "run until, e.g. len(q) > 3" : "run to a breakpoint";
  $("condition").disabled = !session.info.has_expressions;
  const box = $("steps");
  const focused = box.contains(document.activeElement);
  box.replaceChildren();
  order = [];
  // The step that the trail takes next comes first to the keyboard.
  const next = session.trail[session.here];
  if (look.fault) box.append(make("p", "verdict-line bad", `✗ ${look.fault.message}${look.fault.line ? ` (line ${look.fault.line})` : ""}`));
  const ends = {
    finished: ["good", "All processes have finished."],
    deadlock: ["bad", "✗ Deadlock: no process can move, and not all are at a valid end."],
    broken: ["bad", "The execution cannot go on behind this step."],
  };
  if (look.end) box.append(make("p", `verdict-line ${ends[look.end][0]}`, ends[look.end][1]));
  if (look.indivisible) box.append(make("p", "soft", "Inside an indivisible sequence: only its process can move."));
  if (session.trace?.cycle !== null && session.trace && session.here === session.trace.length) {
    box.append(make("p", "verdict-line bad", `From here the steps behind step ${session.trace.cycle} repeat for ever.`));
  }
  const listed = new Set(look.processes.map(({ pid }) => pid));
  const byProcess = Map.groupBy(look.enabled, ({ pid }) => pid);
  const last = look.rows.find((row) => row.at === session.here - 1)?.pid;
  const drawn = all ? look.processes : look.processes.filter(({ pid }, at) => at < MOST_DRAWN || pid === last);
  for (const process of drawn) {
    const steps = byProcess.get(process.pid) ?? [];
    const group = make("div", `process ${laneClass(process.pid)}`);
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", process.name);
    const head = make("div", "process-name");
    head.append(make("b", "", process.name));
    if (steps.length) {
      const alone = button("run ▸", () => run("process", { process: process.pid }), "small");
      alone.title = "Let this process run until it cannot go on, or reaches a breakpoint";
      head.append(alone);
    }
    group.append(head);
    if (!steps.length) {
      const ended = process.text === "-end-";
      const waits = make("div", "waits", ended ? "ended" : process.can_move ? "takes part in a step above" : "waits");
      if (!ended) waits.append(" ", make("span", "at-line", process.line ? String(process.line) : ""), make("code", "", process.text));
      group.append(waits);
    }
    for (const step of steps) group.append(choice(step, next));
    box.append(group);
  }
  for (const step of look.enabled.filter(({ pid }) => !listed.has(pid))) box.append(choice(step, next));
  if (drawn.length < look.processes.length) {
    box.append(button(`${look.processes.length - drawn.length} more processes`, () => { all = true; showSteps(); }));
  }
  chosen = Math.max(0, order.findIndex((step) => step.index === next));
  if (focused) box.querySelectorAll(".step-choice")[chosen]?.focus();
}

function choice(step, next) {
  const number = order.push(step) - 1;
  const element = button("", () => take(step.index), "step-choice");
  element.dataset.index = step.index;
  element.append(make("kbd", "", number < 9 ? String(number + 1) : "·"));
  if (step.switch === "preemption") element.append(make("span", "badge", "⇄ preemption"));
  if (step.line) element.append(make("span", "at-line", String(step.line)));
  element.append(make("code", "", step.text));
  if (step.fault) element.append(make("span", "fault", `✗ ${step.fault.message}`));
  const words = step.changes.map(changed);
  element.append(make("span", "would", words.join("   ") || (step.output ? "» " + step.output.trim() : "")));
  if (step.index === next) element.classList.add("on-trail");
  element.setAttribute("aria-label", `${step.process}: ${step.text}, line ${step.line}${words.length ? "; " + words.join(", ") : ""}${step.switch === "preemption" ? "; costs a preemption" : ""}${step.fault ? "; " + step.fault.message : ""}`);
  return element;
}
