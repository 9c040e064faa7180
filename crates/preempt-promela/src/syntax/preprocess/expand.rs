//! Macro expansion.
//!
//! A stack of token lists, innermost on top. While a macro's list is on the stack its name is
//! disabled, and a disabled name that passes by is frozen for good: this is C's rule that keeps
//! `#define x x x` from running forever. What the rule permits (doubling through thirty macros) is
//! stopped by a limit on the work done.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::codes;
use super::super::diagnostic::{Diagnostic, count, given};
use super::super::lex::lex;
use super::super::span::{Expansion, Span};
use super::super::token::{Kind, Token};
use super::{MAXIMAL_TOKENS, Macro, Preprocessor};

/// Arguments are expanded before they are put in; this bounds how deep that nests.
const MAXIMAL_DEPTH: usize = 100;

struct Context {
    tokens: Vec<Token>,
    at: usize,
    disables: Option<Arc<str>>,
}

impl Preprocessor<'_> {
    /// Expands text of the model itself.
    pub(super) fn expand_into_output(&mut self, tokens: Vec<Token>) {
        let expanded = self.expand(tokens, &HashSet::new(), 0);
        for token in expanded {
            if self.aborted {
                return;
            }
            self.emit(token);
        }
    }

    /// Expands the tokens of a directive.
    pub(super) fn expand_all(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        self.expand(tokens, &HashSet::new(), 0)
    }

    fn expand(
        &mut self,
        tokens: Vec<Token>,
        outer: &HashSet<Arc<str>>,
        depth: usize,
    ) -> Vec<Token> {
        let mut disabled = outer.clone();
        let mut stack = vec![Context { tokens, at: 0, disables: None }];
        let mut result = Vec::new();
        // A macro that expands to nothing hands the line start on to what follows.
        let mut line_started = false;
        while let Some(mut token) = next(&mut stack, &mut disabled) {
            token.starts_line |= std::mem::take(&mut line_started);
            // Text of the files is not what makes a bomb.
            self.work += usize::from(stack.len() > 1 || depth > 0);
            if self.aborted || self.work > 2 * MAXIMAL_TOKENS {
                self.abort_too_large(token.span);
                return result;
            }
            let Some(name) = token.name().cloned() else {
                result.push(token);
                continue;
            };
            let Some(definition) = self.macros.get(&name).cloned() else {
                result.push(token);
                continue;
            };
            if token.frozen || disabled.contains(&name) {
                token.frozen = true;
                result.push(token);
                continue;
            }
            let replacement = match &definition.parameters {
                None => self.replace(&name, &definition, &[], &[], token.span),
                Some(parameters) => {
                    if !peek(&stack).is_some_and(|t| t.is("(")) {
                        result.push(token);
                        continue;
                    }
                    let Some((arguments, close)) = collect(&mut stack, &mut disabled) else {
                        self.error(
                            codes::MACRO_ARGUMENTS,
                            token.span,
                            format!("the arguments of macro `{name}` are not closed"),
                        );
                        return result;
                    };
                    let arguments = fit(arguments, parameters.len(), definition.variadic);
                    if arguments.len() != parameters.len() {
                        let message = format!(
                            "macro `{name}` takes {}, {}",
                            count(parameters.len(), "argument"),
                            given(arguments.len())
                        );
                        self.findings.push(
                            Diagnostic::error(codes::MACRO_ARGUMENTS, token.span, message)
                                .label(definition.span, "defined here"),
                        );
                        continue;
                    }
                    if depth >= MAXIMAL_DEPTH {
                        self.abort_too_large(token.span);
                        return result;
                    }
                    let expanded: Vec<Vec<Token>> = arguments
                        .iter()
                        .map(|argument| self.expand(argument.clone(), &disabled, depth + 1))
                        .collect();
                    let used_at = token.span.to(close);
                    self.replace(&name, &definition, &arguments, &expanded, used_at)
                }
            };
            let replacement = with_spacing_of(&token, replacement);
            line_started = replacement.is_empty() && token.starts_line;
            disabled.insert(name.clone());
            stack.push(Context { tokens: replacement, at: 0, disables: Some(name) });
        }
        result
    }

    /// The body of a macro with its arguments put in.
    fn replace(
        &mut self,
        name: &Arc<str>,
        definition: &Macro,
        raw: &[Vec<Token>],
        expanded: &[Vec<Token>],
        used_at: Span,
    ) -> Vec<Token> {
        let expansion = self.sources.add_expansion(Expansion {
            name: name.to_string(),
            used_at,
            is_inline: false,
        });
        let parameters = definition.parameters.as_deref().unwrap_or(&[]);
        let index_of = |token: &Token| {
            let name = token.name()?;
            parameters.iter().position(|p| p == name)
        };
        let body = &definition.body;
        let mut result: Vec<Token> = Vec::new();
        let mut at = 0;
        while at < body.len() {
            let token = &body[at];
            let own_span = Span { expansion: Some(expansion), ..token.span };
            if token.is("#")
                && definition.parameters.is_some()
                && let Some(index) = body.get(at + 1).and_then(index_of)
            {
                let text = stringify(&raw[index]);
                result.push(Token {
                    kind: Kind::String(text.into()),
                    span: own_span,
                    ..token.clone()
                });
                at += 2;
                continue;
            }
            if token.is("##") && at > 0 && at + 1 < body.len() {
                let right = match index_of(&body[at + 1]) {
                    Some(index) => raw[index].clone(),
                    None => vec![Token { span: own_span, ..body[at + 1].clone() }],
                };
                self.paste(&mut result, right, own_span);
                at += 2;
                continue;
            }
            match index_of(token) {
                Some(index) => {
                    let pasted = body.get(at + 1).is_some_and(|t| t.is("##"));
                    let argument = if pasted { &raw[index] } else { &expanded[index] };
                    self.work += argument.len();
                    result.extend(with_spacing_of(token, argument.clone()));
                }
                None => result.push(Token { span: own_span, starts_line: false, ..token.clone() }),
            }
            at += 1;
            if self.work > 2 * MAXIMAL_TOKENS {
                break;
            }
        }
        result
    }

    /// `a ## b`: joins the last token of `left` with the first of `right`.
    fn paste(&mut self, left: &mut Vec<Token>, right: Vec<Token>, span: Span) {
        let mut right = right.into_iter();
        let (Some(a), Some(b)) = (left.pop(), right.next()) else {
            left.extend(right);
            return;
        };
        let text = format!("{}{}", a.text(), b.text());
        let mut pasted = lex(span.file, &text, self.findings);
        for token in &mut pasted {
            token.span = span;
            token.starts_line = false;
            token.after_space = a.after_space;
        }
        left.append(&mut pasted);
        left.extend(right);
    }
}

