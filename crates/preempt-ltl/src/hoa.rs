//! The Hanoi omega-automata format, version 1: reading and writing.
//!
//! Read are Büchi and generalised Büchi automata, acceptance on states or edges,
//! labels on states or edges or implicit. Alternation and other acceptance
//! conditions are refused with the place. Written are ordinary Büchi automata.

use crate::automaton::Automaton;
use crate::degeneralize::degeneralize;
use crate::error::Error;
use crate::generalized::{Generalized, MarkedEdge};
use crate::guard::{Guard, show};
use crate::label::Cube;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// An automaton with the names of its propositions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Proposition `i` of the labels is `names[i]`.
    pub automaton: Automaton,
    /// Names, by number.
    pub names: Vec<String>,
}

/// Writes an automaton; `title` is shown as its name, usually the formula.
pub fn write_hoa(automaton: &Automaton, names: &[String], title: &str) -> String {
    let mut out = String::from("HOA: v1\n");
    let quote = |s: &str| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""));
    let needed = (u64::BITS - automaton.proposition_mask().leading_zeros()) as usize;
    let count = names.len().max(needed);
    let _ = writeln!(out, "name: {}", quote(title));
    let _ = writeln!(out, "States: {}", automaton.len());
    for state in automaton.initial() {
        let _ = writeln!(out, "Start: {state}");
    }
    let _ = write!(out, "AP: {count}");
    for number in 0..count {
        let fallback = format!("p{number}");
        let _ = write!(out, " {}", quote(names.get(number).unwrap_or(&fallback)));
    }
    out.push_str("\nacc-name: Buchi\nAcceptance: 1 Inf(0)\n");
    out.push_str("properties: trans-labels explicit-labels state-acc\n--BODY--\n");
    let literal = |p: u32, value: bool| format!("{}{p}", if value { "" } else { "!" });
    for state in 0..automaton.len() as u32 {
        let mark = if automaton.accepting(state) { " {0}" } else { "" };
        let _ = writeln!(out, "State: {state}{mark}");
        for group in automaton.edges(state).chunk_by(|a, b| a.target == b.target) {
            let cubes: Vec<Cube> = group.iter().map(|e| e.label).collect();
            let label = show(&cubes, literal, ["&", " | ", "t", ""]);
            let _ = writeln!(out, "[{label}] {}", group[0].target);
        }
    }
    out.push_str("--END--\n");
    out
}

/// Reads one automaton.
pub fn read_hoa(text: &str) -> Result<Named, Error> {
    let tokens = tokenize(text)?;
    let mut reader =
        Reader { text, tokens, position: 0, names: Vec::new(), aliases: FxHashMap::default() };
    reader.automaton()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// `Name:` in the header.
    Header(String),
    Name(String),
    Text(String),
    Number(usize),
    Alias(String),
    Symbol(char),
    Body,
    End,
}

fn tokenize(text: &str) -> Result<Vec<(Token, usize)>, Error> {
    let bytes = text.as_bytes();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b if b.is_ascii_whitespace() => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = match text[at..].find("*/") {
                    Some(length) => at + length + 2,
                    None => return Err(Error::syntax(text, start, "this comment is not closed")),
                };
            }
            b'-' if text[at..].starts_with("--BODY--") => {
                tokens.push((Token::Body, start));
                at += 8;
            }
            b'-' if text[at..].starts_with("--END--") => {
                tokens.push((Token::End, start));
                return Ok(tokens);
            }
            b'"' => {
                let (value, end) = quoted(text, start)?;
                at = end;
                tokens.push((Token::Text(value), start));
            }
            b if b.is_ascii_digit() => {
                while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                    at += 1;
                }
                let Ok(value) = text[start..at].parse() else {
                    return Err(Error::syntax(text, start, "this number is too large"));
                };
                tokens.push((Token::Number(value), start));
            }
            b'@' => {
                at += 1;
                while bytes.get(at).is_some_and(|b| is_word(*b)) {
                    at += 1;
                }
                tokens.push((Token::Alias(text[start + 1..at].to_owned()), start));
            }
            b if b.is_ascii_alphabetic() || b == b'_' => {
                while bytes.get(at).is_some_and(|b| is_word(*b)) {
                    at += 1;
                }
                let name = text[start..at].to_owned();
                if bytes.get(at) == Some(&b':') {
                    at += 1;
                    tokens.push((Token::Header(name), start));
                } else {
                    tokens.push((Token::Name(name), start));
                }
            }
            b if b.is_ascii_graphic() => {
                tokens.push((Token::Symbol(b as char), start));
                at += 1;
            }
            _ => return Err(Error::syntax(text, start, "unexpected character")),
        }
    }
    Ok(tokens)
}

