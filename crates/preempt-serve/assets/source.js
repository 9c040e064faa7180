// The source, with the lines where processes stand, and breakpoints in the margin.
import { $, button, laneClass, make } from "./dom.js";
import { redraw, session } from "./app.js";
import { unreachedLines } from "./check.js";
import { beginEdit, canEdit, editor, isEdited } from "./edit.js";

// More processes at a line are only counted: the text stays where it is.
const MOST_MARKS = 3;
let built = null;
const lines = new Map();
const key = (file, line) => `${file}:${line}`;

const WORDS = {
  model: "active assert atomic bit bool break byte chan d_step do else empty enabled end eval false fi for full goto hidden if init inline int len ltl mtype nempty never nfull od of pid printf priority proctype provided run select short skip timeout true typedef unless unsigned xr xs abortif assume atomic_begin atomic_end begin call choose constrain dead decl elsif end_thread enforce return schoose start_thread then thread thread_local void while",
  C: "auto bool break case char const continue default do double else enum extern float for goto if inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while class delete false namespace new private public template this true using virtual",
  Rust: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
};
let keywords = new Set();
const TOKENS = /(\/\*[\s\S]*?(?:\*\/|$)|\/\/.*|"(?:[^"\\]|\\.)*"?)|([A-Za-z_]\w*)|([\s\S])/g;

/** A line of code as coloured pieces; `open` says whether a comment goes on from the line before. */
function colour(text, open, into) {
  let rest = text;
  if (open) {
    const end = rest.indexOf("*/");
    const comment = end < 0 ? rest : rest.slice(0, end + 2);
    into.append(make("span", "comment", comment));
    rest = rest.slice(comment.length);
    if (end < 0) return true;
  }
  let plain = "", still = false;
  const flush = () => { if (plain) into.append(plain); plain = ""; };
  for (const [, comment, word, other] of rest.matchAll(TOKENS)) {
    if (comment !== undefined) {
      flush();
      into.append(make("span", comment.startsWith('"') ? "string" : "comment", comment));
      still = comment.startsWith("/*") && !(comment.length > 3 && comment.endsWith("*/"));
    } else if (word !== undefined && keywords.has(word)) {
      flush();
      into.append(make("span", "keyword", word));
    } else plain += word ?? other;
  }
  flush();
  return still;
}

function build() {
  const { info } = session;
  const panel = $("source");
  panel.replaceChildren();
  lines.clear();
  built = info;
  shownCoverage = undefined;
  const language = info.kind?.startsWith("Rust") ? "Rust" : info.kind?.startsWith("C") ? "C" : "model";
  keywords = new Set(WORDS[language].split(" "));
  if (info.mistakes.length) panel.append(mistakes(info.mistakes));
  if (isEdited()) {
    panel.append(editor(info.mistakes, rebuild));
    if (info.kind) panel.append(make("p", "file", "as it is checked:"));
  } else if (canEdit()) {
    const bar = make("div", "bar source-bar");
    bar.append(button("Edit", () => { beginEdit(); rebuild(); }, "small"));
    panel.append(bar);
  }
  coverageBar = make("div", "bar coverage-bar");
  coverageBar.hidden = true;
  panel.append(coverageBar);
  for (const { file, text } of info.sources ?? []) {
    const code = make("div", "code");
    if (info.sources.length > 1) panel.append(make("h3", "file", file));
    let comment = false;
    text.replace(/\n$/, "").split("\n").forEach((content, at) => {
      const row = make("div", "code-line");
      const number = button(String(at + 1), () => toggleBreakpoint(file, at + 1), "line");
      number.tabIndex = -1;
      number.setAttribute("aria-label", `Breakpoint at line ${at + 1}`);
      number.setAttribute("aria-pressed", String(session.breakpoints.has(key(file, at + 1))));
      const body = make("code");
      comment = colour(content, comment, body);
      row.append(make("span", "mark"), number, body);
      lines.set(key(file, at + 1), row);
      code.append(row);
    });
    panel.append(code);
  }
}

