//! Which level of the diagrams each bit of each variable has.
//!
//! Control variables are on top, then local variables, then the shared ones: for each bit of a
//! group of variables that are compared with each other (a shared variable and its copies) the
//! levels stand side by side, because relations between them are mostly equalities.

use super::code::Code;
use super::diagram::Level;
use crate::flow::{Owner, VariableId};

/// When a value is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moment {
    /// The value now.
    Now,
    /// The value after a step; also what a caller passed, while a summary is applied.
    Next,
    /// The value when the procedure was entered.
    Entry,
}

pub(crate) struct Levels {
    /// Per variable, per bit (lowest first): current, next and entry levels.
    levels: Vec<Vec<[Level; 3]>>,
}

impl Levels {
    /// `top` lists control variables; the rest of each shared variable's group is in `copies`.
    pub(crate) fn new(
        code: &Code,
        top: &[VariableId],
        copies: &dyn Fn(VariableId) -> Vec<VariableId>,
    ) -> Self {
        let mut levels = vec![Vec::new(); code.variables.len()];
        let mut next: Level = 0;
        let mut placed = vec![false; code.variables.len()];
        let mut place = |group: &[VariableId]| {
            let group: Vec<VariableId> = group
                .iter()
                .copied()
                .filter(|v| !std::mem::replace(&mut placed[*v], true))
                .collect();
            let width = group.iter().map(|v| code.variables[*v].width).max().unwrap_or(0);
            for v in &group {
                levels[*v] = vec![[0; 3]; usize::from(code.variables[*v].width)];
            }
            for bit in (0..usize::from(width)).rev() {
                for v in &group {
                    if bit < levels[*v].len() {
                        levels[*v][bit] = [next + 1, next + 2, next];
                        next += 3;
                    }
                }
            }
        };
        for v in top {
            place(&[*v]);
        }
        let is_local = |v: &VariableId| matches!(code.variables[*v].owner, Owner::Function(_));
        for v in (0..code.variables.len()).filter(is_local) {
            place(&[v]);
        }
        let mut group = Vec::new();
        let mut number = None;
        for v in (0..code.variables.len()).filter(|v| !is_local(v)) {
            if number != Some(code.variables[v].group) || code.variables[v].group == usize::MAX {
                place(&group);
                group.clear();
                number = Some(code.variables[v].group);
            }
            group.push(v);
            group.extend(copies(v));
        }
        place(&group);
        Levels { levels }
    }

    pub(crate) fn bits(&self, variable: VariableId) -> &[[Level; 3]] {
        &self.levels[variable]
    }

    /// The levels of one copy of a variable.
    pub(crate) fn of(
        &self,
        variable: VariableId,
        moment: Moment,
    ) -> impl Iterator<Item = Level> + '_ {
        self.levels[variable].iter().map(move |bit| bit[moment as usize])
    }
}
