// What can happen next: the possible steps of every process, what each would change, and what it costs.
import { $, button, laneClass, make, many, reconcile } from "./dom.js";
import { act, goBy, goTo, goToEnd, refresh, run, session, take } from "./app.js";

// Of a crowd, so many processes are drawn at once; the others on request.
const MOST_DRAWN = 40;
let order = [], chosen = 0, all = false;

/** How many processes to ask for; all if that is undefined. */
export const processesInView = () => (all ? undefined : MOST_DRAWN);

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

/** The one of the possible steps that is chosen. */
export const chosenStep = () => order[chosen];

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
  const { look } = session, { recording, is_launched } = session.info;
  $("condition").placeholder = session.info.expressions ? `run until, e.g. ${session.info.expressions}` : "run to a breakpoint";
  $("condition").disabled = !session.info.expressions;
  const box = $("steps");
  const focused = box.contains(document.activeElement);
  order = [];
  // The step that the trail takes next comes first to the keyboard.
  const next = session.trail[session.here];
  const items = [];
  const line = (key, className, text) => items.push({ key, what: [className, text], build: () => make("p", className, text) });
  if (look.fault) line("fault", "verdict-line bad", `✗ ${look.fault.message}${look.fault.line ? ` (line ${look.fault.line})` : ""}`);
  const last = look.rows.find((row) => row.at === session.here - 1);
  for (const reason of last?.fault?.reasons ?? []) line(`reason ${reason}`, "reason", reason);
  const ends = {
    finished: recording ? ["soft", "The execution that was saved ends here."]
      : is_launched ? ["soft", session.here ? "The execution ends here." : "No execution that fails is known. Run a test in the list: what fails opens here."]
        : ["good", "All processes have finished."],
    violated: ["bad", "✗ Violated: the execution ends here."],
    deadlock: ["bad", "✗ Deadlock: no process can move, and not all are at a valid end."],
    broken: ["bad", "The execution cannot go on behind this step."],
  };
  if (look.end) line("end", `verdict-line ${ends[look.end][0]}`, ends[look.end][1]);
  if (recording && session.here === recording.steps) {
    const { steps, preemptions, switches } = recording.cost;
    const words = [many(steps, "step"), many(preemptions, "preemption"), many(switches, "switch").replace("switchs", "switches")];
    if (recording.verdict) line("recorded", "verdict-line bad", `✗ ${recording.message} (${words.join(", ")})`);
  }
  if (look.indivisible) line("indivisible", "soft", "Inside an indivisible sequence: only its process can move.");
  if (session.trace?.cycle !== null && session.trace && session.here === session.trace.length) {
    line("cycle", "verdict-line bad", session.trace.cycle + 1 === session.trace.length ? `Step ${session.trace.length} repeats for ever.` : `Steps ${session.trace.cycle + 1} to ${session.trace.length} repeat for ever.`);
  }
  const listed = new Set(look.processes.map(({ pid }) => pid));
  const byProcess = Map.groupBy(look.enabled, ({ pid }) => pid);
  const numbered = (step) => [step, order.push(step) - 1, step.index === next];
  for (const process of look.processes) {
    const steps = (byProcess.get(process.pid) ?? []).map(numbered);
    const wait = look.waits.find(({ pid }) => pid === process.pid);
    items.push({ key: process.pid, what: [process, steps, wait], build: () => group(process, steps, wait) });
  }
  for (const step of look.enabled.filter(({ pid }) => !listed.has(pid))) {
    const shown = numbered(step);
    items.push({ key: `step ${step.index}`, what: shown, build: () => choice(...shown) });
  }
  const others = look.process_count - look.processes.length;
  if (others > 0) {
    const more = () => act(async () => { all = true; await refresh(); });
    items.push({ key: "others", what: others, build: () => button(`${others} more processes`, more) });
  }
  reconcile(box, items);
  chosen = Math.max(0, order.findIndex((step) => step.index === next));
  const choices = box.querySelectorAll(".step-choice");
  choices.forEach((element) => element.classList.remove("chosen"));
  if (focused) choices[chosen]?.focus();
}

/** The steps of a process, or why it has none. */
function group(process, steps, wait) {
  const element = make("div", `process ${laneClass(process.pid)}`);
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", process.name);
  const head = make("div", "process-name");
  head.append(make("b", "", process.name));
  if (steps.length) {
    const alone = button("run ▸", () => run("process", { process: process.pid }), "small");
    alone.title = "Let this process run until it cannot go on, or reaches a breakpoint";
    head.append(alone);
  }
  element.append(head);
  if (!steps.length) {
    const ended = process.text === "-end-";
    // Of an execution that was saved it is not known who could have moved.
    const idle = session.info?.recording || session.info?.is_launched ? (process.text ? "not scheduled here; next" : "takes no further step") : "waits";
    const waits = make("div", "waits", ended ? "ended" : process.can_move ? "takes part in a step above" : wait?.since ?? idle);
    if (!ended) waits.append(" ", make("span", "at-line", process.line ? String(process.line) : ""), make("code", "", process.text));
    element.append(waits);
    for (const text of wait ? [...wait.reasons, wait.who] : []) element.append(make("div", "reason", text));
  }
  for (const step of steps) element.append(choice(...step));
  return element;
}

/** One of the possible steps, its number on the page, and whether the trail takes it. */
function choice(step, number, onTrail) {
  const element = button("", () => take(step.index), "step-choice");
  element.dataset.index = step.index;
  element.append(make("kbd", "", number < 9 ? String(number + 1) : "·"));
  if (step.switch === "preemption") element.append(make("span", "badge", "⇄ preemption"));
  if (step.line) element.append(make("span", "at-line", String(step.line)));
  element.append(make("code", "", step.text));
  if (step.fault) element.append(make("span", "fault", "✗ " + [step.fault.message, ...step.fault.reasons].join("; ")));
  const { words } = step;
  element.append(make("span", "would", words.join("   ") || (step.output ? "» " + step.output.trim() : "")));
  if (onTrail) element.classList.add("on-trail");
  element.setAttribute("aria-label", `${step.process}: ${step.text}, line ${step.line}${words.length ? "; " + words.join(", ") : ""}${step.switch === "preemption" ? "; costs a preemption" : ""}${step.fault ? "; " + step.fault.message : ""}`);
  return element;
}
