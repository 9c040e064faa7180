// What the extension does with the server's answers, without anything of the editor: so that it can be tested
// against the real server.
"use strict";

/** The commands that the server executes; the others are the extension's. */
const CHECK = "preempt.check", PAGE = "preempt.page";

/** Asks the server to check a text, or one of its properties. `send(command, arguments)` reaches the server. */
async function check(send, uri, property) {
  const answer = await send(CHECK, property === undefined ? [uri] : [uri, property]);
  return summary(answer);
}

/** One line for the status bar, and whether there is an execution to look at. */
function summary(answer) {
  if (!answer || answer.problem) return { text: (answer && answer.problem) || "no answer", bad: true, trace: false };
  const violated = answer.claims.find((claim) => claim.violation);
  const claim = violated || answer.claims.find((one) => one.verdict === "inconclusive" || one.verdict === "nothing") || answer.claims[0];
  if (!claim) return { text: "nothing to check", bad: true, trace: false };
  const reasons = violated ? violated.violation.reasons : [];
  const vacuous = claim.notes.filter((note) => note.startsWith("vacuous"));
  return {
    text: [claim.claim, ...reasons, ...vacuous].join("; "),
    bad: ["violated", "inconclusive", "nothing"].includes(claim.verdict),
    trace: Boolean(violated),
  };
}

/** The page of the last check of a text, or null. */
async function page(send, uri, property) {
  const answer = await send(PAGE, property === undefined || property === null ? [uri] : [uri, property]);
  return (answer && answer.html) || null;
}

/** A command line for a terminal: nothing in a file name is obeyed by a shell. */
function commandLine(program, words, platform) {
  const quote = (word) => {
    if (/^[A-Za-z0-9_./:=@%+,-]+$/.test(word)) return word;
    if (platform === "win32") return `"${word.replace(/"/g, "")}"`;
    return `'${word.replace(/'/g, `'\\''`)}'`;
  };
  return [program, ...words].map(quote).join(" ");
}

/** Where the execution in a page fails, or null if it is no page of preempt. */
function execution(page) {
  const data = /<script type="application\/json" id="data">([\s\S]*?)<\/script>/.exec(page);
  try {
    const { failure } = JSON.parse(data[1]);
    return { file: (failure && failure.file) || "", line: (failure && failure.line) || 1 };
  } catch {
    return null;
  }
}

/** The files that a name in a page may mean: compilers name them relative to a folder above the page or of the workspace. */
function candidates(file, page, folders) {
  if (!file) return [];
  if (file.startsWith("/")) return [file];
  const above = page.split("/").slice(0, -1);
  const list = folders.map((folder) => `${folder}/${file}`);
  for (let length = above.length; length > 0; length--) list.push([...above.slice(0, length), file].join("/"));
  return list;
}

module.exports = { check, summary, page, commandLine, execution, candidates };
