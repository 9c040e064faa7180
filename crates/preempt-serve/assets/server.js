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
  if (!response.ok) throw Object.assign(new Error(answer.problem || "the server refuses"), { status: response.status });
  return answer;
}

// Trails that the server knows by a name: a long path is sent once. Shorter ones are not worth it.
const MOST_TRAILS = 4, SHORT = 64;
let trails = [];

/** The server calls these choices by this name from now on. */
export function nameTrail(model, trail, choices) {
  trails = [...trails.filter((known) => known.trail !== trail), { model, trail, choices }].slice(-MOST_TRAILS);
}

/** How many choices two paths have in common. */
export function common(a, b) {
  if (a === b) return a.length;
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

/** Asks about a path. Paths in the answer continue the first `kept` choices of it. */
export async function askAt(question, model, choices, more = {}) {
  let onto = null, kept = SHORT;
  for (const known of trails) {
    const same = known.model === model ? common(known.choices, choices) : 0;
    if (same >= kept) [onto, kept] = [known, same];
  }
  if (onto) {
    try {
      const body = { model, onto: { trail: onto.trail, keep: kept }, path: encode(choices.slice(kept)), ...more };
      return { ...(await ask(question, body)), kept };
    } catch (error) {
      if (error.status !== 410) throw error;
      trails = trails.filter((known) => known !== onto);
    }
  }
  return { ...(await ask(question, { model, path: encode(choices), ...more })), kept: 0 };
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

/** The choices behind the text. */
export function decode(text) {
  const choices = [];
  for (const [, large, small] of text.matchAll(/\((\d+)\)|([0-9a-z])/g)) {
    choices.push(large === undefined ? parseInt(small, 36) : Number(large));
  }
  return choices;
}
