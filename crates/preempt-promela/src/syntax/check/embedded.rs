//! Pieces of C: what the model says about them. Their text is the C compiler's matter.

use std::sync::Arc;

use super::super::codes;
use super::super::span::Span;
use super::super::token::Code;
use super::{Checked, Checker};
use crate::embedded::{Fragment, FragmentId, Scope, Text, TrackedDeclaration, TrackedMemory};

impl Checker<'_> {
    /// A `c_code` or `c_expr` inside of a body or formula.
    pub(super) fn fragment(
        &mut self,
        code: &Code,
        is_expression: bool,
        span: Span,
    ) -> Checked<FragmentId> {
        if self.is_apart {
            let message = "C cannot stand in a formula that is given apart from its model";
            return Err(self.error(codes::EMBEDDED_C, span, message));
        }
        let fragments = &mut self.model.embedded.fragments;
        fragments.push(Fragment {
            text: text_of(code, span),
            guard: code.guard.clone(),
            is_expression,
            proctype: self.current.map(|id| id.0),
        });
        Ok(FragmentId(fragments.len() as u32 - 1))
    }

    /// A `c_decl` or `c_code` outside of all bodies.
    pub(super) fn outer_code(&mut self, is_declaration: bool, code: &Code, span: Span) {
        let embedded = &mut self.model.embedded;
        let list = match is_declaration {
            true => &mut embedded.declarations,
            false => &mut embedded.functions,
        };
        list.push(text_of(code, span));
    }

    pub(super) fn c_state(&mut self, strings: &[Arc<str>], span: Span) {
        let [declaration, scope, init @ ..] = strings else { return };
        let words: Vec<&str> = scope.split_whitespace().collect();
        let scope = match words[..] {
            ["Global"] => Scope::Global,
            ["Hidden"] => Scope::Hidden,
            ["Local", name] => {
                let name = if name == "init" { ":init:" } else { name };
                match self.proctypes.get(name) {
                    Some(id) => Scope::Local(id.0),
                    None => {
                        let message = format!("there is no process type named `{name}`");
                        self.error(codes::TRACKED, span, message);
                        return;
                    }
                }
            }
            _ => {
                let message =
                    "the scope is \"Global\", \"Hidden\" or \"Local\" with a process type";
                self.error(codes::TRACKED, span, message);
                return;
            }
        };
        self.model.embedded.states.push(TrackedDeclaration {
            declaration: unquoted(declaration),
            scope,
            init: init.first().map(|init| unquoted(init)),
            span,
        });
    }

    pub(super) fn c_track(&mut self, strings: &[Arc<str>], span: Span) {
        let [address, size, how @ ..] = strings else { return };
        let matched = match how.first().map(|how| &**how) {
            None | Some("Matched") => true,
            Some("UnMatched" | "unMatched" | "StackOnly") => false,
            Some(other) => {
                let message = format!("expected \"Matched\" or \"UnMatched\", found \"{other}\"");
                self.error(codes::TRACKED, span, message);
                return;
            }
        };
        let (address, size) = (unquoted(address), unquoted(size));
        self.model.embedded.tracks.push(TrackedMemory { address, size, matched, span });
    }
}

fn text_of(code: &Code, span: Span) -> Text {
    Text { text: code.text.clone(), line: code.line, span }
}

/// C inside of a string: quotes have backslashes there.
fn unquoted(text: &str) -> String {
    text.replace("\\\"", "\"")
}
