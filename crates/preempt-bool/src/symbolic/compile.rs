//! Expressions and assignments as diagrams.

use super::diagram::{Diagram, Diagrams, Level, Renaming};
use super::levels::{Levels, Moment};
use crate::flow::{Domain, Expr, VariableId};
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
        let bits = self.number(expr)?;
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
}

impl Domain for Compiler<'_, '_> {
    type Truth = Diagram;
    /// The bits, lowest first.
    type Number = Vec<Diagram>;
    type Error = Stop;

    fn truth(&self, value: bool) -> Diagram {
        self.diagrams.constant(value)
    }

    fn and(&self, a: &Diagram, b: &Diagram) -> Made {
        self.diagrams.and(a, b)
    }

    fn or(&self, a: &Diagram, b: &Diagram) -> Made {
        self.diagrams.or(a, b)
    }

    fn not(&self, a: &Diagram) -> Diagram {
        self.diagrams.not(a)
    }

    fn constant(&self, value: u64, width: u8) -> Vec<Diagram> {
        (0..width).map(|i| self.diagrams.constant(value >> i & 1 == 1)).collect()
    }

    fn variable(&self, v: VariableId) -> Result<Vec<Diagram>, Stop> {
        self.levels.of(v, Moment::Now).map(|l| self.diagrams.variable(l)).collect()
    }

    fn next(&self, v: VariableId) -> Result<Vec<Diagram>, Stop> {
        self.levels.of(v, Moment::Next).map(|l| self.diagrams.variable(l)).collect()
    }

    fn plus(&self, a: &Vec<Diagram>, b: &Vec<Diagram>, _: u8) -> Result<Vec<Diagram>, Stop> {
        self.sum(a, b, self.diagrams.constant(false))
    }

    /// Adds the complement and one.
    fn minus(&self, a: &Vec<Diagram>, b: &Vec<Diagram>, _: u8) -> Result<Vec<Diagram>, Stop> {
        let complement: Vec<Diagram> = b.iter().map(|b| self.diagrams.not(b)).collect();
        self.sum(a, &complement, self.diagrams.constant(true))
    }

    fn equal(&self, a: &Vec<Diagram>, b: &Vec<Diagram>) -> Made {
        let d = self.diagrams;
        let mut all = d.constant(true);
        for (a, b) in a.iter().zip(b) {
            all = d.and(&all, &d.equal(a, b)?)?;
        }
        Ok(all)
    }

    fn less(&self, a: &Vec<Diagram>, b: &Vec<Diagram>) -> Made {
        let d = self.diagrams;
        let mut less = d.constant(false);
        for (a, b) in a.iter().zip(b) {
            let here = d.and(&d.not(a), b)?;
            let same = d.equal(a, b)?;
            less = d.or(&here, &d.and(&same, &less)?)?;
        }
        Ok(less)
    }

    fn bit(&self, truth: Diagram) -> Vec<Diagram> {
        vec![truth]
    }

    fn is_not_zero(&self, a: &Vec<Diagram>) -> Made {
        a.iter().try_fold(self.diagrams.constant(false), |any, bit| self.diagrams.or(&any, bit))
    }

    fn remembered(&self, expr: &Expr) -> Option<(Diagram, Diagram)> {
        self.truths.borrow().get(expr).cloned()
    }

    fn remember(&self, expr: &Expr, truths: &(Diagram, Diagram)) {
        self.truths.borrow_mut().insert(expr.clone(), truths.clone());
    }
}

impl Compiler<'_, '_> {
    fn sum(&self, a: &[Diagram], b: &[Diagram], mut carry: Diagram) -> Result<Vec<Diagram>, Stop> {
        let d = self.diagrams;
        let mut sum = Vec::new();
        for (a, b) in a.iter().zip(b) {
            let half = d.xor(a, b)?;
            sum.push(d.xor(&half, &carry)?);
            carry = d.or(&d.and(a, b)?, &d.and(&half, &carry)?)?;
        }
        Ok(sum)
    }
}
