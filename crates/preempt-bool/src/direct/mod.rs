//! The direct symbolic engine: context by context, without a translation.
//!
//! A thread depends on the rest of an execution only through the shared values at the start and
//! the end of its contexts, (a1, b1, …, a_m). Its class (threads that run the same code) answers
//! the question "with which shared values can the m-th context end", and keeps the answers as one
//! relation. The driver keeps R_c, the possible schedules of c contexts with the shared values at
//! all their boundaries, and extends it by every thread in turn. Positions of earlier contexts are
//! handled as patterns; answers are reused across positions, schedules and identical threads.
//!
//! Threads without recursion resume where they were ([`resume`]); recursive ones are run again
//! from the start through the recorded boundaries ([`restart`]), as in the paper's lazy scheme.

pub(crate) mod registers;
pub(crate) mod restart;
mod resume;

use crate::flow::{Program, Targets, VariableId};
use crate::limits::Watch;
use crate::symbolic::code::Builder;
use crate::symbolic::diagram::{Diagram, Diagrams};
use crate::symbolic::engine::Engine;
use crate::symbolic::levels::{Levels, Moment};
use preempt_core::Stop;
use registers::Registers;

/// Most context switches that are followed.
pub(crate) const MAX_SWITCHES: u32 = 62;

/// A violation: which thread runs in each context, and the shared values where each but the first
/// starts.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) threads: Vec<usize>,
    pub(crate) boundaries: Vec<Vec<u64>>,
    /// `init` itself reaches the target; there are no threads.
    pub(crate) in_init: bool,
}

#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) found: Option<Schedule>,
    /// Searched completely up to this many switches.
    pub(crate) covered: Option<u32>,
    /// No execution has more switches.
    pub(crate) exhausted: bool,
    pub(crate) stop: Option<Stop>,
    pub(crate) nodes: u64,
    pub(crate) bytes: u64,
}

/// What a class of threads answers. Answers only grow.
pub(crate) trait Class {
    /// Explores the m-th context for the boundaries in `asked`; `first` says that the first
    /// context starts from the initial states, so that there is no a1.
    fn ask(&mut self, m: usize, first: bool, asked: &Diagram) -> Result<(), Stop>;
    /// Boundaries, and in the shared variables the values with which the context can end.
    fn ends(&self, m: usize, first: bool) -> Result<Diagram, Stop>;
    /// Boundaries with which a target is reached in that context.
    fn hits(&self, m: usize, first: bool) -> Result<Diagram, Stop>;
}

/// Searches up to `max` switches; stops at the first violation unless `full`.
pub(crate) fn search(
    program: &Program,
    targets: &Targets,
    max: u32,
    full: bool,
    watch: &Watch<'_>,
) -> Outcome {
    let max = max.min(MAX_SWITCHES);
    let mut outcome = Outcome::default();
    let diagrams = Diagrams::new(watch);
    let result = run(program, targets, max, full, watch, &diagrams, &mut outcome);
    (outcome.nodes, outcome.bytes) = diagrams.peak();
    outcome.stop = result.err();
    outcome
}

fn run(
    program: &Program,
    targets: &Targets,
    max: u32,
    full: bool,
    watch: &Watch<'_>,
    diagrams: &Diagrams<'_>,
    outcome: &mut Outcome,
) -> Result<(), Stop> {
    let mut builder = Builder::new(program, targets, true);
    let init_root = program.init.map(|f| (builder.root(&[f]), builder.last_node()));
    let classes: Vec<usize> =
        (0..program.threads.len()).filter(|t| program.class_of(*t) == *t).collect();
    let roots: Vec<usize> =
        classes.iter().map(|t| builder.root(&[program.threads[*t].function])).collect();
    let mut code = builder.build();
    let registers = Registers::new(&mut code, program, max as usize);
    let recursive = code.procedures.iter().any(|p| p.function.is_some());
    let control = recursive.then(|| restart::Control::new(&mut code, &registers));
    let top: Vec<VariableId> = registers
        .schedule
        .iter()
        .copied()
        .chain(control.iter().flat_map(restart::Control::variables))
        .collect();
    let levels = Levels::new(&code, &top, &|v| registers.copies(v));
    let initial = match init_root {
        None => diagrams.constant(true),
        Some((root, last)) => {
            let mut engine = Engine::new(&code, diagrams, &levels, false)?;
            engine.seed(root, &diagrams.constant(true))?;
            engine.run()?;
            if engine.hit.is_some() {
                let (threads, boundaries) = (Vec::new(), Vec::new());
                outcome.found = Some(Schedule { threads, boundaries, in_init: true });
                return Ok(());
            }
            let gone = registers.unshared_levels(&code, &levels);
            diagrams.exists(engine.reached(root, last), &diagrams.cube(gone)?)?
        }
    };
    let mut answers: Vec<Box<dyn Class + '_>> = Vec::new();
    for root in &roots {
        answers.push(match &control {
            Some(control) => Box::new(restart::Restart::new(
                &code, diagrams, &levels, &registers, control, *root, &initial,
            )?),
            None => Box::new(resume::Resume::new(
                &code, diagrams, &levels, &registers, *root, &initial,
            )?),
        });
    }
    let mut driver = Driver { program, diagrams, levels: &levels, registers: &registers };
    driver.extend(&classes, &mut answers, max as usize, full, watch, outcome)
}

