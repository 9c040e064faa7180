//! Expressions that are constants, and how large things may be.

use crate::model::{BinaryOp, Expr, ExprKind, Model, UnaryOp};

/// Messages with more fields than this, structures flattened, are refused.
pub(super) const MAXIMAL_MESSAGE: usize = 1_000;

/// The value of a constant expression.
pub(super) fn evaluate(expression: &Expr, model: &Model) -> Option<i32> {
    evaluate_in(None, expression, model)
}

/// The value of an expression in the process of this number, if it is a constant there.
pub fn evaluate_in(process: Option<i32>, expression: &Expr, model: &Model) -> Option<i32> {
    let evaluate = |expression: &Expr, model: &Model| evaluate_in(process, expression, model);
    match &expression.kind {
        ExprKind::Pid => process,
        ExprKind::Const(value) => Some(*value),
        ExprKind::Mtype(index) => model.mtypes.get(*index as usize).map(|m| i32::from(m.value)),
        ExprKind::Unary(operator, operand) => Some(operator.apply(evaluate(operand, model)?)),
        ExprKind::Binary(operator, left, right) => {
            operator.apply(evaluate(left, model)?, evaluate(right, model)?)
        }
        ExprKind::Conditional(condition, then, otherwise) => {
            let branch = if evaluate(condition, model)? != 0 { then } else { otherwise };
            evaluate(branch, model)
        }
        _ => None,
    }
}

impl UnaryOp {
    pub(crate) fn apply(self, a: i32) -> i32 {
        match self {
            UnaryOp::Negate => a.wrapping_neg(),
            UnaryOp::Not => i32::from(a == 0),
            UnaryOp::Complement => !a,
        }
    }
}

impl BinaryOp {
    /// The value, if there is one.
    pub(crate) fn apply(self, a: i32, b: i32) -> Option<i32> {
        Some(match self {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Subtract => a.wrapping_sub(b),
            BinaryOp::Multiply => a.wrapping_mul(b),
            BinaryOp::Divide => a.checked_div(b)?,
            BinaryOp::Remainder => a.checked_rem(b)?,
            BinaryOp::ShiftLeft => a.wrapping_shl(b as u32),
            BinaryOp::ShiftRight => a.wrapping_shr(b as u32),
            BinaryOp::BitAnd => a & b,
            BinaryOp::BitOr => a | b,
            BinaryOp::BitXor => a ^ b,
            BinaryOp::And => i32::from(a != 0 && b != 0),
            BinaryOp::Or => i32::from(a != 0 || b != 0),
            BinaryOp::Equal => i32::from(a == b),
            BinaryOp::NotEqual => i32::from(a != b),
            BinaryOp::Less => i32::from(a < b),
            BinaryOp::LessEqual => i32::from(a <= b),
            BinaryOp::Greater => i32::from(a > b),
            BinaryOp::GreaterEqual => i32::from(a >= b),
        })
    }
}
