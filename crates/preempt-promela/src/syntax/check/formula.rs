//! Temporal formulas: the Boolean and temporal operators around state expressions.

use super::super::ast::{self, TemporalBinary, TemporalUnary};
use super::Checker;
use super::scope::Body;
use crate::model::{BinaryOp, ExprKind, Formula, UnaryOp};

impl Checker<'_> {
    /// A formula over globals and remote references.
    pub(super) fn formula(&mut self, expression: &ast::Expr) -> Option<Formula> {
        self.body = Body::default();
        self.in_formula = true;
        let formula = self.subformula(expression);
        self.in_formula = false;
        formula
    }

    fn subformula(&mut self, expression: &ast::Expr) -> Option<Formula> {
        match &expression.kind {
            ast::ExprKind::TemporalUnary(operator, operand) => {
                let operand = Box::new(self.subformula(operand)?);
                Some(match operator {
                    TemporalUnary::Always => Formula::Always(operand),
                    TemporalUnary::Eventually => Formula::Eventually(operand),
                    TemporalUnary::Next => Formula::Next(operand),
                })
            }
            ast::ExprKind::TemporalBinary(operator, left, right) => {
                let (left, right) = self.pair(left, right)?;
                Some(match operator {
                    TemporalBinary::Until => Formula::Until(left, right),
                    TemporalBinary::WeakUntil => Formula::WeakUntil(left, right),
                    TemporalBinary::Release => Formula::Release(left, right),
                    TemporalBinary::Implies => Formula::Implies(left, right),
                    TemporalBinary::Equivalent => Formula::Equivalent(left, right),
                })
            }
            ast::ExprKind::Unary(UnaryOp::Not, operand) => {
                Some(Formula::Not(Box::new(self.subformula(operand)?)))
            }
            ast::ExprKind::Binary(BinaryOp::And, left, right) => {
                let (left, right) = self.pair(left, right)?;
                Some(Formula::And(left, right))
            }
            ast::ExprKind::Binary(BinaryOp::Or, left, right) => {
                let (left, right) = self.pair(left, right)?;
                Some(Formula::Or(left, right))
            }
            _ => {
                let proposition = self.expression(expression).ok()?;
                if let ExprKind::Const(value) = proposition.kind {
                    return Some(Formula::Const(value != 0));
                }
                Some(Formula::Prop(proposition))
            }
        }
    }

    /// Both sides are checked before giving up, to find the errors of both.
    fn pair(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Option<(Box<Formula>, Box<Formula>)> {
        let left = self.subformula(left);
        let right = self.subformula(right);
        Some((Box::new(left?), Box::new(right?)))
    }
}
