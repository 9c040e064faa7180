//! The choices of an assignment that meet its constraint, without trying all of them.
//!
//! The chosen values are fixed one after the other; a constraint that can no longer be true with
//! what is fixed ends the attempt. So `x1, …, xn := *, …, * constrain e` costs about as much as it
//! has solutions, not two to the power of n.

use super::VariableId;
use super::expression::{Expr, Possible};

/// Looks at expressions that may be spent on one assignment, in parts of the expression.
const MOST_WORK: u64 = 1 << 21;

/// The assignment whose choices are wanted.
pub(crate) struct Choices<'a> {
    pub(crate) lhs: &'a [VariableId],
    /// What each of them can become.
    pub(crate) possible: &'a [Possible],
    pub(crate) condition: &'a Expr,
    /// The values before.
    pub(crate) current: &'a dyn Fn(VariableId) -> u64,
}

struct Search<'a> {
    choices: &'a Choices<'a>,
    fixed: Vec<Option<u64>>,
    /// What a step of each place adds to the number of the choice.
    strides: Vec<u64>,
    most: usize,
    work: u64,
    size: u64,
    found: Vec<u32>,
}

impl Choices<'_> {
    /// The numbers of the choices that meet the constraint, where the first value varies fastest;
    /// `None` if there are more than `most`, or if they are too hard to find.
    pub(crate) fn numbers(&self, most: usize) -> Option<Vec<u32>> {
        let mut strides = Vec::new();
        let mut total = 1u64;
        for possible in self.possible {
            strides.push(total);
            total = total.checked_mul(possible.count())?;
        }
        if total >= u64::from(u32::MAX) {
            return None;
        }
        let mut size = 1;
        self.condition.each_variable(&mut |_| size += 1);
        let fixed = vec![None; self.possible.len()];
        let found = Vec::new();
        let mut search = Search { choices: self, fixed, strides, most, work: 0, size, found };
        search.fix(0, 0).then_some(search.found)
    }
}

impl Search<'_> {
    /// Whether the search may go on.
    fn fix(&mut self, place: usize, number: u64) -> bool {
        self.work += self.size;
        if self.work > MOST_WORK {
            return false;
        }
        let Choices { lhs, possible, condition, current } = self.choices;
        let next = |v: VariableId| match lhs.iter().position(|l| *l == v) {
            Some(i) => self.fixed[i],
            None => Some(current(v)),
        };
        if !condition.partial_truths(current, &next).1 {
            return true;
        }
        let Some(possible) = possible.get(place) else {
            self.found.push(number as u32);
            return self.found.len() <= self.most;
        };
        for index in 0..possible.count() {
            self.fixed[place] = Some(possible.nth(index));
            if !self.fix(place + 1, number + index * self.strides[place]) {
                return false;
            }
        }
        self.fixed[place] = None;
        true
    }
}
