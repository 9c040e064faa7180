//! Statements as traces show them: on one line, with the arguments of inlines put in, and macros by
//! their names where the whole use lies inside the statement.

use super::super::span::{Expansion, ExpansionId, SourceMap, Span};
use super::super::token::Token;
use super::Parser;

/// Longer statements are cut: in a trace they would not be read to the end.
const MAXIMAL_LENGTH: usize = 400;
/// Macros that use macros are looked through this far.
const MAXIMAL_CHAIN: usize = 32;

impl Parser<'_> {
    /// The text of the tokens from `start` up to the one about to be read.
    pub(super) fn text_since(&self, start: usize) -> String {
        self.text_between(start, self.at)
    }

    /// The same of a `for`, up to the parenthesis that closes its head.
    pub(super) fn head_since(&self, start: usize) -> String {
        let mut depth = 0usize;
        let end = (start..self.at).find(|at| {
            let token = &self.tokens[*at];
            depth += usize::from(token.is("("));
            depth = depth.saturating_sub(usize::from(token.is(")")));
            token.is(")") && depth == 0
        });
        self.text_between(start, end.map_or(self.at, |at| at + 1))
    }

    fn text_between(&self, start: usize, stop: usize) -> String {
        let mut text = String::new();
        let mut at = start;
        while at < stop {
            let token = &self.tokens[at];
            if !text.is_empty() && (token.after_space || token.starts_line) {
                text.push(' ');
            }
            match self.whole_use(at, stop) {
                Some((used_at, next)) => {
                    text.push_str(&self.sources.text(used_at));
                    at = next;
                }
                None => {
                    text.push_str(&token.text());
                    at += 1;
                }
            }
            if text.len() > MAXIMAL_LENGTH {
                text.push('…');
                break;
            }
        }
        text
    }

    /// The outermost use of a macro that begins with this token and ends inside the statement, and
    /// the first token behind it.
    fn whole_use(&self, at: usize, stop: usize) -> Option<(Span, usize)> {
        let chain: Vec<ExpansionId> = macros(self.sources, self.tokens[at].span).collect();
        chain.into_iter().rev().find_map(|id| {
            let used_at = self.sources.expansions[id.0 as usize].used_at;
            let belongs = |token: &Token| {
                contains(used_at, token.span) || macros(self.sources, token.span).any(|m| m == id)
            };
            if at > 0 && belongs(&self.tokens[at - 1]) {
                return None;
            }
            let end = (at..stop).find(|i| !belongs(&self.tokens[*i])).unwrap_or(stop);
            let goes_on = end == stop && self.tokens.get(end).is_some_and(belongs);
            (!goes_on).then_some((used_at, end))
        })
    }
}

/// The macros a token came out of, innermost first, up to the inline around them.
fn macros(sources: &SourceMap, span: Span) -> impl Iterator<Item = ExpansionId> {
    let macro_around = |span: Span| {
        let id = span.expansion?;
        let expansion: &Expansion = &sources.expansions[id.0 as usize];
        (!expansion.is_inline).then_some(id)
    };
    std::iter::successors(macro_around(span), move |id| {
        macro_around(sources.expansions[id.0 as usize].used_at)
    })
    .take(MAXIMAL_CHAIN)
}

/// Whether a token is an argument of the macro used there.
fn contains(used_at: Span, token: Span) -> bool {
    token.file == used_at.file
        && token.expansion == used_at.expansion
        && used_at.start <= token.start
        && token.end <= used_at.end
}
