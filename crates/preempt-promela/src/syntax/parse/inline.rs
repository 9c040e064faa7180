//! `inline`: a body that is substituted, token by token, where it is used.
//!
//! Spin substitutes text; tokens give the same result and keep their places. Each use is a block
//! of its own, so variables declared inside are new each time, and its labels belong to that use.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::ast::*;
use super::super::codes;
use super::super::diagnostic::{Diagnostic, count, given};
use super::super::span::{Expansion, ExpansionId, Span};
use super::super::token::{Kind, Token};
use super::{Parse, Parser};

const MAXIMAL_INLINE_TOKENS: usize = 1_000_000;

/// A definition.
pub(super) struct Inline {
    parameters: Vec<Arc<str>>,
    /// From the opening to the closing brace.
    body: Vec<Token>,
    span: Span,
}

/// A use being expanded.
pub(super) struct OpenInline {
    name: Arc<str>,
    /// Where `return` puts its value.
    pub(super) target: Option<Reference>,
    /// Its number, never 0.
    pub(super) number: u32,
}

impl Parser<'_> {
    pub(super) fn inline_definition(&mut self) -> Parse<()> {
        self.bump();
        let name = self.ident("the name of an inline")?;
        self.expect("(")?;
        let mut parameters: Vec<Arc<str>> = Vec::new();
        while !self.is(")") {
            parameters.push(self.ident("a parameter")?.name);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        self.skip_separators();
        let open = self.span();
        if !self.is("{") {
            return Err(self.unexpected("`{`"));
        }
        let mut body = Vec::new();
        let mut depth = 0usize;
        loop {
            if self.at_end() {
                self.close_brace(open)?;
            }
            let token = self.bump();
            if token.is("{") {
                depth += 1;
            } else if token.is("}") {
                depth -= 1;
            }
            body.push(token);
            if depth == 0 {
                break;
            }
        }
        if let Some(old) = self.inlines.get(&name.name) {
            let diagnostic = Diagnostic::error(
                codes::REDECLARED,
                name.span,
                format!("inline `{}` is defined twice", name.name),
            )
            .label(old.span, "first defined here");
            self.report(diagnostic);
        }
        let definition = Inline { parameters, body, span: name.span };
        self.inlines.insert(name.name, Arc::new(definition));
        Ok(())
    }

    /// Whether a use of an inline starts `ahead` tokens from here.
    pub(super) fn is_inline_use(&self, ahead: usize) -> bool {
        self.ahead(ahead).name().is_some_and(|n| self.inlines.contains_key(n))
            && self.ahead(ahead + 1).is("(")
    }

    /// Expands the use that starts here; `target` takes the value of `return`.
    pub(super) fn inline_use(&mut self, target: Option<Reference>) -> Parse<Stmt> {
        let call = self.bump();
        let Some((name, definition)) =
            call.name().and_then(|n| Some((n.clone(), self.inlines.get(n)?.clone())))
        else {
            return Err(self.unexpected("the name of an inline"));
        };
        let arguments = self.inline_arguments(call.span)?;
        let span = self.sources.join(call.span, self.last_span());
        if self.open_inlines.iter().any(|open| open.name == name) {
            return Err(self.report(
                Diagnostic::error(
                    codes::INLINE_RECURSION,
                    call.span,
                    format!("inline `{name}` uses itself"),
                )
                .label(definition.span, "defined here")
                .note("an inline is substituted, not called, so this would never end"),
            ));
        }
        if arguments.len() != definition.parameters.len() {
            let message = format!(
                "inline `{name}` takes {}, {}",
                count(definition.parameters.len(), "argument"),
                given(arguments.len())
            );
            return Err(self.report(
                Diagnostic::error(codes::INLINE_ARGUMENTS, span, message)
                    .label(definition.span, "defined here"),
            ));
        }
        let tokens = self.substitute(&name, &definition, &arguments, span);
        self.inline_tokens += tokens.len();
        if self.inline_tokens > MAXIMAL_INLINE_TOKENS {
            let report = Diagnostic::error(
                codes::EXPANSION_TOO_LARGE,
                self.sources.use_site(call.span),
                format!("the inlines of this model make more than {MAXIMAL_INLINE_TOKENS} tokens"),
            );
            return Err(self.report(report));
        }
        self.inline_uses += 1;
        self.open_inlines.push(OpenInline { name, target, number: self.inline_uses });
        let outer_tokens = std::mem::replace(&mut self.tokens, tokens.into());
        let outer_at = std::mem::replace(&mut self.at, 0);
        let result = self.nested(|this| this.statement());
        self.tokens = outer_tokens;
        self.at = outer_at;
        self.open_inlines.pop();
        let statement = result?;
        Ok(statement)
    }

    fn inline_arguments(&mut self, open: Span) -> Parse<Vec<Vec<Token>>> {
        self.expect("(")?;
        let mut arguments: Vec<Vec<Token>> = vec![Vec::new()];
        let mut depth = 0usize;
        loop {
            if self.at_end() {
                return Err(self.report(Diagnostic::error(
                    codes::INLINE_ARGUMENTS,
                    open,
                    "the arguments of this inline are not closed",
                )));
            }
            let token = self.bump();
            if token.is("(") || token.is("[") || token.is("{") {
                depth += 1;
            } else if depth > 0 && (token.is(")") || token.is("]") || token.is("}")) {
                depth -= 1;
            } else if token.is(")") {
                break;
            } else if token.is(",") && depth == 0 {
                arguments.push(Vec::new());
                continue;
            }
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
        if arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        Ok(arguments)
    }

    fn substitute(
        &mut self,
        name: &str,
        definition: &Inline,
        arguments: &[Vec<Token>],
        used_at: Span,
    ) -> Vec<Token> {
        let here =
            self.sources.add_expansion(Expansion { name: name.into(), used_at, is_inline: true });
        let mut copies = HashMap::new();
        let mut tokens = Vec::with_capacity(definition.body.len() + 1);
        let mut end = used_at;
        for token in &definition.body {
            let parameter =
                token.name().and_then(|n| definition.parameters.iter().position(|p| p == n));
            if let Some(index) = parameter {
                tokens.extend(arguments[index].iter().cloned());
                continue;
            }
            let expansion = Some(self.reroute(token.span.expansion, here, &mut copies));
            end = Span { expansion, ..token.span };
            tokens.push(Token { span: end, ..token.clone() });
        }
        tokens.push(Token {
            kind: Kind::End,
            span: end,
            starts_line: true,
            after_space: true,
            frozen: false,
        });
        tokens
    }

    /// A macro expanded inside an inline's body shows the use of the inline behind its own.
    fn reroute(
        &mut self,
        expansion: Option<ExpansionId>,
        here: ExpansionId,
        copies: &mut HashMap<ExpansionId, ExpansionId>,
    ) -> ExpansionId {
        let mut chain = Vec::new();
        let mut current = expansion;
        let mut outer = here;
        while let Some(id) = current {
            if let Some(copy) = copies.get(&id) {
                outer = *copy;
                break;
            }
            chain.push(id);
            current = self.sources.expansions[id.0 as usize].used_at.expansion;
        }
        for id in chain.into_iter().rev() {
            let original = self.sources.expansions[id.0 as usize].clone();
            let used_at = Span { expansion: Some(outer), ..original.used_at };
            outer = self.sources.add_expansion(Expansion { used_at, ..original });
            copies.insert(id, outer);
        }
        outer
    }
}
