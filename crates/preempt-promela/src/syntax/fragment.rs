//! Pieces of C in the text of a model.
//!
//! Spin runs the C preprocessor over the whole model, so macros are expanded in a piece of C as anywhere
//! else: it passes through our preprocessor as tokens. Behind it, [`collapse`] makes one token of each
//! piece, with the text as the author wrote it: line for line, so that the C compiler's messages point
//! into the model.

use std::sync::Arc;

use super::codes;
use super::diagnostic::{Diagnostic, Findings};
use super::span::{SourceMap, Span};
use super::token::{Code, Kind, Token};

/// The words that a piece of C in braces follows.
const WORDS: &[&str] = &["c_code", "c_decl", "c_expr"];

/// Knows whether the tokens passing by belong to a piece of C.
#[derive(Default)]
pub(crate) struct FragmentTracker {
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    /// Behind the word, or behind its precondition.
    Announced,
    /// Inside the brackets of a precondition, so many deep.
    Guard(usize),
    /// Inside the braces.
    Body(usize),
}

impl FragmentTracker {
    /// Whether the next token is a part of a piece of C, its brackets included.
    pub(crate) fn is_inside(&self) -> bool {
        matches!(self.state, State::Guard(_) | State::Body(_))
    }

    /// Takes notice of a token; says whether it is C.
    pub(crate) fn pass(&mut self, token: &Token) -> bool {
        let was_inside = self.is_inside();
        self.state = match self.state {
            State::Outside | State::Announced
                if token.name().is_some_and(|name| WORDS.contains(&&**name)) =>
            {
                State::Announced
            }
            State::Announced if token.is("[") => State::Guard(1),
            State::Announced if token.is("{") => State::Body(1),
            State::Outside | State::Announced => State::Outside,
            State::Guard(depth) if token.is("[") => State::Guard(depth + 1),
            State::Guard(1) if token.is("]") => State::Announced,
            State::Guard(depth) if token.is("]") => State::Guard(depth - 1),
            State::Body(depth) if token.is("{") => State::Body(depth + 1),
            State::Body(1) if token.is("}") => State::Outside,
            State::Body(depth) if token.is("}") => State::Body(depth - 1),
            inside => inside,
        };
        was_inside
    }
}

/// Makes one token of every piece of C, its precondition included.
pub(crate) fn collapse(
    tokens: Vec<Token>,
    sources: &SourceMap,
    findings: &mut Findings,
) -> Vec<Token> {
    let is_word = |token: &Token| token.name().is_some_and(|name| WORDS.contains(&&**name));
    if !tokens.iter().any(is_word) {
        return tokens;
    }
    let mut result = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        result.push(token.clone());
        at += 1;
        if !is_word(token) {
            continue;
        }
        let mut next = at;
        let guard = match enclosed(&tokens, next, "[", "]") {
            Enclosed::None => None,
            Enclosed::Open => {
                at = report_open(&tokens, next, findings);
                continue;
            }
            Enclosed::Until(end) => {
                let guard = render(&tokens[next + 1..end], sources);
                next = end + 1;
                Some(guard)
            }
        };
        match enclosed(&tokens, next, "{", "}") {
            Enclosed::None => {}
            Enclosed::Open => at = report_open(&tokens, next, findings),
            Enclosed::Until(end) => {
                let (open, inside) = (&tokens[next], &tokens[next + 1..end]);
                let start = inside.first().map_or(open.span, |first| first.span);
                let line = sources.line_column(sources.use_site(start)).0;
                let code = Code { guard, text: render(inside, sources), line };
                let span = sources.join(open.span, tokens[end].span);
                result.push(Token {
                    kind: Kind::Code(Arc::new(code)),
                    span: Span { expansion: open.span.expansion, ..span },
                    ..open.clone()
                });
                at = end + 1;
            }
        }
    }
    result
}

enum Enclosed {
    /// The bracket does not stand here.
    None,
    /// It is never closed.
    Open,
    /// It is closed there.
    Until(usize),
}

fn enclosed(tokens: &[Token], start: usize, open: &str, close: &str) -> Enclosed {
    if !tokens.get(start).is_some_and(|token| token.is(open)) {
        return Enclosed::None;
    }
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        depth += usize::from(token.is(open));
        if token.is(close) {
            depth -= 1;
            if depth == 0 {
                return Enclosed::Until(at);
            }
        }
    }
    Enclosed::Open
}

/// A piece of C that does not end: nothing behind it can be understood. Returns the end of the text.
fn report_open(tokens: &[Token], open: usize, findings: &mut Findings) -> usize {
    let end = tokens.len() - 1;
    let diagnostic =
        Diagnostic::error(codes::UNEXPECTED, tokens[end].span, "the file ends inside a piece of C")
            .label(tokens[open].span, "this bracket is never closed");
    findings.push(diagnostic);
    end
}

/// The text of the tokens, each on the line where it stands. `\#` begins a directive for the C compiler.
fn render(tokens: &[Token], sources: &SourceMap) -> String {
    let line_of = |token: &Token| sources.line_column(sources.use_site(token.span)).0;
    let mut text = String::new();
    let mut line = tokens.first().map_or(0, line_of);
    let mut before: Option<&Token> = None;
    for token in tokens {
        if let Some(before) = before {
            if token.starts_line {
                let here = line_of(token);
                let lines = here.saturating_sub(line).clamp(1, 10_000);
                text.extend(std::iter::repeat_n('\n', lines as usize));
                line = here.max(line + 1);
            } else if token.after_space || before.span.expansion != token.span.expansion {
                text.push(' ');
            }
        }
        let lexeme = lexeme(token, sources);
        if lexeme == "\\" {
            // Hides a `#` from the preprocessor of the model.
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        } else {
            text.push_str(&lexeme);
        }
        before = Some(token);
    }
    text
}

/// A token as it stands in the text: strings and characters of C have escapes that Promela has not.
fn lexeme(token: &Token, sources: &SourceMap) -> String {
    match &token.kind {
        Kind::Name(_) | Kind::Number(_) => token.text(),
        _ => {
            let text = &sources.file(token.span).text;
            match text.get(token.span.start as usize..token.span.end as usize) {
                Some(lexeme) if !lexeme.is_empty() => lexeme.to_string(),
                _ => token.text(),
            }
        }
    }
}
