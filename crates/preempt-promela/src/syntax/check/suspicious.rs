//! Warnings: what is understood, but hardly meant.

use super::super::codes;
use super::super::diagnostic::{Diagnostic, count, given};
use super::super::span::Span;
use super::constant::evaluate;
use super::scope::Usage;
use super::{Checked, Checker};
use crate::model::{Branch, Expr, ExprKind, Initializer, StmtKind, Type, Variable};

impl Checker<'_> {
    pub(super) fn warn_about_globals(&mut self) {
        for (variable, usage) in self.model.globals.iter().zip(&self.usage) {
            let found = warning_about(variable, usage, "global");
            found.into_iter().for_each(|warning| self.findings.push(warning));
        }
    }

    pub(super) fn warn_about_locals(&mut self) {
        for (variable, usage) in self.body.variables.iter().zip(&self.body.usage) {
            // Variables of an inline come with every use of it.
            if variable.span.expansion.is_none() {
                let found = warning_about(variable, usage, "variable");
                found.into_iter().for_each(|warning| self.findings.push(warning));
            }
        }
    }

    /// Only at the end: a formula may refer to a label.
    pub(super) fn warn_about_labels(&mut self) {
        for (name, span) in self.labels.iter().flat_map(|l| l.unused()) {
            self.findings.push(Diagnostic::warning(
                codes::UNUSED_LABEL,
                span,
                format!("label `{name}` is never used"),
            ));
        }
    }

    /// Options whose guard is constantly false, or `else` beside a guard that is constantly true.
    pub(super) fn warn_about_options(&mut self, branches: &[Branch]) {
        let guard = |branch: &Branch| match &branch.body.first()?.kind {
            StmtKind::Condition(condition) => evaluate(condition, &self.model),
            _ => None,
        };
        let always = branches.iter().find(|b| guard(b).is_some_and(|v| v != 0)).map(|b| b.span);
        let mut found = Vec::new();
        for branch in branches {
            let Some(first) = branch.body.first() else { continue };
            if guard(branch) == Some(0) {
                found.push(Diagnostic::warning(
                    codes::DEAD_OPTION,
                    first.span,
                    "this option can never be taken: its guard is constantly false",
                ));
            } else if let (StmtKind::Else, Some(other)) = (&first.kind, always) {
                found.push(
                    Diagnostic::warning(
                        codes::DEAD_OPTION,
                        first.span,
                        "this option can never be taken: another one is always possible",
                    )
                    .label(other, "always possible"),
                );
            }
        }
        for diagnostic in found {
            self.findings.push(diagnostic);
        }
    }

    /// The conversions of a format and its arguments must match in number.
    pub(super) fn check_format(&mut self, format: &str, arguments: usize, span: Span) {
        let mut wanted = 0usize;
        let mut characters = format.chars();
        while let Some(c) = characters.next() {
            if c == '%' && characters.next() != Some('%') {
                wanted += 1;
            }
        }
        if wanted != arguments {
            self.findings.push(Diagnostic::warning(
                codes::FORMAT_ARGUMENTS,
                span,
                format!("this format asks for {}, {}", count(wanted, "value"), given(arguments)),
            ));
        }
    }

    /// In a condition, `run` must stand alone: it has an effect.
    pub(super) fn refuse_run(&mut self, expression: &Expr) -> Checked<()> {
        match &expression.kind {
            ExprKind::Run { .. } => Err(self.report(
                Diagnostic::error(
                    codes::RUN_IN_EXPRESSION,
                    expression.span,
                    "`run` cannot be part of a larger condition, because it has an effect",
                )
                .suggest("assign its value to a variable first"),
            )),
            ExprKind::Unary(_, a) => self.refuse_run(a),
            ExprKind::Binary(_, a, b) => {
                self.refuse_run(a)?;
                self.refuse_run(b)
            }
            ExprKind::Conditional(a, b, c) => {
                self.refuse_run(a)?;
                self.refuse_run(b)?;
                self.refuse_run(c)
            }
            _ => Ok(()),
        }
    }
}

/// What is suspicious about how a variable is used.
fn warning_about(variable: &Variable, usage: &Usage, what: &str) -> Option<Diagnostic> {
    let name = &variable.name;
    let is_made = matches!(variable.init, Some(Initializer::Channel(_)));
    let (code, message) = if !usage.used {
        (codes::UNUSED_VARIABLE, format!("{what} `{name}` is never used"))
    } else if variable.ty != Type::Chan {
        return None;
    } else if variable.init.is_none() && !usage.stored {
        (codes::NO_CHANNEL, format!("`{name}` is used, but it never holds a channel"))
    } else if is_made && usage.sent && !usage.received {
        let message = format!("channel `{name}` is sent to, but never received from");
        (codes::CHANNEL_NEVER_READ, message)
    } else {
        return None;
    };
    Some(Diagnostic::warning(code, variable.span, message))
}