fn next(stack: &mut Vec<Context>, disabled: &mut HashSet<Arc<str>>) -> Option<Token> {
    loop {
        let top = stack.last_mut()?;
        if let Some(token) = top.tokens.get(top.at) {
            top.at += 1;
            return Some(token.clone());
        }
        let done = stack.pop()?;
        if let Some(name) = done.disables {
            disabled.remove(&name);
        }
    }
}

fn peek(stack: &[Context]) -> Option<&Token> {
    stack.iter().rev().find_map(|context| context.tokens.get(context.at))
}

/// The arguments behind a macro's name, from `(` to its `)`, and where that stands.
fn collect(
    stack: &mut Vec<Context>,
    disabled: &mut HashSet<Arc<str>>,
) -> Option<(Vec<Vec<Token>>, Span)> {
    next(stack, disabled)?;
    let mut arguments = vec![Vec::new()];
    let mut depth = 0usize;
    loop {
        let mut token = next(stack, disabled)?;
        // An expansion stands on one line, wherever its arguments came from.
        token.starts_line = false;
        if token.is("(") {
            depth += 1;
        } else if token.is(")") {
            if depth == 0 {
                return Some((arguments, token.span));
            }
            depth -= 1;
        } else if token.is(",") && depth == 0 {
            arguments.push(Vec::new());
            continue;
        }
        if let Some(last) = arguments.last_mut() {
            last.push(token);
        }
    }
}

/// No argument at all may stand for none or for one that is empty; the rest of the arguments of a
/// variadic macro become one.
fn fit(mut arguments: Vec<Vec<Token>>, count: usize, variadic: bool) -> Vec<Vec<Token>> {
    if count == 0 && arguments.len() == 1 && arguments[0].is_empty() {
        arguments.clear();
    }
    if variadic && count > 0 {
        if arguments.len() + 1 == count {
            arguments.push(Vec::new());
        }
        while arguments.len() > count {
            let Some(last) = arguments.pop() else { break };
            let mut span = Span::default();
            if let Some(first) = last.first() {
                span = first.span;
            }
            let comma = Token {
                kind: Kind::Mark(","),
                span,
                starts_line: false,
                after_space: false,
                frozen: false,
            };
            if let Some(previous) = arguments.last_mut() {
                previous.push(comma);
                previous.extend(last);
            }
        }
    }
    arguments
}

fn with_spacing_of(model: &Token, mut tokens: Vec<Token>) -> Vec<Token> {
    if let Some(first) = tokens.first_mut() {
        first.after_space = model.after_space;
        first.starts_line = model.starts_line;
    }
    tokens
}

fn stringify(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        if token.after_space && !text.is_empty() {
            text.push(' ');
        }
        match &token.kind {
            Kind::String(content) => {
                text.push_str("\\\"");
                text.push_str(&content.replace('\\', "\\\\"));
                text.push_str("\\\"");
            }
            _ => text.push_str(&token.text()),
        }
    }
    text
}
