//! Tokens to tree: recursive descent, with recovery at `;`, `::` and `}`.
//!
//! The grammar is Spin 6.5.2's, including its repairs: separators are optional at line ends, after
//! `}` and `else`, and may be doubled or trail. An `inline` is expanded here, token by token, where it
//! is used. Parsing never fails: it returns what it understood and reports the rest.

mod declaration;
mod expression;
mod hints;
mod inline;
mod newline;
mod statement;
mod text;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ast::{Expr, Ident, Unit};
use super::codes;
use super::diagnostic::{Diagnostic, Findings};
use super::span::{SourceMap, Span};
use super::suggest;
use super::token::{Kind, Token};

/// Statements, parentheses and unary operators may nest this deep.
const MAXIMAL_NESTING: usize = 120;
/// Operators in a row: `a + b + c …` makes a tree this high.
const MAXIMAL_HEIGHT: u32 = 500;

/// What parsing leaves.
pub(crate) struct Parsed {
    /// What was understood, in order.
    pub(crate) units: Vec<Unit>,
    /// Names in the text that was not understood: it may have declared them.
    pub(crate) lost: HashSet<Arc<str>>,
}

/// Parses a whole model.
pub(crate) fn parse(
    tokens: Vec<Token>,
    sources: &mut SourceMap,
    findings: &mut Findings,
) -> Parsed {
    let mut parser = Parser::new(newline::insert_separators(tokens), sources, findings);
    let units = parser.units();
    Parsed { units, lost: parser.lost }
}

/// Parses one temporal formula that stands alone.
pub(crate) fn parse_formula(
    tokens: Vec<Token>,
    proctypes: impl IntoIterator<Item = Arc<str>>,
    sources: &mut SourceMap,
    findings: &mut Findings,
) -> Option<Expr> {
    let mut parser = Parser::new(tokens, sources, findings);
    parser.known_proctypes = proctypes.into_iter().collect();
    parser.temporal = true;
    let formula = parser.expression().ok()?;
    if !parser.at_end() {
        parser.unexpected("the end of the formula");
        return None;
    }
    Some(formula)
}

/// A syntax error that has been reported; the caller looks for a place to go on.
pub(crate) struct Reported;

type Parse<T> = Result<T, Reported>;

struct Parser<'a> {
    tokens: Arc<[Token]>,
    at: usize,
    sources: &'a mut SourceMap,
    findings: &'a mut Findings,
    depth: usize,
    /// Inside an `ltl` block: temporal operators are operators, `->` is implication.
    temporal: bool,
    inlines: HashMap<Arc<str>, Arc<inline::Inline>>,
    typedefs: HashSet<Arc<str>>,
    /// Process types declared so far.
    proctypes: HashSet<Arc<str>>,
    /// Process types declared anywhere: a formula may speak of later ones.
    known_proctypes: HashSet<Arc<str>>,
    /// Inlines being expanded, innermost last.
    open_inlines: Vec<inline::OpenInline>,
    /// How many uses of inlines were expanded.
    inline_uses: u32,
    inline_tokens: usize,
    /// Enclosing loops, for `break`.
    loops: usize,
    /// See [`Parsed::lost`].
    lost: HashSet<Arc<str>>,
}

/// Words that cannot name anything.
pub const KEYWORDS: &[&str] = &[
    "active",
    "assert",
    "atomic",
    "bit",
    "bool",
    "break",
    "byte",
    "c_code",
    "c_decl",
    "c_expr",
    "c_state",
    "c_track",
    "D_proctype",
    "do",
    "chan",
    "else",
    "empty",
    "enabled",
    "eval",
    "false",
    "fi",
    "for",
    "full",
    "get_priority",
    "goto",
    "hidden",
    "if",
    "init",
    "inline",
    "int",
    "len",
    "local",
    "ltl",
    "mtype",
    "nempty",
    "never",
    "nfull",
    "notrace",
    "np_",
    "od",
    "of",
    "pc_value",
    "pid",
    "printf",
    "printm",
    "priority",
    "proctype",
    "provided",
    "return",
    "run",
    "d_step",
    "select",
    "set_priority",
    "short",
    "skip",
    "timeout",
    "trace",
    "true",
    "show",
    "typedef",
    "unless",
    "unsigned",
    "xr",
    "xs",
];

impl<'a> Parser<'a> {
    fn new(tokens: Vec<Token>, sources: &'a mut SourceMap, findings: &'a mut Findings) -> Self {
        let known_proctypes = proctype_names(&tokens);
        Parser {
            tokens: tokens.into(),
            at: 0,
            sources,
            findings,
            depth: 0,
            temporal: false,
            inlines: HashMap::new(),
            typedefs: HashSet::new(),
            proctypes: HashSet::new(),
            known_proctypes,
            open_inlines: Vec::new(),
            inline_uses: 0,
            inline_tokens: 0,
            loops: 0,
            lost: HashSet::new(),
        }
    }

