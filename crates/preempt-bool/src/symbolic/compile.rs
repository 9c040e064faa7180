//! Expressions and assignments as diagrams.

use super::diagram::{Diagram, Diagrams, Level, Renaming};
use super::levels::{Levels, Moment};
use crate::flow::{Expr, VariableId};
use preempt_core::Stop;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

type Made = Result<Diagram, Stop>;

pub(crate) struct Compiler<'a, 'w> {
    pub(crate) diagrams: &'a Diagrams<'w>,
    pub(crate) levels: &'a Levels,
    /// Where an expression can be false and where it can be true. Long guards repeat a lot.
    truths: RefCell<FxHashMap<Expr, (Diagram, Diagram)>>,
}

impl<'a, 'w> Compiler<'a, 'w> {
    pub(crate) fn new(diagrams: &'a Diagrams<'w>, levels: &'a Levels) -> Self {
        Compiler { diagrams, levels, truths: RefCell::default() }
    }

    /// Where a condition can be true.
    pub(crate) fn condition(&self, expr: &Expr) -> Made {
        Ok(self.truths(expr)?.1)
    }

    /// Where `variable`, at the given moment, has a value the expression can take.
    pub(crate) fn takes(&self, variable: VariableId, moment: Moment, expr: &Expr) -> Made {
        let d = self.diagrams;
        if matches!(expr, Expr::Any { .. }) {
            return Ok(d.constant(true));
        }
        let levels: Vec<Level> = self.levels.of(variable, moment).collect();
        if levels.len() == 1 {
            let (can_be_false, can_be_true) = self.truths(expr)?;
            let bit = d.variable(levels[0])?;
            let yes = d.and(&bit, &can_be_true)?;
            let no = d.and(&d.not(&bit), &can_be_false)?;
            return d.or(&yes, &no);
        }
        let bits = self.bits(expr)?;
        let mut all = d.constant(true);
        // From the bottom up, so that intermediate results stay small.
        for (level, bit) in levels.iter().zip(&bits) {
            let equal = d.equal(&d.variable(*level)?, bit)?;
            all = d.and(&all, &equal)?;
        }
        Ok(all)
    }

    /// The cube that says `variable` has this value at the moment.
    pub(crate) fn is(&self, variable: VariableId, moment: Moment, value: u64) -> Made {
        let width = self.levels.bits(variable).len() as u8;
        self.takes(variable, moment, &Expr::Constant { value, width })
    }

    pub(crate) fn cube(&self, variables: &[VariableId], moment: Moment) -> Made {
        self.diagrams.cube(variables.iter().flat_map(|v| self.levels.of(*v, moment)))
    }

    pub(crate) fn renaming(&self, variables: &[VariableId], from: Moment, to: Moment) -> Renaming {
        let pairs = variables.iter().flat_map(|v| {
            self.levels.bits(*v).iter().map(move |bit| (bit[from as usize], bit[to as usize]))
        });
        self.diagrams.renaming(pairs)
    }

    /// A renaming from variables to others of the same widths, all now.
    pub(crate) fn moving(&self, pairs: &[(VariableId, VariableId)]) -> Renaming {
        let pairs = pairs.iter().flat_map(|(from, to)| {
            let to = self.levels.of(*to, Moment::Now);
            self.levels.of(*from, Moment::Now).zip(to.collect::<Vec<_>>())
        });
        self.diagrams.renaming(pairs.collect::<Vec<_>>())
    }

    fn truths(&self, expr: &Expr) -> Result<(Diagram, Diagram), Stop> {
        let d = self.diagrams;
        let simple = matches!(expr, Expr::Constant { .. } | Expr::Any { .. } | Expr::Variable(_));
        if !simple && let Some((f, t)) = self.truths.borrow().get(expr) {
            return Ok((f.clone(), t.clone()));
        }
        let sure = |t: Diagram| (d.not(&t), t);
        let result = match expr {
            Expr::Constant { value, .. } => sure(d.constant(*value != 0)),
            Expr::Any { .. } => (d.constant(true), d.constant(true)),
            Expr::Variable(_) | Expr::Next(_) | Expr::Plus(..) | Expr::Minus(..) => {
                let bits = self.bits(expr)?;
                let mut any = d.constant(false);
                for bit in &bits {
                    any = d.or(&any, bit)?;
                }
                sure(any)
            }
            Expr::Not(a) => {
                let (f, t) = self.truths(a)?;
                (t, f)
            }
            Expr::And(a, b) => {
                let ((af, at), (bf, bt)) = (self.truths(a)?, self.truths(b)?);
                (d.or(&af, &bf)?, d.and(&at, &bt)?)
            }
            Expr::Or(a, b) => {
                let ((af, at), (bf, bt)) = (self.truths(a)?, self.truths(b)?);
                (d.and(&af, &bf)?, d.or(&at, &bt)?)
            }
            Expr::Equal(a, b) if self.is_number(a) && self.is_number(b) => {
                let (a, b) = (self.bits(a)?, self.bits(b)?);
                let mut all = d.constant(true);
                for (a, b) in a.iter().zip(&b) {
                    let equal = d.equal(a, b)?;
                    all = d.and(&all, &equal)?;
                }
                sure(all)
            }
            Expr::Equal(a, b) => {
                let ((af, at), (bf, bt)) = (self.truths(a)?, self.truths(b)?);
                let unequal = d.or(&d.and(&af, &bt)?, &d.and(&at, &bf)?)?;
                let equal = d.or(&d.and(&af, &bf)?, &d.and(&at, &bt)?)?;
                (unequal, equal)
            }
            Expr::Less(a, b) => {
                let (a, b) = (self.bits(a)?, self.bits(b)?);
                let mut less = d.constant(false);
                for (a, b) in a.iter().zip(&b) {
                    let here = d.and(&d.not(a), b)?;
                    let same = d.equal(a, b)?;
                    less = d.or(&here, &d.and(&same, &less)?)?;
                }
                sure(less)
            }
        };
        if !simple {
            self.truths.borrow_mut().insert(expr.clone(), result.clone());
        }
        Ok(result)
    }

    fn is_number(&self, expr: &Expr) -> bool {
        matches!(
            expr,
            Expr::Variable(_)
                | Expr::Next(_)
                | Expr::Constant { .. }
                | Expr::Plus(..)
                | Expr::Minus(..)
        )
    }

    /// The bits of a number, lowest first.
    fn bits(&self, expr: &Expr) -> Result<Vec<Diagram>, Stop> {
        let d = self.diagrams;
        match expr {
            Expr::Constant { value, width } => {
                Ok((0..*width).map(|i| d.constant(value >> i & 1 == 1)).collect())
            }
            Expr::Variable(v) => self.levels.of(*v, Moment::Now).map(|l| d.variable(l)).collect(),
            Expr::Next(v) => self.levels.of(*v, Moment::Next).map(|l| d.variable(l)).collect(),
            Expr::Plus(a, b, _) | Expr::Minus(a, b, _) => {
                let subtract = matches!(expr, Expr::Minus(..));
                let (a, b) = (self.bits(a)?, self.bits(b)?);
                // Subtraction adds the complement and one.
                let mut carry = d.constant(subtract);
                let mut sum = Vec::new();
                for (a, b) in a.iter().zip(&b) {
                    let b = if subtract { d.not(b) } else { b.clone() };
                    let half = d.xor(a, &b)?;
                    sum.push(d.xor(&half, &carry)?);
                    carry = d.or(&d.and(a, &b)?, &d.and(&half, &carry)?)?;
                }
                Ok(sum)
            }
            _ => Ok(vec![self.condition(expr)?]),
        }
    }
}