function rebuild() {
  built = null;
  showSource();
}

let coverageBar = null, shownCoverage, isPainted = true;

/** Which lines some execution reaches, once a check has looked at all executions. */
function paintCoverage() {
  const unreached = unreachedLines();
  const asked = JSON.stringify([unreached && [...unreached], isPainted]);
  if (asked === shownCoverage) return;
  shownCoverage = asked;
  coverageBar.hidden = !unreached;
  for (const row of lines.values()) row.classList.remove("reached", "unreached");
  if (!unreached) return;
  const all = (session.info.statements ?? []).map(([file, line]) => key(file, line));
  const covered = all.filter((place) => !unreached.has(place));
  const label = make("label"), box = make("input");
  box.type = "checkbox";
  box.checked = isPainted;
  box.addEventListener("change", () => { isPainted = box.checked; paintCoverage(); });
  label.append(box, ` coverage: ${covered.length} of ${all.length} lines with statements are reached by some execution`);
  coverageBar.replaceChildren(label);
  if (!isPainted) return;
  for (const place of all) {
    const row = lines.get(place);
    if (!row) continue;
    row.classList.add(unreached.has(place) ? "unreached" : "reached");
    row.title = unreached.has(place) ? "No execution reaches this line." : "";
  }
}

function mistakes(list) {
  const box = make("ul", "mistakes");
  for (const { is_error, code, message, line, notes } of list) {
    const item = make("li", is_error ? "bad" : "warn");
    item.append(make("strong", "", `${is_error ? "error" : "warning"}${code ? " " + code : ""}`), ` ${line ? `line ${line}: ` : ""}${message}`);
    for (const note of notes) item.append(make("div", "soft", note));
    box.append(item);
  }
  return box;
}

/** Sets or removes a breakpoint. */
export function toggleBreakpoint(file, line) {
  const known = session.breakpoints;
  if (!known.delete(key(file, line))) known.set(key(file, line), [file, line]);
  lines.get(key(file, line))?.querySelector(".line").setAttribute("aria-pressed", String(known.has(key(file, line))));
  redraw();
}

export function showSource() {
  if (built !== session.info) build();
  const { look } = session;
  if (!look) return;
  paintCoverage();
  for (const row of document.querySelectorAll(".code-line.at, .code-line.ran")) {
    row.classList.remove("at", "ran");
    row.querySelector(".mark").replaceChildren();
  }
  const last = look.rows.find((row) => row.at === session.here - 1);
  lines.get(last && key(last.file, last.line))?.classList.add("ran");
  let target = null;
  for (const { file, line, count, processes } of look.standing) {
    const row = lines.get(key(file, line));
    if (!row) continue;
    row.classList.add("at");
    if (!target || processes.some(({ pid }) => pid === last?.pid)) target = row;
    const marks = row.querySelector(".mark");
    const named = processes.slice(0, count > MOST_MARKS ? MOST_MARKS - 1 : MOST_MARKS);
    for (const { pid, name, can_move } of named.sort((a, b) => a.pid - b.pid)) {
      const mark = make("b", laneClass(pid) + (can_move ? "" : " waits"), String(pid));
      mark.title = `${name} ${can_move ? "is here" : "waits here"}`;
      marks.append(mark);
    }
    if (count > named.length) {
      const more = make("i", "", `+${count - named.length}`);
      more.title = `${count} processes are here`;
      marks.append(more);
    }
  }
  if (target && !isEdited()) reveal(target);
}

/** Scrolls the panel, never the page. */
function reveal(row) {
  const panel = $("source"), view = panel.getBoundingClientRect(), place = row.getBoundingClientRect();
  if (place.top < view.top || place.bottom > view.bottom) panel.scrollTop += place.top - view.top - view.height / 2;
}
