//! Expressions with resolved variables, and what values they can take.
//!
//! Nondeterminism is Boolean inside expressions (`*` of an integer type stands alone), and every
//! `*` is a choice of its own. So "can be true" and "can be false" are exact when computed
//! operand by operand, and nobody has to enumerate choices.

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

    /// The possible values where `current` and `next` give the variables' values.
    pub(crate) fn possible(
        &self,
        current: &dyn Fn(VariableId) -> u64,
        next: &dyn Fn(VariableId) -> u64,
    ) -> Possible {
        let value = |e: &Expr| match e.possible(current, next) {
            Possible::One(value) => value,
            Possible::All(_) | Possible::None => 0,
        };
        match self {
            Expr::Constant { value, .. } => Possible::One(*value),
            Expr::Any { width } => Possible::All(*width),
            Expr::Variable(v) => Possible::One(current(*v)),
            Expr::Next(v) => Possible::One(next(*v)),
            Expr::Not(a) => {
                let (f, t) = a.truths(current, next);
                possible_truths(t, f)
            }
            Expr::And(a, b) => {
                let ((af, at), (bf, bt)) = (a.truths(current, next), b.truths(current, next));
                possible_truths(af || bf, at && bt)
            }
            Expr::Or(a, b) => {
                let ((af, at), (bf, bt)) = (a.truths(current, next), b.truths(current, next));
                possible_truths(af && bf, at || bt)
            }
            Expr::Equal(a, b) if a.is_boolean() || b.is_boolean() => {
                let ((af, at), (bf, bt)) = (a.truths(current, next), b.truths(current, next));
                possible_truths(af && bt || at && bf, af && bf || at && bt)
            }
            Expr::Equal(a, b) => Possible::One(u64::from(value(a) == value(b))),
            Expr::Less(a, b) => Possible::One(u64::from(value(a) < value(b))),
            Expr::Plus(a, b, width) => Possible::One((value(a) + value(b)) & mask(*width)),
            Expr::Minus(a, b, width) => {
                Possible::One(value(a).wrapping_sub(value(b)) & mask(*width))
            }
        }
    }

    /// Whether it can be false, and whether it can be true.
    pub(crate) fn truths(
        &self,
        current: &dyn Fn(VariableId) -> u64,
        next: &dyn Fn(VariableId) -> u64,
    ) -> (bool, bool) {
        match self.possible(current, next) {
            Possible::One(value) => (value == 0, value != 0),
            Possible::All(_) => (true, true),
            Possible::None => (false, false),
        }
    }

    /// Contains an operator or `*` that makes it Boolean whatever its operands are. A variable of
    /// one bit need not be recognised: comparing it as a number gives the same.
    fn is_boolean(&self) -> bool {
        matches!(self, Expr::Not(_) | Expr::And(..) | Expr::Or(..) | Expr::Any { width: 1 })
            || matches!(self, Expr::Equal(..) | Expr::Less(..))
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
        let both = |a: &Expr, b: &Expr| (Box::new(a.map(rename)), Box::new(b.map(rename)));
        match self {
            Expr::Constant { .. } | Expr::Any { .. } => self.clone(),
            Expr::Variable(v) => Expr::Variable(rename(*v)),
            Expr::Next(v) => Expr::Next(rename(*v)),
            Expr::Not(a) => Expr::Not(Box::new(a.map(rename))),
            Expr::And(a, b) => {
                let (a, b) = both(a, b);
                Expr::And(a, b)
            }
            Expr::Or(a, b) => {
                let (a, b) = both(a, b);
                Expr::Or(a, b)
            }
            Expr::Equal(a, b) => {
                let (a, b) = both(a, b);
                Expr::Equal(a, b)
            }
            Expr::Less(a, b) => {
                let (a, b) = both(a, b);
                Expr::Less(a, b)
            }
            Expr::Plus(a, b, width) => {
                let (a, b) = both(a, b);
                Expr::Plus(a, b, *width)
            }
            Expr::Minus(a, b, width) => {
                let (a, b) = both(a, b);
                Expr::Minus(a, b, *width)
            }
        }
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

fn mask(width: u8) -> u64 {
    (1 << width) - 1
}
