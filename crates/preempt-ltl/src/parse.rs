//! Text to formula, in the syntax of Spin's `ltl` blocks.
//!
//! Binding, loosest first: `-> <->`, then `||`, `&&`, `U W V R`, then the
//! prefix operators; binary operators group to the left. This is what Spin
//! does with an `ltl` block; `spin -f` gives `&& || -> <->` one common level,
//! so formulas that mix them without parentheses can differ from it.
//! A parenthesised text that is no formula, such as `(x > 3)`, is a
//! proposition with that text as its name. As in `spin -f`, `Xp` means `X p`.

use crate::error::Error;
use crate::formula::Formula;
use rustc_hash::FxHashMap;

/// Deeper nesting is refused: translation recurses over the formula.
const MAX_DEPTH: usize = 200;

/// A formula read from text, with the names of its propositions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The formula; `Prop(i)` is `names[i]`.
    pub formula: Formula,
    /// Names in order of first appearance.
    pub names: Vec<String>,
}

/// Reads a formula.
///
/// ```
/// let parsed = preempt_ltl::parse("[](request -> <> granted)").unwrap();
/// assert_eq!(parsed.names, ["request", "granted"]);
/// ```
pub fn parse(text: &str) -> Result<Parsed, Error> {
    let tokens = tokenize(text)?;
    let mut parser = Parser {
        text,
        tokens,
        position: 0,
        depth: 0,
        names: Vec::new(),
        index: FxHashMap::default(),
    };
    let formula = parser.implication()?;
    if let Some(token) = parser.tokens.get(parser.position) {
        return Err(Error::syntax(text, token.start, format!("unexpected `{}`", token.text(text))));
    }
    if parser.names.len() > 64 {
        return Err(Error::TooManyPropositions(parser.names.len()));
    }
    Ok(Parsed { formula, names: parser.names })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Open,
    Close,
    Not,
    And,
    Or,
    Implies,
    Equivalent,
    Always,
    Eventually,
    Next,
    Until,
    WeakUntil,
    Release,
    True,
    False,
    Name,
    /// Anything else: only allowed inside a parenthesised proposition.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
}

impl Token {
    fn text<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }
}

fn tokenize(text: &str) -> Result<Vec<Token>, Error> {
    const SYMBOLS: [(&str, Kind); 14] = [
        ("<->", Kind::Equivalent),
        ("->", Kind::Implies),
        ("&&", Kind::And),
        ("/\\", Kind::And),
        ("||", Kind::Or),
        ("\\/", Kind::Or),
        ("[]", Kind::Always),
        ("<>", Kind::Eventually),
        ("==", Kind::Other),
        ("!=", Kind::Other),
        ("(", Kind::Open),
        (")", Kind::Close),
        ("!", Kind::Not),
        ("~", Kind::Not),
    ];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let rest = &text[at..];
        if let Some((symbol, kind)) = SYMBOLS.iter().find(|(s, _)| rest.starts_with(s)) {
            tokens.push(Token { kind: *kind, start: at, end: at + symbol.len() });
            at += symbol.len();
        } else if c.is_alphanumeric() || c == '_' {
            let length =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let mut length = length;
            let mut kind = word(&rest[..length]);
            // `Xp` is `X p`, as in `spin -f`.
            let mut after = rest[..length].chars().skip(1);
            if c == 'X' && after.next().is_some_and(|c| c.is_lowercase() || c == 'X') {
                (kind, length) = (Kind::Next, 1);
            }
            tokens.push(Token { kind, start: at, end: at + length });
            at += length;
        } else if c.is_ascii_graphic() {
            tokens.push(Token { kind: Kind::Other, start: at, end: at + 1 });
            at += 1;
        } else {
            return Err(Error::syntax(text, at, format!("unexpected character {c:?}")));
        }
    }
    Ok(tokens)
}

