//! The names of a text: where each is declared, and which words mean it.
//!
//! Names are found in the text itself, not in the compiled model, so that they are known while the model does
//! not compile, and through macros and inlines: a word in the body of a macro means what it means in the text.
//! A name is visible from its declaration to the end of the braces around it; parameters in the braces that
//! follow them.

use crate::meaning::{self, Uses};
use crate::scan::{Kind, Token};
use crate::symbol::{Class, Symbol};
use preempt_promela::syntax::KEYWORDS;
use std::ops::Range;

/// All names of a text.
pub(crate) struct Names {
    pub(crate) symbols: Vec<Symbol>,
    /// Words, in order of the text, each with a symbol that it means.
    pub(crate) uses: Vec<(Range<usize>, usize)>,
    /// Of each symbol, the first one of those that it shares words with.
    groups: Vec<usize>,
}

const TYPES: &[&str] = &["bit", "bool", "byte", "pid", "short", "int", "unsigned", "chan", "mtype"];

struct Reader<'t> {
    text: &'t str,
    tokens: Vec<&'t Token>,
    at: usize,
    symbols: Vec<Symbol>,
    structures: Vec<String>,
}

/// Finds the names of a text.
pub(crate) fn names(text: &str, tokens: &[Token]) -> Names {
    let structures = tokens
        .windows(2)
        .filter(|pair| pair[0].text(text) == "typedef" && pair[1].kind == Kind::Word)
        .map(|pair| pair[1].text(text).to_string())
        .collect();
    let mut symbols = macros(text, tokens);
    let plain = tokens.iter().filter(|t| t.kind != Kind::Comment && !t.in_directive).collect();
    let mut reader = Reader { text, tokens: plain, at: 0, symbols: Vec::new(), structures };
    reader.units();
    let first = symbols.len();
    symbols.extend(reader.symbols.into_iter().map(|symbol| {
        // The reader numbers its own from 0.
        Symbol { parent: symbol.parent.map(|parent| first + parent), ..symbol }
    }));
    let uses = meaning::uses(text, tokens, &symbols);
    Names::new(symbols, uses)
}

/// `#define`s; the extent reaches to the end of the line with its continuations.
fn macros(text: &str, tokens: &[Token]) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_define = token.kind == Kind::Directive && token.text(text).ends_with("define");
        let Some(name) = tokens.get(at + 1).filter(|t| is_define && t.in_directive) else {
            continue;
        };
        let last =
            tokens[at + 1..].iter().take_while(|t| t.in_directive && t.kind != Kind::Directive);
        let end = last.last().map_or(name.range.end, |t| t.range.end);
        symbols.push(Symbol {
            name: name.text(text).into(),
            class: Class::Macro,
            place: name.range.clone(),
            extent: token.range.start..end,
            scope: name.range.start..text.len(),
            detail: on_one_line(&text[token.range.start..end]),
            parent: None,
        });
        parameters(text, &tokens[at + 1..], end, &mut symbols);
    }
    symbols
}

/// The parameters of the macro that was found last: in parentheses right behind its name.
fn parameters(text: &str, tokens: &[Token], end: usize, symbols: &mut Vec<Symbol>) {
    let (Some(name), Some(open)) = (tokens.first(), tokens.get(1)) else { return };
    if open.text(text) != "(" || open.range.start != name.range.end {
        return;
    }
    let parent = symbols.len() - 1;
    for token in tokens[2..].iter().take_while(|t| t.in_directive && t.text(text) != ")") {
        if token.kind == Kind::Word {
            symbols.push(Symbol {
                name: token.text(text).into(),
                class: Class::Parameter,
                place: token.range.clone(),
                extent: token.range.clone(),
                scope: open.range.start..end,
                detail: format!("parameter of {}", name.text(text)),
                parent: Some(parent),
            });
        }
    }
}

fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "\\").collect();
    let line = words.join(" ");
    match line.char_indices().nth(160) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

