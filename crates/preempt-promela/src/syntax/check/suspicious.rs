//! Warnings: what is understood, but hardly meant.

use super::super::codes;
use super::super::diagnostic::Diagnostic;
use super::super::span::Span;
use super::expression::evaluate;
use super::{Checked, Checker};
use crate::model::{Branch, Expr, ExprKind, Initializer, StmtKind, Type};

impl Checker<'_> {
    pub(super) fn warn_about_globals(&mut self) {
        for (variable, usage) in self.model.globals.iter().zip(&self.usage) {
            if !usage.used {
                self.findings.push(Diagnostic::warning(
                    codes::UNUSED_VARIABLE,
                    variable.span,
                    format!("global `{}` is never used", variable.name),
                ));
            } else if variable.ty == Type::Chan && usage.sent && !usage.received {
                self.findings.push(Diagnostic::warning(
                    codes::CHANNEL_NEVER_READ,
                    variable.span,
                    format!("channel `{}` is sent to, but never received from", variable.name),
                ));
            }
        }
    }

    pub(super) fn warn_about_locals(&mut self) {
        for (variable, usage) in self.body.variables.iter().zip(&self.body.usage) {
            // Variables of an inline come with every use of it.
            if variable.span.expansion.is_some() {
                continue;
            }
            if !usage.used {
                self.findings.push(Diagnostic::warning(
                    codes::UNUSED_VARIABLE,
                    variable.span,
                    format!("variable `{}` is never used", variable.name),
                ));
            } else if variable.ty == Type::Chan
                && matches!(variable.init, Some(Initializer::Channel(_)))
                && usage.sent
                && !usage.received
            {
                self.findings.push(Diagnostic::warning(
                    codes::CHANNEL_NEVER_READ,
                    variable.span,
                    format!("channel `{}` is sent to, but never received from", variable.name),
                ));
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
                format!("this format asks for {wanted} values, {arguments} are given"),
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
