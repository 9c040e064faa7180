// Syntax colours: comments, strings, numbers and keywords, told apart by one expression. Text stays text; a file in a
// language that is not known keeps its plain look.
const colours = (() => {
  const words = (text) => new Set(text.split(" "));
  const C = words("auto break case char const continue default do double else enum extern float for goto if inline int long return short signed sizeof static struct switch typedef union unsigned void volatile while _Atomic bool true false class namespace new delete template public private using nullptr");
  const KEYWORDS = {
    pml: words("active assert atomic bit bool break byte chan d_step D_proctype do else empty enabled eval false fi full goto hidden if init inline int len local ltl mtype nempty never nfull notrace np_ od of pc_value pid printf printm priority proctype provided return run select short show skip timeout trace true typedef unless unsigned xr xs always eventually until weakuntil release implies equivalent U W V X"),
    bp: words("decl begin end void bool if then else fi while do od skip assert assume return goto atomic start_thread lock unlock T F * call thread main nondet constrain abortif print dead enforce schoose"),
    rs: words("as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"),
    c: C, h: C, cc: C, cpp: C, cxx: C, hpp: C,
  };
  const TOKEN = /\/\*[^]*?(?:\*\/|$)|\/\/[^\n]*|"(?:\\[^]|[^"\\\n])*"?|'(?:\\.|[^'\\\n])'|#[ \t]*[a-z]+|[A-Za-z_][A-Za-z_0-9]*|[0-9][A-Za-z_0-9.]*/g;

  function kindOf(token, keywords) {
    if (token.startsWith("/*") || token.startsWith("//")) return "comment";
    if (token[0] === '"' || token[0] === "'") return "string";
    if (token[0] === "#") return "keyword";
    if (token[0] >= "0" && token[0] <= "9") return "digits";
    return keywords.has(token) ? "keyword" : "";
  }

  /** The lines of a file, each a list of pairs: kind ("" for plain) and text. */
  function lines(file, text) {
    const keywords = KEYWORDS[file.slice(file.lastIndexOf(".") + 1).toLowerCase()];
    if (!keywords) return text.split("\n").map((line) => [["", line]]);
    const out = [[]];
    const add = (kind, piece) => piece.split("\n").forEach((part, at) => {
      if (at > 0) out.push([]);
      if (part) out[out.length - 1].push([kind, part]);
    });
    let last = 0;
    for (const match of text.matchAll(TOKEN)) {
      const kind = kindOf(match[0], keywords);
      if (!kind) continue;
      add("", text.slice(last, match.index));
      add(kind, match[0]);
      last = match.index + match[0].length;
    }
    add("", text.slice(last));
    return out;
  }

  /** A `code` element for one line. */
  function element(pieces) {
    const code = make("code");
    for (const [kind, text] of pieces) code.append(kind ? make("span", "syntax-" + kind, text) : text);
    if (!pieces.length) code.append(" ");
    return code;
  }

  return { lines, element };
})();