/// The text between quotes that begins here, and where it ends.
fn quoted(text: &str, start: usize) -> Result<(String, usize), Error> {
    let bytes = text.as_bytes();
    let mut value = Vec::new();
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return Err(Error::syntax(text, start, "this text is not closed")),
            Some(b'"') => return Ok((String::from_utf8_lossy(&value).into_owned(), at + 1)),
            Some(b'\\') => {
                value.extend(bytes.get(at + 1));
                at += 2;
            }
            Some(b) => {
                value.push(*b);
                at += 1;
            }
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    position: usize,
    names: Vec<String>,
    aliases: FxHashMap<String, Guard>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.position).map(|t| &t.0)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        let offset = self.tokens.get(self.position).map_or(self.text.len(), |t| t.1);
        Err(Error::syntax(self.text, offset, message))
    }

    fn accept(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(&Token::Symbol(symbol));
        self.position += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: char) -> Result<(), Error> {
        if self.accept(symbol) { Ok(()) } else { self.error(format!("expected `{symbol}`")) }
    }

    fn number(&mut self) -> Result<usize, Error> {
        match self.peek() {
            Some(Token::Number(value)) => {
                let value = *value;
                self.position += 1;
                Ok(value)
            }
            _ => self.error("expected a number"),
        }
    }

    fn automaton(&mut self) -> Result<Named, Error> {
        if self.peek() != Some(&Token::Header("HOA".into())) {
            return self.error("a file in this format begins with `HOA: v1`");
        }
        self.position += 1;
        if self.peek() != Some(&Token::Name("v1".into())) {
            return self.error("only version v1 of the format is known");
        }
        self.position += 1;
        let mut automaton = Generalized::default();
        let mut acceptance = None;
        loop {
            match self.peek().cloned() {
                Some(Token::Header(name)) => {
                    self.position += 1;
                    match name.as_str() {
                        "Start" => {
                            let state = self.number()?;
                            if self.peek() == Some(&Token::Symbol('&')) {
                                return self.error("alternating automata are not supported");
                            }
                            automaton.initial.push(self.state(state)?);
                        }
                        "AP" => self.propositions()?,
                        "Alias" => self.alias()?,
                        "Acceptance" => acceptance = Some(self.acceptance()?),
                        // The other headers say nothing that the body does not.
                        _ => self.skip_header(),
                    }
                }
                Some(Token::Body) => break,
                _ => return self.error("expected a header or `--BODY--`"),
            }
        }
        let Some(marks) = acceptance else {
            return self.error("the header has no `Acceptance:`");
        };
        automaton.marks = marks;
        self.position += 1;
        self.body(&mut automaton)?;
        let states = automaton.len() as u32;
        let known = |s: &u32| *s < states;
        if !automaton.initial.iter().all(known)
            || !automaton.edges.iter().flatten().all(|e| known(&e.target))
        {
            return self.error("a state is used that has no `State:` in the body");
        }
        Ok(Named { automaton: ordinary(&automaton), names: std::mem::take(&mut self.names) })
    }

    /// State numbers size the tables, so they must be of this world.
    fn state(&self, number: usize) -> Result<u32, Error> {
        const LIMIT: usize = 1 << 20;
        if number >= LIMIT {
            return Err(Error::TooLarge { limit: LIMIT, unit: "states" });
        }
        Ok(number as u32)
    }

    fn skip_header(&mut self) {
        while !matches!(self.peek(), None | Some(Token::Header(_) | Token::Body)) {
            self.position += 1;
        }
    }

    fn propositions(&mut self) -> Result<(), Error> {
        let count = self.number()?;
        if count > 64 {
            return Err(Error::TooManyPropositions(count));
        }
        while let Some(Token::Text(name)) = self.peek() {
            let name = name.clone();
            self.names.push(name);
            self.position += 1;
        }
        if self.names.len() != count {
            return self.error(format!("expected {count} names of propositions"));
        }
        Ok(())
    }

    fn alias(&mut self) -> Result<(), Error> {
        let Some(Token::Alias(name)) = self.peek().cloned() else {
            return self.error("expected `@` and a name");
        };
        self.position += 1;
        let guard = self.disjunction(0)?;
        self.aliases.insert(name, guard);
        Ok(())
    }

    /// Number of sets, if the condition is `t` or a conjunction of all `Inf(i)`.
    fn acceptance(&mut self) -> Result<u32, Error> {
        let sets = self.number()?;
        if sets > 64 {
            return Err(Error::TooLarge { limit: 64, unit: "acceptance sets" });
        }
        let mut seen = vec![false; sets];
        let mut open = 0;
        loop {
            while self.accept('(') {
                open += 1;
            }
            match self.peek().cloned() {
                Some(Token::Name(name)) if name == "t" && sets == 0 => self.position += 1,
                Some(Token::Name(name)) if name == "Inf" => {
                    self.position += 1;
                    self.expect('(')?;
                    let set = self.number()?;
                    let Some(entry) = seen.get_mut(set) else {
                        return self.error("no such acceptance set");
                    };
                    *entry = true;
                    self.expect(')')?;
                }
                _ => return self.error("only (generalised) Büchi acceptance is supported"),
            }
            while open > 0 && self.accept(')') {
                open -= 1;
            }
            if !self.accept('&') {
                break;
            }
        }
        let next_is_header = matches!(self.peek(), Some(Token::Header(_) | Token::Body));
        if open > 0 || !next_is_header || seen.contains(&false) {
            return self.error("only (generalised) Büchi acceptance is supported");
        }
        Ok(sets as u32)
    }

    fn body(&mut self, automaton: &mut Generalized) -> Result<(), Error> {
        while let Some(Token::Header(name)) = self.peek() {
            if name != "State" {
                return self.error("expected `State:`");
            }
            self.position += 1;
            let state_label = self.label()?;
            let number = self.number()?;
            let state = self.state(number)? as usize;
            if let Some(Token::Text(_)) = self.peek() {
                self.position += 1;
            }
            let state_marks = self.marks(automaton.marks)?;
            if automaton.edges.len() <= state {
                automaton.edges.resize(state + 1, Vec::new());
            }
            let mut implicit = 0u64;
            loop {
                let label = self.label()?;
                if !matches!(self.peek(), Some(Token::Number(_))) {
                    break;
                }
                let number = self.number()?;
                let target = self.state(number)?;
                if self.peek() == Some(&Token::Symbol('&')) {
                    return self.error("alternating automata are not supported");
                }
                let marks = self.marks(automaton.marks)? | state_marks;
                let guard = match (label, &state_label) {
                    (Some(guard), _) => guard,
                    (None, Some(guard)) => guard.clone(),
                    (None, None) => {
                        let mask = if self.names.len() == 64 {
                            u64::MAX
                        } else {
                            (1 << self.names.len()) - 1
                        };
                        if implicit > mask {
                            return self.error("more edges than valuations");
                        }
                        implicit += 1;
                        Guard(vec![Cube::minterm(implicit - 1, mask)])
                    }
                };
                automaton.edges[state].extend(guard.0.into_iter().map(|label| MarkedEdge {
                    target,
                    marks,
                    label,
                }));
            }
        }
        if self.peek() == Some(&Token::End) {
            Ok(())
        } else {
            self.error("expected an edge, `State:` or `--END--`")
        }
    }

    fn marks(&mut self, sets: u32) -> Result<u64, Error> {
        let mut marks = 0;
        if self.accept('{') {
            while !self.accept('}') {
                let set = self.number()?;
                if set >= sets as usize {
                    return self.error("no such acceptance set");
                }
                marks |= 1 << set;
            }
        }
        Ok(marks)
    }

    fn label(&mut self) -> Result<Option<Guard>, Error> {
        if !self.accept('[') {
            return Ok(None);
        }
        let guard = self.disjunction(0)?;
        self.expect(']')?;
        Ok(Some(guard))
    }

    fn disjunction(&mut self, depth: usize) -> Result<Guard, Error> {
        let mut left = self.conjunction(depth)?;
        while self.accept('|') {
            left = left.or(&self.conjunction(depth)?)?;
        }
        Ok(left)
    }

    fn conjunction(&mut self, depth: usize) -> Result<Guard, Error> {
        let mut left = self.atom(depth)?;
        while self.accept('&') {
            left = left.and(&self.atom(depth)?)?;
        }
        Ok(left)
    }

    fn atom(&mut self, depth: usize) -> Result<Guard, Error> {
        if depth > 200 {
            return self.error("the label is nested too deeply");
        }
        if self.accept('!') {
            return self.atom(depth + 1)?.not();
        }
        if self.accept('(') {
            let inner = self.disjunction(depth + 1)?;
            self.expect(')')?;
            return Ok(inner);
        }
        let guard = match self.peek() {
            Some(Token::Name(name)) if name == "t" || name == "f" => Guard::constant(name == "t"),
            Some(Token::Number(p)) if *p < self.names.len() => Guard::proposition(*p as u32),
            Some(Token::Alias(name)) => match self.aliases.get(name) {
                Some(guard) => guard.clone(),
                None => return self.error("this alias is not defined"),
            },
            _ => return self.error("expected a proposition number, `t`, `f`, `!` or `(`"),
        };
        self.position += 1;
        Ok(guard)
    }
}

/// Keeps the states if acceptance is already theirs, else counts marks.
fn ordinary(automaton: &Generalized) -> Automaton {
    let by_state = automaton.marks == 1
        && automaton.edges.iter().all(|edges| edges.iter().all(|e| e.marks == edges[0].marks));
    if by_state { Automaton::from_state_marks(automaton) } else { degeneralize(automaton) }
}
