//! A class of threads without recursion: every context goes on where the last one stopped.
//!
//! For each m there is an engine whose sets speak of the boundaries up to the start of the m-th
//! context and of the state now. Context m+1 starts from the switch nodes of context m whose
//! shared values equal the given end, with the given new start.

use super::registers::Registers;
use super::{Class, Encoding};
use crate::flow::{NodeId, VariableId};
use crate::symbolic::code::Code;
use crate::symbolic::diagram::{Diagram, Diagrams};
use crate::symbolic::engine::Engine;
use crate::symbolic::levels::{Levels, Moment};
use preempt_core::Stop;

struct Stage<'a, 'w> {
    engine: Engine<'a, 'w>,
    asked: Diagram,
    ends: Diagram,
    hits: Diagram,
}

pub(super) struct Resume<'a, 'w> {
    code: &'a Code,
    diagrams: &'a Diagrams<'w>,
    levels: &'a Levels,
    registers: &'a Registers,
    root: usize,
    initial: Diagram,
    /// Indexed by whether the first context starts from the initial states, then by m - 1.
    stages: [Vec<Stage<'a, 'w>>; 2],
    unshared: Diagram,
    shared: Diagram,
    everything_now: Diagram,
    interruptible: Diagram,
}

impl<'a, 'w> Resume<'a, 'w> {
    pub(super) fn new(
        Encoding { code, diagrams, levels, registers }: Encoding<'a, 'w>,
        root: usize,
        initial: &Diagram,
    ) -> Result<Self, Stop> {
        let unshared = registers.unshared_levels(code, levels);
        let shared = registers.shared_levels(levels);
        let everything = unshared.iter().chain(&shared).copied();
        let everything_now = diagrams.cube(everything.collect::<Vec<_>>())?;
        let interruptible = interruptible(code, diagrams, levels)?;
        Ok(Resume {
            code,
            diagrams,
            levels,
            registers,
            root,
            initial: initial.clone(),
            stages: [Vec::new(), Vec::new()],
            unshared: diagrams.cube(unshared)?,
            shared: diagrams.cube(shared)?,
            everything_now,
            interruptible,
        })
    }

    /// The node behind a switch node.
    fn behind(&self, node: NodeId) -> NodeId {
        let graph = &self.code.procedures[self.root];
        graph.edges[graph.out[node][0]].to
    }

    fn shared_equals(&self, register: &[VariableId]) -> Result<Diagram, Stop> {
        equals(self.diagrams, self.levels, &self.registers.shared, register)
    }

    fn seeds(&self, m: usize, first: bool, new: &Diagram) -> Result<Vec<(NodeId, Diagram)>, Stop> {
        let d = self.diagrams;
        let graph = &self.code.procedures[self.root];
        if m == 1 {
            let start = match first {
                true => d.and(&self.initial, new)?,
                false => d.and(&self.shared_equals(&self.registers.starts[0])?, new)?,
            };
            return Ok(vec![(graph.entry, start)]);
        }
        let Some(last) = self.stages[usize::from(first)].get(m - 2) else { return Ok(Vec::new()) };
        let ended = d.and(&self.shared_equals(&self.registers.ends[m - 2])?, new)?;
        let started = self.shared_equals(&self.registers.starts[m - 1])?;
        let mut seeds = Vec::new();
        for node in (0..graph.out.len()).filter(|n| graph.switches[*n]) {
            let from = d.and(last.engine.reached(self.root, node), &self.interruptible)?;
            let from = d.and_exists(&from, &ended, &self.shared)?;
            let from = d.and(&from, &started)?;
            if !from.is_false() {
                seeds.push((self.behind(node), from));
            }
        }
        Ok(seeds)
    }
}

impl Class for Resume<'_, '_> {
    fn ask(&mut self, m: usize, first: bool, asked: &Diagram) -> Result<(), Stop> {
        let d = self.diagrams;
        let family = usize::from(first);
        while self.stages[family].len() < m {
            let mut engine = Engine::new(self.code, d, self.levels, false)?;
            engine.report_fresh = true;
            let none = || d.constant(false);
            self.stages[family].push(Stage { engine, asked: none(), ends: none(), hits: none() });
        }
        let new = d.minus(asked, &self.stages[family][m - 1].asked)?;
        if new.is_false() {
            return Ok(());
        }
        let seeds = self.seeds(m, first, &new)?;
        let stage = &mut self.stages[family][m - 1];
        stage.asked = d.or(&stage.asked, &new)?;
        for (node, set) in seeds {
            stage.engine.inject(self.root, node, set)?;
        }
        stage.engine.run()?;
        for (_, node, set) in std::mem::take(&mut stage.engine.fresh) {
            let graph = &self.code.procedures[self.root];
            if graph.switches[node] {
                let set = d.and_exists(&set, &self.interruptible, &self.unshared)?;
                stage.ends = d.or(&stage.ends, &set)?;
            }
            if graph.marks[node].is_some() {
                let set = d.exists(&set, &self.everything_now)?;
                stage.hits = d.or(&stage.hits, &set)?;
            }
        }
        Ok(())
    }

    fn ends(&self, m: usize, first: bool) -> Result<Diagram, Stop> {
        Ok(self.stages[usize::from(first)][m - 1].ends.clone())
    }

    fn hits(&self, m: usize, first: bool) -> Result<Diagram, Stop> {
        Ok(self.stages[usize::from(first)][m - 1].hits.clone())
    }
}

/// The variables have the same values as the registers.
pub(super) fn equals(
    diagrams: &Diagrams<'_>,
    levels: &Levels,
    variables: &[VariableId],
    register: &[VariableId],
) -> Result<Diagram, Stop> {
    let mut pairs: Vec<_> = variables
        .iter()
        .zip(register)
        .flat_map(|(v, r)| {
            let r: Vec<_> = levels.of(*r, Moment::Now).collect();
            levels.of(*v, Moment::Now).zip(r).collect::<Vec<_>>()
        })
        .collect();
    pairs.sort_unstable();
    let mut all = diagrams.constant(true);
    for (v, r) in pairs.into_iter().rev() {
        let equal = diagrams.equal(&diagrams.variable(v)?, &diagrams.variable(r)?)?;
        all = diagrams.and(&equal, &all)?;
    }
    Ok(all)
}

/// Outside atomic sections.
pub(super) fn interruptible(
    code: &Code,
    diagrams: &Diagrams<'_>,
    levels: &Levels,
) -> Result<Diagram, Stop> {
    match code.atomic {
        None => Ok(diagrams.constant(true)),
        Some(flag) => {
            let mut outside = diagrams.constant(true);
            for level in levels.of(flag, Moment::Now) {
                outside = diagrams.not(&diagrams.variable(level)?);
            }
            Ok(outside)
        }
    }
}
