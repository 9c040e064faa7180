//! What expressions mean, once for all engines.
//!
//! A [`Domain`] says what a truth and a number are: values of one state, or diagrams over the
//! states of a set. Nondeterminism is Boolean inside expressions, so a condition is a pair: where
//! it can be false, and where it can be true.

use super::VariableId;
use super::expression::Expr;

pub(crate) trait Domain {
    type Truth: Clone;
    type Number;
    type Error;

    fn truth(&self, value: bool) -> Self::Truth;
    fn and(&self, a: &Self::Truth, b: &Self::Truth) -> Result<Self::Truth, Self::Error>;
    fn or(&self, a: &Self::Truth, b: &Self::Truth) -> Result<Self::Truth, Self::Error>;
    fn not(&self, a: &Self::Truth) -> Self::Truth;

    fn constant(&self, value: u64, width: u8) -> Self::Number;
    fn variable(&self, v: VariableId) -> Result<Self::Number, Self::Error>;
    fn next(&self, v: VariableId) -> Result<Self::Number, Self::Error>;
    /// Modulo two to the power of the width.
    fn plus(
        &self,
        a: &Self::Number,
        b: &Self::Number,
        width: u8,
    ) -> Result<Self::Number, Self::Error>;
    fn minus(
        &self,
        a: &Self::Number,
        b: &Self::Number,
        width: u8,
    ) -> Result<Self::Number, Self::Error>;
    fn equal(&self, a: &Self::Number, b: &Self::Number) -> Result<Self::Truth, Self::Error>;
    fn less(&self, a: &Self::Number, b: &Self::Number) -> Result<Self::Truth, Self::Error>;
    /// A truth as a number of one bit.
    fn bit(&self, truth: Self::Truth) -> Self::Number;
    fn is_not_zero(&self, a: &Self::Number) -> Result<Self::Truth, Self::Error>;

    /// What was computed before for the same expression; see [`Domain::remember`].
    fn remembered(&self, _expr: &Expr) -> Option<(Self::Truth, Self::Truth)> {
        None
    }

    /// For domains in which evaluation is dear.
    fn remember(&self, _expr: &Expr, _truths: &(Self::Truth, Self::Truth)) {}

    /// The value of an expression that has only one.
    fn number(&self, expr: &Expr) -> Result<Self::Number, Self::Error> {
        match expr {
            Expr::Constant { value, width } => Ok(self.constant(*value, *width)),
            Expr::Variable(v) => self.variable(*v),
            Expr::Next(v) => self.next(*v),
            Expr::Plus(a, b, width) => self.plus(&self.number(a)?, &self.number(b)?, *width),
            Expr::Minus(a, b, width) => self.minus(&self.number(a)?, &self.number(b)?, *width),
            _ => Ok(self.bit(self.truths(expr)?.1)),
        }
    }

    /// Where it can be false, and where it can be true.
    fn truths(&self, expr: &Expr) -> Result<(Self::Truth, Self::Truth), Self::Error> {
        let sure = |t: Self::Truth| (self.not(&t), t);
        match expr {
            Expr::Constant { value, .. } => return Ok(sure(self.truth(*value != 0))),
            Expr::Any { .. } => return Ok((self.truth(true), self.truth(true))),
            Expr::Variable(_) | Expr::Next(_) => {
                return Ok(sure(self.is_not_zero(&self.number(expr)?)?));
            }
            _ => {}
        }
        if let Some(truths) = self.remembered(expr) {
            return Ok(truths);
        }
        let truths = match expr {
            Expr::Not(a) => {
                let (f, t) = self.truths(a)?;
                (t, f)
            }
            Expr::And(a, b) => {
                let ((af, at), (bf, bt)) = (self.truths(a)?, self.truths(b)?);
                (self.or(&af, &bf)?, self.and(&at, &bt)?)
            }
            Expr::Or(a, b) => {
                let ((af, at), (bf, bt)) = (self.truths(a)?, self.truths(b)?);
                (self.and(&af, &bf)?, self.or(&at, &bt)?)
            }
            Expr::Equal(a, b) if a.is_number() && b.is_number() => {
                sure(self.equal(&self.number(a)?, &self.number(b)?)?)
            }
            Expr::Equal(a, b) => {
                let ((af, at), (bf, bt)) = (self.truths(a)?, self.truths(b)?);
                let unequal = self.or(&self.and(&af, &bt)?, &self.and(&at, &bf)?)?;
                let equal = self.or(&self.and(&af, &bf)?, &self.and(&at, &bt)?)?;
                (unequal, equal)
            }
            Expr::Less(a, b) => sure(self.less(&self.number(a)?, &self.number(b)?)?),
            number => sure(self.is_not_zero(&self.number(number)?)?),
        };
        self.remember(expr, &truths);
        Ok(truths)
    }
}
