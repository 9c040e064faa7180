//! Expressions evaluated over values.

use super::VariableId;
use super::domain::Domain;
use super::expression::{Expr, Possible, mask};
use std::convert::Infallible;

impl Expr {
    /// The possible values where `current` and `next` give the variables' values.
    pub(crate) fn possible(
        &self,
        current: &dyn Fn(VariableId) -> u64,
        next: &dyn Fn(VariableId) -> u64,
    ) -> Possible {
        let values = Values { current, next };
        if let Expr::Any { width } = self {
            return Possible::All(*width);
        }
        if self.is_number() {
            let Ok(value) = values.number(self);
            return Possible::One(value);
        }
        let Ok(truths) = values.truths(self);
        possible_truths(truths.0, truths.1)
    }

    /// Whether it can be false, and whether it can be true.
    pub(crate) fn truths(
        &self,
        current: &dyn Fn(VariableId) -> u64,
        next: &dyn Fn(VariableId) -> u64,
    ) -> (bool, bool) {
        let Ok(truths) = Values { current, next }.truths(self);
        truths
    }
}

/// Evaluation over values.
struct Values<'a> {
    current: &'a dyn Fn(VariableId) -> u64,
    next: &'a dyn Fn(VariableId) -> u64,
}

impl Domain for Values<'_> {
    type Truth = bool;
    type Number = u64;
    type Error = Infallible;

    fn truth(&self, value: bool) -> bool {
        value
    }

    fn and(&self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(*a && *b)
    }

    fn or(&self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(*a || *b)
    }

    fn not(&self, a: &bool) -> bool {
        !a
    }

    fn constant(&self, value: u64, _width: u8) -> u64 {
        value
    }

    fn variable(&self, v: VariableId) -> Result<u64, Infallible> {
        Ok((self.current)(v))
    }

    fn next(&self, v: VariableId) -> Result<u64, Infallible> {
        Ok((self.next)(v))
    }

    fn plus(&self, a: &u64, b: &u64, width: u8) -> Result<u64, Infallible> {
        Ok(a.wrapping_add(*b) & mask(width))
    }

    fn minus(&self, a: &u64, b: &u64, width: u8) -> Result<u64, Infallible> {
        Ok(a.wrapping_sub(*b) & mask(width))
    }

    fn equal(&self, a: &u64, b: &u64) -> Result<bool, Infallible> {
        Ok(a == b)
    }

    fn less(&self, a: &u64, b: &u64) -> Result<bool, Infallible> {
        Ok(a < b)
    }

    fn bit(&self, truth: bool) -> u64 {
        u64::from(truth)
    }

    fn is_not_zero(&self, a: &u64) -> Result<bool, Infallible> {
        Ok(*a != 0)
    }
}

fn possible_truths(can_be_false: bool, can_be_true: bool) -> Possible {
    match (can_be_false, can_be_true) {
        (true, true) => Possible::All(1),
        (true, false) => Possible::One(0),
        (false, true) => Possible::One(1),
        (false, false) => Possible::None,
    }
}
