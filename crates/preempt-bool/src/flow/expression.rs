//! Expressions with resolved variables, and what values they can take.
//!
//! Nondeterminism is Boolean inside expressions (`*` of an integer type stands alone), and every
//! `*` is a choice of its own. So "can be true" and "can be false" are exact when computed
//! operand by operand, and choices need not be enumerated.

use super::VariableId;

#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Expr {
    Constant {
        value: u64,
        width: u8,
    },
    /// Any value of this width.
    Any {
        width: u8,
    },
    Variable(VariableId),
    /// The value after the assignment.
    Next(VariableId),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Equal(Box<Expr>, Box<Expr>),
    Less(Box<Expr>, Box<Expr>),
    /// Modulo two to the power of the width.
    Plus(Box<Expr>, Box<Expr>, u8),
    Minus(Box<Expr>, Box<Expr>, u8),
}

/// The values an expression can take in one state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Possible {
    One(u64),
    /// All values of this width.
    All(u8),
    /// None; only of a Boolean that can be neither, which does not happen.
    None,
}

impl Possible {
    pub(crate) fn count(self) -> u64 {
        match self {
            Possible::One(_) => 1,
            Possible::All(width) => 1 << width,
            Possible::None => 0,
        }
    }

    pub(crate) fn nth(self, index: u64) -> u64 {
        match self {
            Possible::One(value) => value,
            Possible::All(_) | Possible::None => index,
        }
    }

    pub(crate) fn contains(self, value: u64) -> bool {
        match self {
            Possible::One(only) => only == value,
            Possible::All(width) => value < 1 << width,
            Possible::None => false,
        }
    }
}

impl Expr {
    pub(crate) fn truth(value: bool) -> Expr {
        Expr::Constant { value: u64::from(value), width: 1 }
    }

    pub(crate) fn not(self) -> Expr {
        match self {
            Expr::Not(inner) => *inner,
            other => Expr::Not(Box::new(other)),
        }
    }

    /// Whether it may be false, and whether it may be true, where some next values are not known.
    pub(crate) fn partial_truths(
        &self,
        current: &dyn Fn(VariableId) -> u64,
        next: &dyn Fn(VariableId) -> Option<u64>,
    ) -> (bool, bool) {
        let truths = |e: &Expr| e.partial_truths(current, next);
        let number = |e: &Expr| e.partial_number(current, next);
        let sure = |truth: Option<bool>| truth.map_or((true, true), |t| (!t, t));
        match self {
            Expr::Any { .. } => (true, true),
            Expr::Not(a) => {
                let (f, t) = truths(a);
                (t, f)
            }
            Expr::And(a, b) => {
                let ((af, at), (bf, bt)) = (truths(a), truths(b));
                (af || bf, at && bt)
            }
            Expr::Or(a, b) => {
                let ((af, at), (bf, bt)) = (truths(a), truths(b));
                (af && bf, at || bt)
            }
            Expr::Equal(a, b) if a.is_number() && b.is_number() => {
                sure(number(a).zip(number(b)).map(|(a, b)| a == b))
            }
            Expr::Equal(a, b) => {
                let ((af, at), (bf, bt)) = (truths(a), truths(b));
                (af && bt || at && bf, af && bf || at && bt)
            }
            Expr::Less(a, b) => sure(number(a).zip(number(b)).map(|(a, b)| a < b)),
            other => sure(number(other).map(|value| value != 0)),
        }
    }

    fn partial_number(
        &self,
        current: &dyn Fn(VariableId) -> u64,
        next: &dyn Fn(VariableId) -> Option<u64>,
    ) -> Option<u64> {
        let number = |e: &Expr| e.partial_number(current, next);
        match self {
            Expr::Constant { value, .. } => Some(*value),
            Expr::Variable(v) => Some(current(*v)),
            Expr::Next(v) => next(*v),
            Expr::Plus(a, b, width) => Some(number(a)?.wrapping_add(number(b)?) & mask(*width)),
            Expr::Minus(a, b, width) => Some(number(a)?.wrapping_sub(number(b)?) & mask(*width)),
            truth => match truth.partial_truths(current, next) {
                (false, true) => Some(1),
                (true, false) => Some(0),
                _ => None,
            },
        }
    }

    /// Has one value, perhaps of several bits.
    pub(crate) fn is_number(&self) -> bool {
        matches!(
            self,
            Expr::Variable(_)
                | Expr::Next(_)
                | Expr::Constant { .. }
                | Expr::Plus(..)
                | Expr::Minus(..)
        )
    }

    /// Whether some part of it may have any value.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Expr::Any { .. } => true,
            Expr::Constant { .. } | Expr::Variable(_) | Expr::Next(_) => false,
            Expr::Not(a) => a.is_open(),
            Expr::And(a, b)
            | Expr::Or(a, b)
            | Expr::Equal(a, b)
            | Expr::Less(a, b)
            | Expr::Plus(a, b, _)
            | Expr::Minus(a, b, _) => a.is_open() || b.is_open(),
        }
    }

    pub(crate) fn each_variable(&self, visit: &mut dyn FnMut(VariableId)) {
        match self {
            Expr::Constant { .. } | Expr::Any { .. } => {}
            Expr::Variable(v) | Expr::Next(v) => visit(*v),
            Expr::Not(a) => a.each_variable(visit),
            Expr::And(a, b)
            | Expr::Or(a, b)
            | Expr::Equal(a, b)
            | Expr::Less(a, b)
            | Expr::Plus(a, b, _)
            | Expr::Minus(a, b, _) => {
                a.each_variable(visit);
                b.each_variable(visit);
            }
        }
    }

    /// The same expression over other variables.
    pub(crate) fn map(&self, rename: &dyn Fn(VariableId) -> VariableId) -> Expr {
        self.with_leaves(&|leaf| match leaf {
            Expr::Variable(v) => Expr::Variable(rename(*v)),
            Expr::Next(v) => Expr::Next(rename(*v)),
            other => other.clone(),
        })
    }

    /// Of a constraint: the next value of a variable that is not assigned is its value.
    pub(crate) fn about_assigned(&self, assigned: &[VariableId]) -> Expr {
        self.with_leaves(&|leaf| match leaf {
            Expr::Next(v) if !assigned.contains(v) => Expr::Variable(*v),
            other => other.clone(),
        })
    }

    fn with_leaves(&self, change: &dyn Fn(&Expr) -> Expr) -> Expr {
        let new = |e: &Expr| Box::new(e.with_leaves(change));
        match self {
            Expr::Constant { .. } | Expr::Any { .. } | Expr::Variable(_) | Expr::Next(_) => {
                change(self)
            }
            Expr::Not(a) => Expr::Not(new(a)),
            Expr::And(a, b) => Expr::And(new(a), new(b)),
            Expr::Or(a, b) => Expr::Or(new(a), new(b)),
            Expr::Equal(a, b) => Expr::Equal(new(a), new(b)),
            Expr::Less(a, b) => Expr::Less(new(a), new(b)),
            Expr::Plus(a, b, width) => Expr::Plus(new(a), new(b), *width),
            Expr::Minus(a, b, width) => Expr::Minus(new(a), new(b), *width),
        }
    }
}

pub(super) fn mask(width: u8) -> u64 {
    (1 << width) - 1
}
