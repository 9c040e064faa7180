//! The names of a Boolean program: variables, procedures with their parameters, labels.
//!
//! Found in the text itself, as those of Promela, so that they are known while the program does not compile. A
//! variable that is declared outside of all procedures is visible from there on, all others in their procedure.

use crate::names::Names;
use crate::scan::{Kind, Token};
use crate::symbol::{Class, Symbol};
use std::ops::Range;

/// Words that name nothing.
pub(crate) const KEYWORDS: &[&str] = &[
    "F",
    "T",
    "abortif",
    "assert",
    "assume",
    "atomic_begin",
    "atomic_end",
    "begin",
    "bool",
    "call",
    "choose",
    "constrain",
    "dead",
    "decl",
    "dfs",
    "do",
    "else",
    "elsif",
    "end",
    "end_thread",
    "enforce",
    "false",
    "fi",
    "goto",
    "if",
    "init",
    "int",
    "od",
    "print",
    "return",
    "schoose",
    "skip",
    "start_thread",
    "then",
    "thread",
    "thread_local",
    "true",
    "void",
    "while",
];

/// Words in front of which a procedure begins.
const RESULTS: &[&str] = &["void", "bool", "int", "thread", "dfs"];

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<&'t Token>,
    symbols: Vec<Symbol>,
}

/// Finds the names of a program.
pub(crate) fn names(text: &str, tokens: &[Token]) -> Names {
    let tokens = tokens.iter().filter(|token| token.kind != Kind::Comment).collect();
    let mut reader = Reader { text, tokens, symbols: Vec::new() };
    reader.procedures();
    reader.variables();
    reader.labels();
    let uses = reader.uses().into_iter().map(|(range, meant)| (range, vec![meant])).collect();
    Names::new(reader.symbols, uses)
}

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text(self.text))
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word)
            && !KEYWORDS.contains(&self.word(at))
    }

    fn range(&self, at: usize) -> Range<usize> {
        let behind = self.text.len();
        self.tokens.get(at).map_or(behind..behind, |token| token.range.clone())
    }

    /// The token that ends the block that begins at a token, or the last one.
    fn end_of(&self, begin: usize) -> usize {
        let mut depth = 0_usize;
        for at in begin..self.tokens.len() {
            match self.word(at) {
                "begin" => depth += 1,
                "end" if depth <= 1 => return at,
                "end" => depth -= 1,
                _ => {}
            }
        }
        self.tokens.len().saturating_sub(1)
    }

    /// Behind a width such as `<2>`.
    fn past_width(&self, at: usize) -> usize {
        if self.word(at) != "<" {
            return at;
        }
        (at..self.tokens.len()).find(|at| self.word(*at) == ">").map_or(at, |close| close + 1)
    }

    fn push(
        &mut self,
        at: usize,
        class: Class,
        extent: Range<usize>,
        scope: Range<usize>,
        parent: Option<usize>,
    ) {
        let detail: String =
            self.text[extent.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        let detail = detail.chars().take(160).collect();
        let (name, place) = (self.word(at).to_string(), self.range(at));
        self.symbols.push(Symbol { name, class, place, extent, scope, detail, parent });
    }

    fn procedures(&mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            let name = self.past_width(at + 1);
            let begins = RESULTS.contains(&self.word(at)) && self.word(name + 1) == "(";
            if !begins || !(self.is_name(name) || self.word(name) == "init") {
                at += 1;
                continue;
            }
            let open = name + 1;
            let close = (open..self.tokens.len()).find(|at| self.word(*at) == ")");
            let begin = (open..self.tokens.len()).find(|at| self.word(*at) == "begin");
            let (Some(close), Some(begin)) = (close, begin) else { return };
            let end = self.end_of(begin);
            let body = self.range(at).start..self.range(end).end;
            let symbol = self.symbols.len();
            self.push(name, Class::Proctype, body.clone(), 0..self.text.len(), None);
            self.symbols[symbol].detail = self.text[self.range(at).start..self.range(close).end]
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            for parameter in open + 1..close {
                if self.is_name(parameter) {
                    self.push(
                        parameter,
                        Class::Parameter,
                        self.range(parameter),
                        body.clone(),
                        Some(symbol),
                    );
                }
            }
            at = begin + 1;
        }
    }

    /// The procedure whose body a byte lies in.
    fn procedure_at(&self, place: usize) -> Option<usize> {
        self.symbols.iter().position(|s| s.class == Class::Proctype && s.extent.contains(&place))
    }

    fn variables(&mut self) {
        for start in 0..self.tokens.len() {
            if !matches!(self.word(start), "decl" | "thread_local")
                || self.word(start + 1) == "decl"
            {
                continue;
            }
            let stop = (start..self.tokens.len()).find(|at| self.word(*at) == ";");
            let stop = stop.unwrap_or(self.tokens.len() - 1);
            let parent = self.procedure_at(self.range(start).start);
            let end = parent.map_or(self.text.len(), |at| self.symbols[at].extent.end);
            let mut at = start + 1;
            while at < stop {
                at = self.past_width(at);
                if self.is_name(at) && at < stop {
                    let scope = self.range(at).start..end;
                    let extent = self.range(start).start..self.range(stop).start;
                    self.push(at, Class::Variable, extent, scope, parent);
                }
                at += 1;
            }
        }
    }

    fn labels(&mut self) {
        for at in 0..self.tokens.len() {
            let before = at.checked_sub(1).map_or("", |at| self.word(at));
            let starts = matches!(before, ";" | "begin" | "then" | "else" | "do" | ":");
            if starts && self.is_name(at) && self.word(at + 1) == ":" {
                let parent = self.procedure_at(self.range(at).start);
                let scope = parent.map_or(0..self.text.len(), |at| self.symbols[at].extent.clone());
                self.push(at, Class::Label, self.range(at), scope, parent);
            }
        }
    }

    fn uses(&self) -> Vec<(Range<usize>, usize)> {
        let mut by_name: std::collections::HashMap<&str, Vec<usize>> = Default::default();
        for (at, symbol) in self.symbols.iter().enumerate() {
            by_name.entry(symbol.name.as_str()).or_default().push(at);
        }
        let mut uses = Vec::new();
        for at in 0..self.tokens.len() {
            let Some(known) = by_name.get(self.word(at)) else { continue };
            let place = self.range(at);
            let follows_goto = at > 0 && self.word(at - 1) == "goto";
            let is_called = self.word(at + 1) == "(";
            let fits = |symbol: &&usize| {
                let symbol = &self.symbols[**symbol];
                match symbol.class {
                    _ if symbol.place == place => true,
                    Class::Label => follows_goto && symbol.scope.contains(&place.start),
                    Class::Proctype => is_called,
                    _ => !follows_goto && !is_called && symbol.scope.contains(&place.start),
                }
            };
            let found = known.iter().filter(fits).min_by_key(|symbol| {
                (self.symbols[**symbol].place != place, self.symbols[**symbol].scope.len())
            });
            uses.extend(found.map(|found| (place, *found)));
        }
        uses
    }
}
