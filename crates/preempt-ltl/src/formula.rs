//! Formulas of linear temporal logic over numbered propositions.
//!
//! Propositions are numbers so that a front end can attach any expression of
//! its own language to them; `parse` gives numbers to names for plain text.

use std::fmt;

/// A formula. Nothing is simplified here: it prints as it was written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Formula {
    /// Always satisfied.
    True,
    /// Never satisfied.
    False,
    /// Proposition number `n`.
    Prop(u32),
    /// `! f`
    Not(Box<Formula>),
    /// `f && g`
    And(Box<Formula>, Box<Formula>),
    /// `f || g`
    Or(Box<Formula>, Box<Formula>),
    /// `f -> g`
    Implies(Box<Formula>, Box<Formula>),
    /// `f <-> g`
    Equivalent(Box<Formula>, Box<Formula>),
    /// `X f`
    Next(Box<Formula>),
    /// `[] f`
    Always(Box<Formula>),
    /// `<> f`
    Eventually(Box<Formula>),
    /// `f U g`
    Until(Box<Formula>, Box<Formula>),
    /// `f W g`
    WeakUntil(Box<Formula>, Box<Formula>),
    /// `f V g`, the dual of until.
    Release(Box<Formula>, Box<Formula>),
}

#[allow(clippy::should_implement_trait)]
impl Formula {
    /// `! self`
    pub fn not(self) -> Formula {
        Formula::Not(Box::new(self))
    }
    /// `self && other`
    pub fn and(self, other: Formula) -> Formula {
        Formula::And(Box::new(self), Box::new(other))
    }
    /// `self || other`
    pub fn or(self, other: Formula) -> Formula {
        Formula::Or(Box::new(self), Box::new(other))
    }
    /// `self -> other`
    pub fn implies(self, other: Formula) -> Formula {
        Formula::Implies(Box::new(self), Box::new(other))
    }
    /// `self <-> other`
    pub fn equivalent(self, other: Formula) -> Formula {
        Formula::Equivalent(Box::new(self), Box::new(other))
    }
    /// `X self`
    pub fn next(self) -> Formula {
        Formula::Next(Box::new(self))
    }
    /// `[] self`
    pub fn always(self) -> Formula {
        Formula::Always(Box::new(self))
    }
    /// `<> self`
    pub fn eventually(self) -> Formula {
        Formula::Eventually(Box::new(self))
    }
    /// `self U other`
    pub fn until(self, other: Formula) -> Formula {
        Formula::Until(Box::new(self), Box::new(other))
    }
    /// `self W other`
    pub fn weak_until(self, other: Formula) -> Formula {
        Formula::WeakUntil(Box::new(self), Box::new(other))
    }
    /// `self V other`
    pub fn release(self, other: Formula) -> Formula {
        Formula::Release(Box::new(self), Box::new(other))
    }

    /// The direct subformulas, left to right.
    pub fn children(&self) -> impl Iterator<Item = &Formula> {
        use Formula::*;
        let (first, second) = match self {
            True | False | Prop(_) => (None, None),
            Not(f) | Next(f) | Always(f) | Eventually(f) => (Some(f), None),
            And(f, g)
            | Or(f, g)
            | Implies(f, g)
            | Equivalent(f, g)
            | Until(f, g)
            | WeakUntil(f, g)
            | Release(f, g) => (Some(f), Some(g)),
        };
        first.into_iter().chain(second).map(|f| &**f)
    }

    /// Does `X` occur? Formulas without it are stutter invariant.
    pub fn has_next(&self) -> bool {
        matches!(self, Formula::Next(_)) || self.children().any(Formula::has_next)
    }

    /// One more than the highest proposition number in the formula.
    pub fn proposition_count(&self) -> u32 {
        match self {
            Formula::Prop(p) => p.saturating_add(1),
            _ => self.children().map(Formula::proposition_count).max().unwrap_or(0),
        }
    }

    /// The formula as text that [`crate::parse`] reads back, with these names.
    pub fn display<'a>(&'a self, names: &'a [String]) -> impl fmt::Display + 'a {
        Shown { formula: self, names }
    }
}

struct Shown<'a> {
    formula: &'a Formula,
    names: &'a [String],
}

impl Shown<'_> {
    fn child<'b>(&'b self, formula: &'b Formula) -> Shown<'b> {
        Shown { formula, names: self.names }
    }

    fn unary(&self, out: &mut fmt::Formatter<'_>, operator: &str, f: &Formula) -> fmt::Result {
        write!(out, "{operator}{}", self.child(f))
    }

    fn binary(
        &self,
        out: &mut fmt::Formatter<'_>,
        f: &Formula,
        operator: &str,
        g: &Formula,
    ) -> fmt::Result {
        write!(out, "({} {operator} {})", self.child(f), self.child(g))
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.formula {
            Formula::True => out.write_str("true"),
            Formula::False => out.write_str("false"),
            Formula::Prop(p) => match self.names.get(*p as usize) {
                Some(name) if name.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                    out.write_str(name)
                }
                Some(name) => write!(out, "({name})"),
                None => write!(out, "p{p}"),
            },
            Formula::Not(f) => self.unary(out, "!", f),
            Formula::Next(f) => self.unary(out, "X ", f),
            Formula::Always(f) => self.unary(out, "[]", f),
            Formula::Eventually(f) => self.unary(out, "<>", f),
            Formula::And(f, g) => self.binary(out, f, "&&", g),
            Formula::Or(f, g) => self.binary(out, f, "||", g),
            Formula::Implies(f, g) => self.binary(out, f, "->", g),
            Formula::Equivalent(f, g) => self.binary(out, f, "<->", g),
            Formula::Until(f, g) => self.binary(out, f, "U", g),
            Formula::WeakUntil(f, g) => self.binary(out, f, "W", g),
            Formula::Release(f, g) => self.binary(out, f, "V", g),
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.display(&[]))
    }
}