fn word(word: &str) -> Kind {
    match word {
        "true" | "1" => Kind::True,
        "false" | "0" => Kind::False,
        "always" => Kind::Always,
        "eventually" => Kind::Eventually,
        "until" | "stronguntil" | "U" => Kind::Until,
        "weakuntil" | "W" => Kind::WeakUntil,
        "release" | "V" | "R" => Kind::Release,
        "next" | "X" => Kind::Next,
        "implies" => Kind::Implies,
        "equivalent" => Kind::Equivalent,
        "not" => Kind::Not,
        "and" => Kind::And,
        "or" => Kind::Or,
        _ if word.starts_with(|c: char| c.is_ascii_digit()) => Kind::Other,
        _ => Kind::Name,
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
    names: Vec<String>,
    index: FxHashMap<String, u32>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<Kind> {
        self.tokens.get(self.position).map(|t| t.kind)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        let offset = self.tokens.get(self.position).map_or(self.text.len(), |t| t.start);
        Err(Error::syntax(self.text, offset, message))
    }

    fn chain(
        &mut self,
        operators: &[Kind],
        operand: fn(&mut Self) -> Result<Formula, Error>,
    ) -> Result<Formula, Error> {
        let mut left = operand(self)?;
        let mut links = 0;
        while let Some(kind) = self.peek().filter(|k| operators.contains(k)) {
            links += 1;
            if self.depth + links > MAX_DEPTH {
                return self.error("the formula is nested too deeply");
            }
            self.position += 1;
            let right = operand(self)?;
            left = match kind {
                Kind::And => left.and(right),
                Kind::Or => left.or(right),
                Kind::Implies => left.implies(right),
                Kind::Equivalent => left.equivalent(right),
                Kind::Until => left.until(right),
                Kind::WeakUntil => left.weak_until(right),
                _ => left.release(right),
            };
        }
        Ok(left)
    }

    fn implication(&mut self) -> Result<Formula, Error> {
        self.chain(&[Kind::Implies, Kind::Equivalent], Self::disjunction)
    }

    fn disjunction(&mut self) -> Result<Formula, Error> {
        self.chain(&[Kind::Or], Self::conjunction)
    }

    fn conjunction(&mut self) -> Result<Formula, Error> {
        self.chain(&[Kind::And], Self::temporal)
    }

    fn temporal(&mut self) -> Result<Formula, Error> {
        let operators = [Kind::Until, Kind::WeakUntil, Kind::Release];
        self.chain(&operators, Self::prefix)
    }

    fn prefix(&mut self) -> Result<Formula, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error("the formula is nested too deeply");
        }
        let result = self.prefix_inner();
        self.depth -= 1;
        result
    }

    fn prefix_inner(&mut self) -> Result<Formula, Error> {
        let Some(kind) = self.peek() else {
            return self.error("the formula ends where an operand is expected");
        };
        let start = self.position;
        self.position += 1;
        match kind {
            Kind::True => Ok(Formula::True),
            Kind::False => Ok(Formula::False),
            Kind::Not => Ok(self.prefix()?.not()),
            Kind::Always => Ok(self.prefix()?.always()),
            Kind::Eventually => Ok(self.prefix()?.eventually()),
            Kind::Next => Ok(self.prefix()?.next()),
            Kind::Name => Ok(self.proposition(self.tokens[start].text(self.text).to_owned())),
            Kind::Open => self.parenthesised(start),
            _ => {
                self.position = start;
                let found = self.tokens[start].text(self.text);
                self.error(format!("expected an operand, found `{found}`"))
            }
        }
    }

    /// After `(`: a formula, or else opaque text up to the matching `)`.
    fn parenthesised(&mut self, open: usize) -> Result<Formula, Error> {
        if let Some(close) = self.opaque(open) {
            let inner = &self.text[self.tokens[open].end..self.tokens[close].start];
            let name = inner.split_whitespace().collect::<Vec<_>>().join(" ");
            self.position = close + 1;
            return Ok(self.proposition(name));
        }
        let formula = self.implication()?;
        if self.peek() == Some(Kind::Close) {
            self.position += 1;
            return Ok(formula);
        }
        if self.position >= self.tokens.len() {
            self.position = open;
            return self.error("this parenthesis is not closed");
        }
        let found = self.tokens[self.position].text(self.text);
        self.error(format!("expected an operator or `)`, found `{found}`"))
    }

    /// The matching `)` if the text in between is an expression of the model:
    /// it has a foreign operator directly inside and no temporal one anywhere.
    fn opaque(&self, open: usize) -> Option<usize> {
        let mut nesting = 0usize;
        let mut foreign = false;
        for (offset, token) in self.tokens[open..].iter().enumerate() {
            match token.kind {
                Kind::Open => nesting += 1,
                Kind::Close => {
                    nesting -= 1;
                    if nesting == 0 {
                        return foreign.then_some(open + offset);
                    }
                }
                Kind::Other if nesting == 1 => foreign = true,
                Kind::And | Kind::Or | Kind::Implies | Kind::Equivalent if nesting == 1 => {
                    return None;
                }
                Kind::Always
                | Kind::Eventually
                | Kind::Until
                | Kind::WeakUntil
                | Kind::Release
                | Kind::Next => {
                    return None;
                }
                _ => {}
            }
        }
        None
    }

    fn proposition(&mut self, name: String) -> Formula {
        let fresh = self.names.len() as u32;
        let names = &mut self.names;
        let number = *self.index.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            fresh
        });
        Formula::Prop(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let parsed = parse(text).unwrap();
        parsed.formula.display(&parsed.names).to_string()
    }

    /// Groupings as printed by Spin 6.5.2 for `ltl` blocks.
    #[test]
    fn operators_group_as_in_spin() {
        for (text, grouped) in [
            ("p || q && r", "(p || (q && r))"),
            ("p -> q -> r", "((p -> q) -> r)"),
            ("p <-> q -> r", "((p <-> q) -> r)"),
            ("[] p && q", "([]p && q)"),
            ("p && q U r", "(p && (q U r))"),
            ("p U q U r", "((p U q) U r)"),
            ("! p U q", "(!p U q)"),
            ("[] p U q", "([]p U q)"),
            ("always p implies eventually q", "([]p -> <>q)"),
            ("p weakuntil q || r release s", "((p W q) || (r V s))"),
            ("next p equivalent q stronguntil r", "(X p <-> (q U r))"),
            ("[](x > 3 )", "[](x > 3)"),
            ("(len(c) == 2) U (a[1] != 0 && q)", ""),
        ] {
            if grouped.is_empty() {
                assert!(parse(text).is_err(), "{text}");
            } else {
                assert_eq!(shown(text), grouped);
                assert_eq!(shown(&shown(text)), grouped);
            }
        }
    }

    #[test]
    fn bad_text_is_refused_with_a_place() {
        for (text, column) in [
            ("", 1),
            ("p U", 4),
            ("p q", 3),
            ("(p && q", 1),
            ("p )", 3),
            ("p && é\u{7}", 7),
            ("[] -> p", 4),
        ] {
            match parse(text) {
                Err(Error::Syntax { column: found, .. }) => assert_eq!(found, column, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(parse(&"!".repeat(100_000)).is_err());
        assert!(parse(&"(".repeat(100_000)).is_err());
        let long = vec!["p"; 10_000].join(" U ");
        assert!(parse(&long).is_err());
    }
}
