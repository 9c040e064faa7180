// A drawing of a state. Its elements come from a tree that was checked before; values become texts, numbers and classes.
const drawing = (() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  // Boolean programs have the values T and F.
  const isOn = (value) => value !== null && value !== undefined && value !== "F" && Number(value) !== 0;
  const asText = (value) => (value === null || value === undefined ? "–" : Array.isArray(value) ? value.join(" | ") : String(value));

  function build({ name, attributes, follows, children }, followers) {
    const element = document.createElementNS(NAMESPACE, name);
    for (const [key, value] of attributes) {
      // The page allows no style attributes in markup.
      if (key === "style") element.style.cssText = value;
      else element.setAttribute(key, value);
    }
    for (const child of children) element.append(typeof child === "string" ? child : build(child, followers));
    if (follows.length) followers.push(follower(element, follows));
    return element;
  }

  /** Shows values in an element; where there is none, it is as in the file. */
  function follower(element, follows) {
    const original = new Map(follows.map(([what]) => [what, element.getAttribute(what)]));
    const transform = element.getAttribute("transform") ?? "";
    const moves = follows.filter(([what]) => what.startsWith("move-"));
    return (values) => {
      for (const [what, at] of follows) {
        const value = values[at];
        if (what === "text") element.textContent = asText(value);
        else if (what === "show") element.style.display = isOn(value) ? "" : "none";
        else if (what.startsWith("class ")) element.classList.toggle(what.slice(6), isOn(value));
        else if (!what.startsWith("move-")) {
          const wanted = value === null || value === undefined ? original.get(what) : String(value);
          if (wanted === null) element.removeAttribute(what);
          else element.setAttribute(what, wanted);
        }
      }
      if (!moves.length) return;
      const by = (axis) => Number(values[moves.find(([what]) => what === axis)?.[1]] ?? 0) || 0;
      element.setAttribute("transform", `translate(${by("move-x")} ${by("move-y")}) ${transform}`.trim());
    };
  }

  /** Builds a drawing inside an element; gives a function that shows values, in the order of the expressions. */
  function open(holder, { style, root }) {
    // Its style is its own, and so are its names.
    const shadow = holder.shadowRoot ?? holder.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`svg { display: block; max-width: 100%; max-height: 100%; margin: auto; color: inherit; }\n${style}`);
    shadow.adoptedStyleSheets = [sheet];
    const followers = [];
    shadow.replaceChildren(build(root, followers));
    return (values) => followers.forEach((follow) => follow(values));
  }

  return { open };
})();
