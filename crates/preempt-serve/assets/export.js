// The execution so far, taken along as a file.
import { $, button, make } from "./dom.js";
import { act, choicesHere, say, session } from "./app.js";
import { askAt } from "./server.js";

const FORMS = [
  ["page", "Page (HTML)", "to read in any browser, without a server"],
  ["trace", "Trace (JSON)", "for preempt replay"],
  ["report", "Report (JSON)", "for programs"],
  ["chart", "Messages (SVG)", "a chart of what was sent"],
  ["trail", "Trail of Spin", "for preempt replay and spin -t"],
];

export function openExport() {
  $("export").addEventListener("click", showExport);
  $("export-list").replaceChildren(...FORMS.map(([form, label, use]) => {
    const item = make("li");
    const save = button(label, () => act(() => download(form)));
    save.dataset.form = form;
    item.append(save, make("span", "soft", " " + use));
    return item;
  }));
}

export function showExport() {
  $("export-list").querySelector("[data-form=trail]").parentElement.hidden = session.info?.kind !== "Promela model";
  const { is_launched, recording } = session.info ?? {};
  $("export-list").querySelector("[data-form=trace] + span").textContent = ` for preempt ${is_launched || recording ? "serve" : "replay"}`;
  $("export-dialog").showModal();
}

async function download(form) {
  const { name, text } = await askAt("export", session.model, choicesHere(), { form });
  const address = URL.createObjectURL(new Blob([text]));
  const link = make("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  $("export-dialog").close();
  say(`${name} is saved.`);
}
