//! Quick fixes: what to write instead, for diagnostics of which the repair is known.
//!
//! A fix is a change of the text. It is offered where the compiler complains; that it helps is checked by
//! applying it in the tests and asking the compiler again.

use crate::document::Document;
use crate::names::Names;
use crate::scan::{Kind, Token};
use crate::symbol::Class;
use std::ops::Range;

/// A change of the text, with a title.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fix {
    pub(crate) title: String,
    /// Bytes and what replaces them, in order, without overlaps.
    pub(crate) edits: Vec<(Range<usize>, String)>,
}

/// The text that fixes are for.
pub(crate) struct Patient<'t> {
    pub(crate) document: &'t Document,
    pub(crate) tokens: &'t [Token],
    pub(crate) names: &'t Names,
}

impl Patient<'_> {
    /// The fixes for a diagnostic, given by its code, message and place.
    pub(crate) fn fixes(&self, code: &str, message: &str, place: Range<usize>) -> Vec<Fix> {
        let text = &self.document.text;
        let Some(word) = text.get(place.clone()) else { return Vec::new() };
        match code {
            "P0040" => self.undeclared(word, message, place),
            "P0020" if message.starts_with("there is no operator") => {
                self.compound_assignment(place.start).into_iter().collect()
            }
            "P0020" if message.starts_with("expected `::`") => {
                self.c_choice(place.start).into_iter().collect()
            }
            "P0031" if word == "while" => self.c_loop(place.start).into_iter().collect(),
            "P0022" => vec![Fix {
                title: "separate the statements by `;`".into(),
                edits: vec![(
                    self.end_before(place.start)..self.end_before(place.start),
                    ";".into(),
                )],
            }],
            _ => Vec::new(),
        }
    }

    /// Changes that are possible at a place, whether or not anything is wrong there.
    pub(crate) fn offers(&self, at: usize) -> Vec<Fix> {
        self.leave_loop(at).into_iter().collect()
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text(&self.document.text))
    }

    fn token_at(&self, byte: usize) -> Option<usize> {
        self.tokens.iter().position(|token| token.range.start <= byte && byte < token.range.end)
    }

    fn source(&self, from: usize, to: usize) -> &str {
        match (self.tokens.get(from), self.tokens.get(to)) {
            (Some(from), Some(to)) => &self.document.text[from.range.start..to.range.end],
            _ => "",
        }
    }

    /// The end of the last token before a byte.
    fn end_before(&self, byte: usize) -> usize {
        let before = self.tokens.iter().rfind(|t| t.range.end <= byte && t.kind != Kind::Comment);
        before.map_or(byte, |token| token.range.end)
    }

    /// The token that closes the bracket at a token.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.word(at) {
                "(" | "{" | "[" => depth += 1,
                ")" | "}" | "]" if depth <= 1 => return Some(at),
                ")" | "}" | "]" => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn undeclared(&self, word: &str, message: &str, place: Range<usize>) -> Vec<Fix> {
        let replace = |by: &str| Fix {
            title: format!("write `{by}`"),
            edits: vec![(place.clone(), by.to_string())],
        };
        match word {
            "TRUE" => return vec![replace("true")],
            "FALSE" => return vec![replace("false")],
            _ => {}
        }
        let mut fixes: Vec<Fix> = Vec::new();
        // `did you mean `x`?`, in the compiler's words.
        if let Some((_, rest)) = message.split_once("did you mean `")
            && let Some((name, _)) = rest.split_once('`')
        {
            fixes.push(replace(name));
        }
        let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || word.is_empty() {
            return fixes;
        }
        let line = |at: usize| self.document.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let mut symbols = self.names.symbols.iter();
        let body = symbols
            .rfind(|s| matches!(s.class, Class::Proctype) && s.extent.contains(&place.start));
        if let Some(body) = body
            && let Some(brace) = self
                .tokens
                .iter()
                .find(|t| t.range.start >= body.place.end && t.text(&self.document.text) == "{")
        {
            fixes.push(Fix {
                title: format!("declare `{word}` in {}", body.name),
                edits: vec![(brace.range.end..brace.range.end, format!("\n\tbyte {word};"))],
            });
        }
        // Before the first thing that is neither comment nor directive.
        let first = self.tokens.iter().find(|t| t.kind != Kind::Comment && !t.in_directive);
        let top = first.map_or(0, |token| line(token.range.start));
        fixes.push(Fix {
            title: format!("declare `{word}` for all processes"),
            edits: vec![(top..top, format!("byte {word};\n"))],
        });
        fixes
    }

    /// `x += e` is `x = x + e`.
    fn compound_assignment(&self, byte: usize) -> Option<Fix> {
        let at = self.token_at(byte)?;
        let operator = self.word(at).trim_end_matches('=').to_string();
        // The operator may be one token or two.
        let equals = if self.word(at).ends_with('=') { at } else { at + 1 };
        if !self.word(equals).ends_with('=')
            || !matches!(
                operator.as_str(),
                "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>"
            )
        {
            return None;
        }
        let mut from = at.checked_sub(1)?;
        // Back over an index and over fields.
        loop {
            if self.word(from) == "]" {
                let mut depth = 0;
                while from > 0 {
                    match self.word(from) {
                        "]" => depth += 1,
                        "[" => depth -= 1,
                        _ => {}
                    }
                    from -= 1;
                    if depth == 0 {
                        break;
                    }
                }
            } else if from >= 2 && self.word(from - 1) == "." {
                from -= 2;
            } else {
                break;
            }
        }
        let place = self.source(from, at - 1).to_string();
        let mut end = equals + 1;
        let mut depth = 0_usize;
        while end < self.tokens.len() {
            match self.word(end) {
                "(" | "[" => depth += 1,
                ")" | "]" if depth == 0 => break,
                ")" | "]" => depth -= 1,
                ";" | "->" | "}" | "::" | "fi" | "od" if depth == 0 => break,
                _ => {}
            }
            end += 1;
        }
        let value = self.source(equals + 1, end.checked_sub(1)?).to_string();
        let value = if end - equals == 2 { value } else { format!("({value})") };
        let whole = self.tokens.get(from)?.range.start..self.tokens.get(end - 1)?.range.end;
        let written = format!("{place} = {place} {operator} {value}");
        Some(Fix { title: format!("write `{written}`"), edits: vec![(whole, written)] })
    }

    /// The statements of a C block or statement that begins at a token, and the token behind it.
    fn c_body(&self, at: usize) -> Option<(String, usize)> {
        if self.word(at) == "{" {
            let close = self.closing(at)?;
            let inner = match close > at + 1 {
                true => self.source(at + 1, close - 1).trim_end_matches(';').to_string(),
                false => "skip".into(),
            };
            return Some((inner, close + 1));
        }
        let end = (at..self.tokens.len()).find(|at| matches!(self.word(*at), ";" | "}"))?;
        (end > at).then(|| (self.source(at, end - 1).to_string(), end))
    }

    /// `if (c) { a } else { b }` is `if :: (c) -> a :: else -> b fi`.
    fn c_choice(&self, byte: usize) -> Option<Fix> {
        let open = self.token_at(byte)?;
        let start =
            open.checked_sub(1).filter(|at| self.word(*at) == "if" && self.word(open) == "(")?;
        let close = self.closing(open)?;
        let (yes, mut end) = self.c_body(close + 1)?;
        let mut no = "skip".to_string();
        let is_else = |at: usize| self.word(at) == "else";
        let mut last = end - 1;
        let otherwise = if is_else(end) {
            Some(end)
        } else {
            (self.word(end) == ";" && is_else(end + 1)).then_some(end + 1)
        };
        if let Some(otherwise) = otherwise {
            (no, end) = self.c_body(otherwise + 1)?;
            last = end - 1;
        }
        let condition = self.source(open, close);
        let written = format!("if :: {condition} -> {yes} :: else -> {no} fi");
        Some(self.rewritten("rewrite it as a choice (`if`) of Promela", start, last, written))
    }

    /// `while (c) { a }` is `do :: (c) -> a :: else -> break od`.
    fn c_loop(&self, byte: usize) -> Option<Fix> {
        let start = self.token_at(byte)?;
        let open = (self.word(start + 1) == "(").then_some(start + 1)?;
        let close = self.closing(open)?;
        let (body, end) = self.c_body(close + 1)?;
        let condition = self.source(open, close);
        let written = format!("do :: {condition} -> {body} :: else -> break od");
        Some(self.rewritten("rewrite it as a loop (`do`) of Promela", start, end - 1, written))
    }

    /// A replacement of whole tokens; a statement that follows without a separator gets one.
    fn rewritten(&self, title: &str, from: usize, to: usize, mut written: String) -> Fix {
        let next = self.word(to + 1);
        if !matches!(next, ";" | "}" | "->" | "::" | "fi" | "od" | "") {
            written.push(';');
        }
        let whole = self.tokens[from].range.start..self.tokens[to].range.end;
        Fix { title: title.into(), edits: vec![(whole, written)] }
    }

    /// A loop that nothing leaves gets a way out.
    fn leave_loop(&self, byte: usize) -> Option<Fix> {
        let start = self.token_at(byte).filter(|at| self.word(*at) == "do")?;
        let (mut depth, mut leaves) = (0_usize, false);
        for at in start..self.tokens.len() {
            match self.word(at) {
                "do" => depth += 1,
                "od" if depth == 1 => {
                    let place = self.end_before(self.tokens[at].range.start);
                    let indent: String = {
                        let line = self.document.text[..self.tokens[start].range.start].rfind('\n');
                        let begin = line.map_or(0, |end| end + 1);
                        let spaces = self.document.text[begin..].chars();
                        spaces.take_while(|c| *c == ' ' || *c == '\t').collect()
                    };
                    return (!leaves).then(|| Fix {
                        title: "add `:: else -> break`".into(),
                        edits: vec![(place..place, format!("\n{indent}:: else -> break"))],
                    });
                }
                "od" => depth -= 1,
                "break" | "else" | "goto" if depth == 1 => leaves = true,
                _ => {}
            }
        }
        None
    }
}