impl<'t> Reader<'t> {
    fn word(&self, ahead: usize) -> &'t str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text(self.text))
    }

    fn is_name(&self, ahead: usize) -> bool {
        let token = self.tokens.get(self.at + ahead);
        token.is_some_and(|t| t.kind == Kind::Word) && !KEYWORDS.contains(&self.word(ahead))
    }

    fn range(&self, ahead: usize) -> Range<usize> {
        self.tokens
            .get(self.at + ahead)
            .map_or(self.text.len()..self.text.len(), |t| t.range.clone())
    }

    /// The byte behind the bracket that closes the one at this token.
    fn closing(&self, from: usize) -> usize {
        let mut depth = 0_usize;
        for token in &self.tokens[from.min(self.tokens.len())..] {
            match token.text(self.text) {
                "{" | "(" => depth += 1,
                "}" | ")" if depth <= 1 => return token.range.end,
                "}" | ")" => depth -= 1,
                _ => {}
            }
        }
        self.text.len()
    }

    fn is_type(&self) -> bool {
        TYPES.contains(&self.word(0)) || self.structures.iter().any(|name| name == self.word(0))
    }

    fn units(&mut self) {
        // Braces that are open, with the symbol whose body they are, and where they end.
        let mut open: Vec<(Option<usize>, usize)> = Vec::new();
        let mut waiting: Option<usize> = None;
        while self.at < self.tokens.len() {
            let parent = open.iter().rev().find_map(|(symbol, _)| *symbol);
            let scope_end = open.last().map_or(self.text.len(), |(_, end)| *end);
            match self.word(0) {
                "{" => {
                    open.push((waiting.take(), self.closing(self.at)));
                    self.at += 1;
                }
                "}" => {
                    open.pop();
                    self.at += 1;
                }
                "proctype" | "D_proctype" | "inline" if self.is_name(1) => {
                    let class = match self.word(0) {
                        "inline" => Class::Inline,
                        _ => Class::Proctype,
                    };
                    waiting = Some(self.with_body(class));
                }
                "init" | "never" | "trace" | "notrace" if open.is_empty() => {
                    waiting = Some(self.unnamed_body());
                }
                "ltl" if open.is_empty() => self.property(),
                "typedef" if self.is_name(1) => self.structure(),
                "mtype" if self.declares_constants() => self.constants(),
                _ if self.is_type() && !self.is_after_of() => {
                    self.declaration(Class::Variable, parent, scope_end);
                }
                _ if self.is_label() && !open.is_empty() => {
                    // Labels are visible in all of the body that they stand in.
                    let body = open.iter().rev().find(|(symbol, _)| symbol.is_some());
                    let start = parent.map_or(0, |symbol| self.symbols[symbol].extent.start);
                    let scope = start..body.map_or(self.text.len(), |(_, end)| *end);
                    let detail = format!("{}:", self.word(0));
                    let label = self.push(0, Class::Label, self.range(0), scope, detail);
                    self.symbols[label].parent = parent;
                    self.at += 2;
                }
                _ => self.at += 1,
            }
        }
    }

    /// `{ byte }` behind `of` declares nothing.
    fn is_after_of(&self) -> bool {
        let before = |back: usize| {
            self.at.checked_sub(back).map_or("", |at| self.tokens[at].text(self.text))
        };
        before(1) == "{" && before(2) == "of" || before(1) == "," && !self.is_name(1)
    }

    fn is_label(&self) -> bool {
        self.is_name(0) && self.word(1) == ":" && {
            let before = self.at.checked_sub(1).map_or("", |at| self.tokens[at].text(self.text));
            matches!(before, "{" | "}" | ";" | "->" | "::" | ":" | "")
                || before == "fi"
                || before == "od"
        }
    }

    fn declares_constants(&self) -> bool {
        let list =
            |at: usize| self.word(at) == "{" || self.word(at) == "=" && self.word(at + 1) == "{";
        list(1) || self.word(1) == ":" && list(3)
    }

    fn push(
        &mut self,
        ahead: usize,
        class: Class,
        extent: Range<usize>,
        scope: Range<usize>,
        detail: String,
    ) -> usize {
        let (name, place, parent) = (self.word(ahead).to_string(), self.range(ahead), None);
        self.symbols.push(Symbol { name, class, place, extent, scope, detail, parent });
        self.symbols.len() - 1
    }

    /// A process type or inline; its parameters are visible in its body.
    fn with_body(&mut self, class: Class) -> usize {
        let start = self.range(0).start;
        let brace = (self.at..self.tokens.len()).find(|at| self.tokens[*at].text(self.text) == "{");
        let end = brace.map_or(self.text.len(), |at| self.closing(at));
        let head = brace.map_or(self.text.len(), |at| self.tokens[at].range.start);
        let detail = on_one_line(&self.text[start..head]);
        let everywhere = 0..self.text.len();
        let symbol = self.push(1, class, start..end, everywhere, detail);
        self.at += 2;
        if self.word(0) == "(" {
            self.at += 1;
            while self.at < self.tokens.len() && self.word(0) != ")" && self.word(0) != "{" {
                if class == Class::Inline && self.is_name(0) {
                    let detail = format!("parameter of {}", self.symbols[symbol].name);
                    let parameter =
                        self.push(0, Class::Parameter, self.range(0), start..end, detail);
                    self.symbols[parameter].parent = Some(symbol);
                    self.at += 1;
                } else if class == Class::Proctype && self.is_type() {
                    self.declaration(Class::Parameter, Some(symbol), end);
                } else {
                    self.at += 1;
                }
            }
        }
        while self.at < self.tokens.len() && self.word(0) != "{" {
            self.at += 1;
        }
        symbol
    }

    /// `init`, `never` and `trace`, with a name or without.
    fn unnamed_body(&mut self) -> usize {
        let start = self.range(0).start;
        let named = usize::from(self.is_name(1));
        let brace = (self.at..self.tokens.len()).find(|at| self.tokens[*at].text(self.text) == "{");
        let end = brace.map_or(self.text.len(), |at| self.closing(at));
        let class = if self.word(0) == "init" { Class::Proctype } else { Class::Property };
        let detail = self.word(0).to_string();
        let nowhere = if named == 1 { 0..self.text.len() } else { 0..0 };
        let symbol = self.push(named, class, start..end, nowhere, detail);
        while self.at < self.tokens.len() && self.word(0) != "{" {
            self.at += 1;
        }
        symbol
    }

    fn property(&mut self) {
        let start = self.range(0).start;
        let named = usize::from(self.is_name(1));
        let end = self.closing(self.at);
        let detail = on_one_line(&self.text[start..end]);
        let scope = if named == 1 { 0..self.text.len() } else { 0..0 };
        self.push(named, Class::Property, start..end, scope, detail);
        self.at += 1 + named;
    }

    fn structure(&mut self) {
        let (start, end) = (self.range(0).start, self.closing(self.at));
        let detail = on_one_line(&self.text[start..end]);
        let symbol = self.push(1, Class::Structure, start..end, 0..self.text.len(), detail);
        self.at += 3;
        while self.at < self.tokens.len() && self.range(0).start < end && self.word(0) != "}" {
            match self.is_type() {
                true => self.declaration(Class::Field, Some(symbol), end),
                false => self.at += 1,
            }
        }
    }

    fn constants(&mut self) {
        let start = self.range(0).start;
        while self.word(0) != "{" && self.at < self.tokens.len() {
            self.at += 1;
        }
        let end = self.closing(self.at);
        let detail = on_one_line(&self.text[start..end]);
        while self.at < self.tokens.len() && self.range(0).start < end {
            if self.is_name(0) {
                let scope = self.range(0).start..self.text.len();
                self.push(0, Class::Constant, self.range(0), scope, detail.clone());
            }
            self.at += 1;
        }
    }

    /// A type and the variables behind it.
    fn declaration(&mut self, class: Class, parent: Option<usize>, scope_end: usize) {
        let start = self.range(0).start;
        let ty = match (self.word(0), self.word(1)) {
            ("mtype", ":") => {
                self.at += 2;
                format!("mtype:{}", self.word(0))
            }
            (ty, _) => ty.to_string(),
        };
        self.at += 1;
        loop {
            if !self.is_name(0) {
                return;
            }
            let at = self.at;
            let begin = self.range(0).start;
            // To the comma or semicolon that ends it, past brackets.
            let mut depth = 0_usize;
            self.at += 1;
            while self.at < self.tokens.len() {
                match self.word(0) {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" if depth == 0 => break,
                    ")" | "]" | "}" => depth -= 1,
                    "," | ";" | "->" if depth == 0 => break,
                    _ => {}
                }
                // The next declaration, where a semicolon is missing.
                if depth == 0 && self.is_type() {
                    break;
                }
                self.at += 1;
            }
            let end = self.tokens[self.at - 1].range.end;
            let behind = std::mem::replace(&mut self.at, at);
            let detail = on_one_line(&format!("{ty} {}", &self.text[begin..end]));
            let variable = self.push(0, class, start..end, begin..scope_end, detail);
            self.symbols[variable].parent = parent;
            self.at = behind;
            // Behind the comma of a list of parameters a type may follow.
            if self.word(0) != "," || !self.is_name(1) {
                return;
            }
            self.at += 1;
            if self.is_type() {
                return;
            }
        }
    }
}

impl Names {
    pub(crate) fn new(symbols: Vec<Symbol>, uses: Uses) -> Self {
        let groups = meaning::groups(&uses, symbols.len());
        let uses = uses.into_iter().map(|(range, meant)| (range, meant[0])).collect();
        Names { symbols, uses, groups }
    }

    /// The symbol that the word at this byte means.
    pub(crate) fn at(&self, offset: usize) -> Option<(Range<usize>, usize)> {
        let found =
            self.uses.iter().find(|(range, _)| range.start <= offset && offset <= range.end);
        found.cloned()
    }

    /// Every word that means a symbol or one that shares a word with it, declarations included.
    pub(crate) fn of(&self, symbol: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let same = move |meant: usize| self.groups[meant] == self.groups[symbol];
        self.uses.iter().filter(move |(_, meant)| same(*meant)).map(|(range, _)| range.clone())
    }

    /// What is visible at a byte.
    pub(crate) fn visible(&self, offset: usize) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter().filter(move |s| s.scope.contains(&offset) || s.scope.end == offset)
    }
}