struct Driver<'a, 'w> {
    program: &'a Program,
    diagrams: &'a Diagrams<'w>,
    levels: &'a Levels,
    registers: &'a Registers,
}

impl Driver<'_, '_> {
    fn extend(
        &mut self,
        classes: &[usize],
        answers: &mut [Box<dyn Class + '_>],
        max: usize,
        full: bool,
        watch: &Watch<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let d = self.diagrams;
        let mut schedules = d.constant(true);
        for c in 0..=max {
            watch.switches.set(c as u32);
            watch.check(0)?;
            let mut longer = d.constant(false);
            for thread in 0..self.program.threads.len() {
                let class = self.program.class_of(thread);
                let Some(class) = classes.iter().position(|t| *t == class) else { continue };
                let allowed = self.in_order(&schedules, thread, c)?;
                for pattern in patterns(c) {
                    let before = self.with_pattern(&allowed, thread, &pattern, c)?;
                    if before.is_false() {
                        continue;
                    }
                    let (m, first) = (pattern.len() + 1, pattern.first().unwrap_or(&c) == &0);
                    let to_registers = self.boundary_pairs(&pattern, c);
                    let asked = self.asked(&before, &pattern, c)?;
                    let answer = &mut answers[class];
                    answer.ask(m, first, &asked)?;
                    let back = self.renaming(to_registers.iter().map(|(g, r)| (*r, *g)));
                    if outcome.found.is_none() {
                        let hits = d.rename(&answer.hits(m, first)?, &back)?;
                        let hits = d.and(&before, &hits)?;
                        if let Some(values) = d.pick(&hits) {
                            outcome.found = Some(self.schedule(&values, thread, c));
                            if !full {
                                return Ok(());
                            }
                        }
                    }
                    if c < max {
                        let moved = self.renaming(
                            to_registers.iter().map(|(g, r)| (*r, *g)).chain(
                                self.program
                                    .shared
                                    .iter()
                                    .enumerate()
                                    .map(|(i, v)| (*v, self.registers.boundaries[c][i])),
                            ),
                        );
                        let ends = d.rename(&answer.ends(m, first)?, &moved)?;
                        let new = d.and(&before, &ends)?;
                        let new = d.and(&new, &self.runs(thread, c)?)?;
                        longer = d.or(&longer, &new)?;
                    }
                }
            }
            if outcome.found.is_none() {
                outcome.covered = Some(c as u32);
            }
            schedules = longer;
            if c < max && schedules.is_false() {
                outcome.exhausted = outcome.found.is_none();
                return Ok(());
            }
        }
        Ok(())
    }

    fn renaming(
        &self,
        pairs: impl Iterator<Item = (VariableId, VariableId)>,
    ) -> crate::symbolic::diagram::Renaming {
        let levels: Vec<_> = pairs
            .flat_map(|(from, to)| {
                let to: Vec<_> = self.levels.of(to, Moment::Now).collect();
                self.levels.of(from, Moment::Now).zip(to).collect::<Vec<_>>()
            })
            .collect();
        self.diagrams.renaming(levels)
    }

    /// `t_c = thread`.
    fn runs(&self, thread: usize, c: usize) -> Result<Diagram, Stop> {
        let d = self.diagrams;
        let mut set = d.constant(true);
        for (i, level) in self.levels.of(self.registers.schedule[c], Moment::Now).enumerate() {
            let bit = d.variable(level)?;
            let bit = if thread >> i & 1 == 1 { bit } else { d.not(&bit) };
            set = d.and(&set, &bit)?;
        }
        Ok(set)
    }

    /// Schedules in which the thread may come next: of identical threads, the first runs first.
    fn in_order(&self, schedules: &Diagram, thread: usize, c: usize) -> Result<Diagram, Stop> {
        let d = self.diagrams;
        let class = self.program.class_of(thread);
        let Some(before) = (class..thread).rev().find(|t| self.program.class_of(*t) == class)
        else {
            return Ok(schedules.clone());
        };
        let mut ran = d.constant(false);
        for i in 0..c {
            ran = d.or(&ran, &self.runs(before, i)?)?;
        }
        d.and(schedules, &ran)
    }

    /// Schedules in which the thread ran in exactly these contexts.
    fn with_pattern(
        &self,
        schedules: &Diagram,
        thread: usize,
        pattern: &[usize],
        c: usize,
    ) -> Result<Diagram, Stop> {
        let d = self.diagrams;
        let mut set = schedules.clone();
        for i in 0..c {
            let runs = self.runs(thread, i)?;
            set = d.and(&set, &if pattern.contains(&i) { runs } else { d.not(&runs) })?;
        }
        Ok(set)
    }

    /// Which boundary each register of the thread is.
    fn boundary_pairs(&self, pattern: &[usize], c: usize) -> Vec<(VariableId, VariableId)> {
        let registers = self.registers;
        let mut pairs = Vec::new();
        let mut pair = |boundary: usize, register: &[VariableId]| {
            let boundary = &registers.boundaries[boundary - 1];
            pairs.extend(boundary.iter().copied().zip(register.iter().copied()));
        };
        for (j, context) in pattern.iter().enumerate() {
            if *context > 0 {
                pair(*context, &registers.starts[j]);
            }
            pair(context + 1, &registers.ends[j]);
        }
        if c > 0 {
            pair(c, &registers.starts[pattern.len()]);
        }
        pairs
    }

    /// What the thread sees of the schedules, in its registers.
    fn asked(&self, before: &Diagram, pattern: &[usize], c: usize) -> Result<Diagram, Stop> {
        let d = self.diagrams;
        let pairs = self.boundary_pairs(pattern, c);
        let mut gone: Vec<_> = Vec::new();
        for t in &self.registers.schedule {
            gone.extend(self.levels.of(*t, Moment::Now));
        }
        for boundary in self.registers.boundaries.iter().flatten() {
            if !pairs.iter().any(|(g, _)| g == boundary) {
                gone.extend(self.levels.of(*boundary, Moment::Now));
            }
        }
        let seen = d.exists(before, &d.cube(gone)?)?;
        d.rename(&seen, &self.renaming(pairs.into_iter()))
    }

    fn schedule(&self, values: &[(u32, bool)], last: usize, c: usize) -> Schedule {
        let value = |v: VariableId| {
            self.levels.of(v, Moment::Now).enumerate().fold(0u64, |value, (i, level)| {
                let bit = values.iter().any(|(l, b)| *l == level && *b);
                value | u64::from(bit) << i
            })
        };
        let mut threads: Vec<usize> =
            (0..c).map(|i| value(self.registers.schedule[i]) as usize).collect();
        threads.push(last);
        let boundaries = (0..c)
            .map(|i| self.registers.boundaries[i].iter().map(|v| value(*v)).collect())
            .collect();
        Schedule { threads, boundaries, in_init: false }
    }
}

/// Sets of contexts among 0..c without neighbours and without c-1.
fn patterns(c: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for context in 0..c.saturating_sub(1) {
        let with: Vec<Vec<usize>> = all
            .iter()
            .filter(|p: &&Vec<usize>| p.last().is_none_or(|last| last + 1 < context))
            .map(|p| p.iter().copied().chain([context]).collect())
            .collect();
        all.extend(with);
    }
    all
}
