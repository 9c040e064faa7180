// Elements. Texts come from the user's model: they become text nodes, never markup.
export const $ = (id) => document.getElementById(id);

/** An element with a class and a text. */
export function make(tag, className = "", text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** A button. */
export function button(text, action, className = "") {
  const element = make("button", className, text);
  element.type = "button";
  element.addEventListener("click", action);
  return element;
}

const present = new WeakMap();

/**
 * Makes the children of a box what a list says, and leaves those alone that stay as they are. Each item has
 * a `key`, `what` it shows, and how to `build` its element; `update` is called with the element always.
 */
export function reconcile(box, items) {
  const before = present.get(box) ?? new Map(), after = new Map();
  for (const { key, what, build, update } of items) {
    const text = JSON.stringify(what), known = before.get(key);
    const element = known?.text === text && known.element.parentNode === box ? known.element : build();
    update?.(element);
    after.set(key, { text, element });
  }
  present.set(box, after);
  const wanted = new Set([...after.values()].map(({ element }) => element));
  for (const child of [...box.childNodes]) if (!wanted.has(child)) child.remove();
  let at = box.firstChild;
  for (const element of wanted) {
    if (element === at) at = at.nextSibling;
    else box.insertBefore(element, at);
  }
}

/** An element of a drawing. */
export function draw(tag, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** A value as text; channels are lists. */
export function shown(value) {
  if (value === null || value === undefined) return "–";
  return Array.isArray(value) ? `[${value.join(" | ")}]` : String(value);
}

export const grouped = (number) => Math.round(number).toLocaleString("en");
export const many = (count, what) => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;
export const laneClass = (pid) => `lane-${pid % 8}`;
