// Questions to the server, and what it tells by itself.
const base = new URL(".", location.href.split("#")[0]);

/** Asks; a refusal is an error with its sentence. */
export async function ask(question, body = {}) {
  const response = await fetch(new URL("api/" + question, base), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.problem || "the server refuses");
  return answer;
}

/** Calls `handle` with every event; says when the connection comes and goes. */
export function listen(handle, connection) {
  const source = new EventSource(new URL("api/events", base));
  source.onopen = () => connection(true);
  source.onerror = () => connection(false);
  source.onmessage = (message) => handle(JSON.parse(message.data));
}

const encoded = new WeakMap();

/** A path as text: one character for each of the first 36 choices, others in brackets. */
export function encode(choices) {
  let text = encoded.get(choices);
  if (text === undefined) {
    text = choices.map((c) => (c < 36 ? c.toString(36) : `(${c})`)).join("");
    encoded.set(choices, text);
  }
  return text;
}

/** The first choices and one more. Its text follows from the one that is known. */
export function extended(choices, length, choice) {
  const next = choices.slice(0, length);
  next.push(choice);
  const text = encode(choices);
  // One character for each choice: then the text can be cut like the list.
  if (text.length === choices.length && choice < 36) encoded.set(next, text.slice(0, length) + choice.toString(36));
  return next;
}

/** The choices behind the text. */
export function decode(text) {
  const choices = [];
  for (const [, large, small] of text.matchAll(/\((\d+)\)|([0-9a-z])/g)) {
    choices.push(large === undefined ? parseInt(small, 36) : Number(large));
  }
  return choices;
}