    fn token(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + count).min(last)]
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The span of the token just eaten.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn at_end(&self) -> bool {
        self.token().kind == Kind::End
    }

    fn is(&self, mark: &str) -> bool {
        self.token().is(mark)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token().is_name(word)
    }

    fn bump(&mut self) -> Token {
        let token = self.token().clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, mark: &str) -> bool {
        let hit = self.is(mark);
        if hit {
            self.bump();
        }
        hit
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let hit = self.is_word(word);
        if hit {
            self.bump();
        }
        hit
    }

    fn expect(&mut self, mark: &str) -> Parse<Span> {
        if self.is(mark) {
            return Ok(self.bump().span);
        }
        Err(self.unexpected(&format!("`{mark}`")))
    }

    /// A name that is no keyword.
    fn ident(&mut self, what: &str) -> Parse<Ident> {
        match self.token().name().cloned() {
            Some(name) if !KEYWORDS.contains(&&*name) => {
                let span = self.bump().span;
                Ok(Ident { name, span })
            }
            Some(name) => {
                let span = self.span();
                let message = format!("`{name}` is a keyword and cannot be used as {what}");
                Err(self.report(Diagnostic::error(codes::UNEXPECTED, span, message)))
            }
            None => Err(self.unexpected(what)),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        self.findings.push(diagnostic);
        Reported
    }

    fn unexpected(&mut self, wanted: &str) -> Reported {
        let token = self.token();
        let found = match &token.kind {
            Kind::End => "the end of the text".to_string(),
            Kind::Name(name) if KEYWORDS.contains(&&**name) => format!("keyword `{name}`"),
            _ => format!("`{}`", token.text()),
        };
        let mut diagnostic = Diagnostic::error(
            codes::UNEXPECTED,
            token.span,
            format!("expected {wanted}, found {found}"),
        );
        if let Kind::Name(name) = &token.kind
            && !KEYWORDS.contains(&&**name)
            && name.len() > 2
            && let Some(near) = suggest::nearest(name, KEYWORDS.iter().copied())
            && near.len() > 2
        {
            diagnostic = diagnostic.suggest(format!("did you mean `{near}`?"));
        }
        if matches!(token.kind, Kind::Mark("++" | "--")) && wanted == "an expression" {
            let hint = format!("`{0}` stands behind its variable: `x{0}`", token.text());
            diagnostic = diagnostic.suggest(hint);
        }
        let diagnostic = hints::instead(diagnostic, token);
        self.report(diagnostic)
    }

    /// Runs a part of the grammar one level deeper; too deep is an error, not a crash.
    fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAXIMAL_NESTING {
            let span = self.span();
            return Err(self.report(Diagnostic::error(
                codes::NESTED_TOO_DEEPLY,
                span,
                format!("nested more than {MAXIMAL_NESTING} levels deep"),
            )));
        }
        self.depth += 1;
        let result = part(self);
        self.depth -= 1;
        result
    }

    /// `;` or `->`.
    fn is_separator(&self) -> bool {
        self.is(";") || self.is("->")
    }

    fn skip_separators(&mut self) {
        while self.is_separator() {
            self.bump();
        }
    }

    fn units(&mut self) -> Vec<Unit> {
        let mut units = Vec::new();
        loop {
            self.skip_separators();
            if self.at_end() || self.findings.is_full() {
                return units;
            }
            let before = self.at;
            match self.unit() {
                Ok(Some(unit)) => units.push(unit),
                Ok(None) => {}
                Err(Reported) => {
                    if self.at == before {
                        self.bump();
                    }
                    self.skip_to_unit();
                    self.lose(before);
                }
            }
        }
    }

    /// Gives up the text from `start` to here.
    fn lose(&mut self, start: usize) {
        let names = self.tokens[start..self.at].iter().filter_map(|token| token.name().cloned());
        self.lost.extend(names);
    }

    /// After an error at the outermost level: to the next word that can start a unit on its own
    /// line and outside of braces opened since.
    fn skip_to_unit(&mut self) {
        const STARTS: &[&str] = &[
            "active",
            "proctype",
            "D_proctype",
            "init",
            "never",
            "ltl",
            "trace",
            "notrace",
            "typedef",
            "inline",
        ];
        while !self.at_end() {
            if self.token().name().is_some_and(|n| STARTS.contains(&&**n)) {
                return;
            }
            self.bump();
        }
    }
}

fn proctype_names(tokens: &[Token]) -> HashSet<Arc<str>> {
    let is_word = |t: &Token| t.is_name("proctype") || t.is_name("D_proctype");
    tokens
        .windows(2)
        .filter(|pair| is_word(&pair[0]))
        .filter_map(|pair| pair[1].name().cloned())
        .collect()
}
