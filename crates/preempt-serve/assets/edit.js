// The text of the model, changed on the page: checked as it stands, saved only when that is asked for.
import { $, button, make } from "./dom.js";
import { act, say, session } from "./app.js";
import { ask } from "./server.js";
import { checkAgain } from "./check.js";

// What is written while the panel is open; the file as it was when that began.
let text = null, before = null, area = null;

export const isEdited = () => text !== null;
export const canEdit = () => Boolean(session.info?.file?.editable);

/** Another model, or its text as the server has it. */
export function openText(anew) {
  const { file } = session.info;
  if (anew) text = null;
  // A text that was tried and not saved is shown as such by every page.
  if (file?.is_draft && text === null) [text, before] = [file.text, file.saved];
}

export function beginEdit() {
  const { file } = session.info;
  [text, before] = [file.text ?? "", file.saved];
}

const isChanged = () => text !== null && text !== session.info.file.saved;

/** The panel: the text, what is wrong with it, and what can be done. */
export function editor(mistakes, close) {
  const box = make("div", "editor"), lines = make("div", "edit-lines");
  const gutter = make("pre", "gutter");
  gutter.setAttribute("aria-hidden", "true");
  area = make("textarea");
  area.value = text;
  area.spellcheck = false;
  area.wrap = "off";
  area.setAttribute("aria-label", "Text of the model");
  const status = make("span", "soft edit-status");
  const wrong = new Set(mistakes.filter((one) => one.is_error).map(({ line }) => line));
  const number = () => {
    lines.style.height = `${Math.min(innerHeight * 0.6, (area.value.split("\n").length + 2) * 20)}px`;
    gutter.replaceChildren(...area.value.split("\n").map((_, at) => make("span", wrong.has(at + 1) ? "bad" : "", `${wrong.has(at + 1) ? "✗ " : ""}${at + 1}\n`)));
    status.textContent = isChanged() ? "not saved" : "as in the file";
  };
  area.addEventListener("input", () => { text = area.value; wrong.clear(); number(); });
  area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; });
  area.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    if (event.key.toLowerCase() === "s") { event.preventDefault(); act(save); }
    if (event.key === "Enter") { event.preventDefault(); act(tryOut); }
  });
  const bar = make("div", "bar");
  const tool = (label, title, action, kind = "small") => {
    const element = button(label, () => act(action), kind);
    element.title = title;
    return element;
  };
  bar.append(
    tool("Check", "Check this text; the file stays as it is (Ctrl+Enter)", tryOut, "small strong"),
    tool("Save", "Write the text to the file (Ctrl+S)", save),
    tool("Discard", "Show the file again", () => discard(close)), status,
  );
  lines.append(gutter, area);
  box.append(bar, lines);
  number();
  const first = [...wrong].filter(Boolean).sort((a, b) => a - b)[0];
  if (first) requestAnimationFrame(() => goToLine(first));
  return box;
}

/** The place of a mistake: selected, and in view. */
function goToLine(line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  area.scrollTop = Math.max(0, (line - 6) * 20);
}

/** The text takes the place of the file's, and what was checked before is checked again. */
async function tryOut() {
  const results = session.info.results ?? [];
  session.checkNext = () => checkAgain(results);
  await ask("edit", { model: session.model, text });
}

async function save() {
  await ask("save", { model: session.model, text, before });
  text = null;
  say("The file is written.");
}

async function discard(close) {
  const tried = session.info.file.is_draft;
  text = null;
  if (tried) await ask("edit", { model: session.model });
  else close();
}

addEventListener("beforeunload", (event) => { if (session.info?.file && isChanged()) event.preventDefault(); });
