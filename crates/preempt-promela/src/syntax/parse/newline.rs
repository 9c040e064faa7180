//! Separators implied by line ends.
//!
//! Inside a body, outside of parentheses, Spin 6.5 puts a `;` where a line ends after something
//! that can end a statement. This decides how `x = a` followed by a line `-b` is read, so it is
//! done here, before the parser looks at anything.

use super::super::span::Span;
use super::super::token::{Kind, Token};

/// Inserts the implied separators.
pub(super) fn insert_separators(tokens: Vec<Token>) -> Vec<Token> {
    let mut result: Vec<Token> = Vec::with_capacity(tokens.len() + tokens.len() / 8);
    let mut body = BodyTracker::default();
    for token in tokens {
        if let Some(last) = result.last()
            && token.starts_line
            && body.is_inside()
            && ends_statement(last)
            && !token.is_name("unless")
        {
            let span = Span { start: last.span.end, ..last.span };
            let separator = Token {
                kind: Kind::Mark(";"),
                span,
                starts_line: false,
                after_space: false,
                frozen: false,
            };
            result.push(separator);
        }
        body.pass(&token);
        result.push(token);
    }
    result
}

fn ends_statement(token: &Token) -> bool {
    match &token.kind {
        Kind::Number(_) | Kind::Character(_) | Kind::Code(_) => true,
        Kind::Mark(mark) => matches!(*mark, "}" | ")" | "]" | "++" | "--"),
        Kind::Name(name) => {
            !super::KEYWORDS.contains(&&**name)
                || matches!(
                    &**name,
                    "od" | "fi" | "else" | "break" | "true" | "false" | "skip" | "timeout" | "np_"
                )
        }
        Kind::String(_) | Kind::Bad(_) | Kind::End => false,
    }
}

/// Knows whether the text passing by is inside the braces of a process, claim, trace, inline or structure,
/// and outside of parentheses.
#[derive(Default)]
struct BodyTracker {
    braces: usize,
    parentheses: usize,
    /// The unit being read has a body of statements or fields.
    has_body: bool,
}

impl BodyTracker {
    fn is_inside(&self) -> bool {
        self.has_body && self.braces > 0 && self.parentheses == 0
    }

    fn pass(&mut self, token: &Token) {
        match &token.kind {
            Kind::Mark("{") => self.braces += 1,
            Kind::Mark("}") => {
                self.braces = self.braces.saturating_sub(1);
                self.parentheses = 0;
            }
            Kind::Mark("(" | "[") => self.parentheses += 1,
            Kind::Mark(")" | "]") => self.parentheses = self.parentheses.saturating_sub(1),
            Kind::Name(name) if self.braces == 0 => match &**name {
                "proctype" | "D_proctype" | "init" | "never" | "trace" | "notrace" | "inline"
                | "typedef" => {
                    self.has_body = true;
                }
                "ltl" | "mtype" | "chan" | "of"
                    // `chan` also occurs among the parameters of a process type.
                    if self.parentheses == 0 => {
                        self.has_body = false;
                    }
                _ => {}
            },
            _ => {}
        }
    }
}
