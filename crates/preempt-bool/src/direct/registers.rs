//! The copies of the shared variables that the direct engine compares.

use crate::flow::{Owner, Program, VariableId};
use crate::symbolic::code::Code;
use crate::symbolic::diagram::Level;
use crate::symbolic::levels::{Levels, Moment};

/// Per copy, one variable for each shared variable, in the program's order.
pub(crate) struct Registers {
    /// Which thread runs in each context.
    pub(crate) schedule: Vec<VariableId>,
    /// Shared values at the k switches.
    pub(crate) boundaries: Vec<Vec<VariableId>>,
    /// Where the contexts of the thread under examination start: a1, a2, …
    pub(crate) starts: Vec<Vec<VariableId>>,
    /// Where all but the last end: b1, b2, …
    pub(crate) ends: Vec<Vec<VariableId>>,
    pub(crate) shared: Vec<VariableId>,
}

impl Registers {
    pub(crate) fn new(code: &mut Code, program: &Program, switches: usize) -> Self {
        let width = usize::BITS - program.threads.len().saturating_sub(1).leading_zeros();
        let schedule =
            (0..=switches).map(|i| code.add(format!("t{i}"), width.max(1) as u8)).collect();
        let contexts = switches / 2 + 1;
        let mut copy = |name: &str, i: usize| -> Vec<VariableId> {
            let make = |v: &VariableId| {
                let variable = &program.variables[*v];
                code.add(format!("{}_{name}{i}", variable.name), variable.width)
            };
            program.shared.iter().map(make).collect()
        };
        Registers {
            schedule,
            boundaries: (1..=switches).map(|i| copy("g", i)).collect(),
            starts: (1..=contexts).map(|i| copy("a", i)).collect(),
            ends: (1..contexts).map(|i| copy("b", i)).collect(),
            shared: program.shared.clone(),
        }
    }

    /// The copies of a shared variable.
    pub(crate) fn copies(&self, variable: VariableId) -> Vec<VariableId> {
        let Some(place) = self.shared.iter().position(|v| *v == variable) else {
            return Vec::new();
        };
        let mut copies: Vec<VariableId> = self.boundaries.iter().map(|g| g[place]).collect();
        for (i, start) in self.starts.iter().enumerate() {
            copies.push(start[place]);
            copies.extend(self.ends.get(i).map(|end| end[place]));
        }
        copies
    }

    /// All levels of the present moment that are neither shared variables nor copies.
    pub(crate) fn unshared_levels(&self, code: &Code, levels: &Levels) -> Vec<Level> {
        let mut keep = vec![false; code.variables.len()];
        let copies = self.boundaries.iter().chain(&self.starts).chain(&self.ends);
        self.shared.iter().chain(copies.flatten()).for_each(|v| keep[*v] = true);
        (0..code.variables.len())
            .filter(|v| !keep[*v] || matches!(code.variables[*v].owner, Owner::Function(_)))
            .flat_map(|v| levels.of(v, Moment::Now).collect::<Vec<_>>())
            .collect()
    }

    pub(crate) fn shared_levels(&self, levels: &Levels) -> Vec<Level> {
        self.shared.iter().flat_map(|v| levels.of(*v, Moment::Now).collect::<Vec<_>>()).collect()
    }
}
