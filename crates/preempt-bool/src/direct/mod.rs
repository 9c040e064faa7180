//! The direct symbolic engine: context by context, without a translation.
//!
//! Two ways to remember what happened, [`Remember`]. By *interfaces*: a thread depends on the rest
//! of an execution only through the shared values at the start and the end of its contexts,
//! (a1, b1, …, a_m). Its class (threads that run the same code) answers the question "with which
//! shared values can the m-th context end", and keeps the answers as one relation. The driver
//! keeps R_c, the possible schedules of c contexts with the shared values at all their boundaries,
//! and extends it by every thread in turn. Positions of earlier contexts are handled as patterns;
//! answers are reused across positions, schedules and identical threads. Threads without recursion
//! resume where they were ([`resume`]); recursive ones are run again from the start through the
//! recorded boundaries ([`restart`]), as in the paper's lazy scheme.
//!
//! By *whole states* ([`whole`]): only without recursion, but then the number of switches costs
//! little, and the search can end with a proof for every number.

pub(crate) mod registers;
pub(crate) mod restart;
mod resume;
mod whole;

use crate::flow::{Program, Targets, VariableId};
use crate::limits::Watch;
use crate::symbolic::code::{Builder, Code};
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

/// What the direct engine remembers of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Remember {
    /// The schedule, and the shared values at its switches.
    Interfaces,
    /// The state of every thread; not possible with recursion.
    WholeStates,
}

impl Remember {
    /// What is faster: the cost of schedules grows with the switches, that of whole states with
    /// the threads. With few switches most of many threads have not run at all.
    pub(crate) fn choose(program: &Program, extent: Extent) -> Self {
        let switches = u64::from(extent.contexts(program).saturating_sub(1));
        let many_threads = program.threads.len() as u64 > 2 * switches && !extent.rounds;
        if many_threads || !is_call_free(program) {
            Remember::Interfaces
        } else {
            Remember::WholeStates
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Remember::Interfaces => "schedules with the shared values at their switches",
            Remember::WholeStates => "sets of whole states",
        }
    }
}

/// Whether all calls can be replaced by what they call.
pub(crate) fn is_call_free(program: &Program) -> bool {
    let Ok(targets) = program.targets(None) else { return false };
    let mut builder = Builder::new(program, &targets, true);
    program.threads.iter().for_each(|t| {
        builder.root(&[t.function]);
    });
    builder.build().procedures.iter().all(|p| p.function.is_none())
}

/// How far a search may go.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// Most switches, or rounds after the first.
    pub(crate) switches: u32,
    /// In a round, every thread may run once, in the order of the threads.
    pub(crate) rounds: bool,
    /// Most nodes of diagrams in memory, garbage included.
    pub(crate) nodes: usize,
    /// Goes on behind the first violation.
    pub(crate) full: bool,
}

impl Extent {
    /// Most contexts of a schedule.
    fn contexts(&self, program: &Program) -> u32 {
        let runs = self.switches.saturating_add(1);
        if self.rounds { runs.saturating_mul(program.threads.len() as u32) } else { runs }
    }
}

/// Searches; `by` must be possible for the program.
pub(crate) fn search(
    program: &Program,
    targets: &Targets,
    by: Remember,
    extent: Extent,
    watch: &Watch<'_>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let diagrams = Diagrams::with_limit(watch, extent.nodes);
    let run = match by {
        Remember::Interfaces => by_interfaces,
        Remember::WholeStates => whole::search,
    };
    let result = run(program, targets, extent, watch, &diagrams, &mut outcome);
    (outcome.nodes, outcome.bytes) = diagrams.peak();
    outcome.stop = result.err();
    outcome
}

/// The thread classes, the code with a root for each, and the root of `init` with its last node.
struct Roots {
    classes: Vec<usize>,
    roots: Vec<usize>,
    init: Option<(usize, usize)>,
}

fn build(program: &Program, targets: &Targets) -> (Code, Roots) {
    let mut builder = Builder::new(program, targets, true);
    let init = program.init.map(|f| (builder.root(&[f]), builder.last_node()));
    let classes: Vec<usize> =
        (0..program.threads.len()).filter(|t| program.class_of(*t) == *t).collect();
    let roots = classes.iter().map(|t| builder.root(&[program.threads[*t].function])).collect();
    (builder.build(), Roots { classes, roots, init })
}

/// The shared values with which the threads begin, or the violation in `init` itself.
fn initial_values(
    program: &Program,
    code: &Code,
    init: Option<(usize, usize)>,
    levels: &Levels,
    diagrams: &Diagrams<'_>,
) -> Result<Result<Diagram, Schedule>, Stop> {
    let Some((root, last)) = init else { return Ok(Ok(diagrams.constant(true))) };
    let mut engine = Engine::new(code, diagrams, levels, false)?;
    engine.seed(root, &diagrams.constant(true))?;
    engine.run()?;
    if engine.hit.is_some() {
        let (threads, boundaries) = (Vec::new(), Vec::new());
        return Ok(Err(Schedule { threads, boundaries, in_init: true }));
    }
    let unshared = (0..code.variables.len()).filter(|v| !program.shared.contains(v));
    let gone = unshared.flat_map(|v| levels.of(v, Moment::Now).collect::<Vec<_>>());
    let cube = diagrams.cube(gone.collect::<Vec<_>>())?;
    Ok(Ok(diagrams.exists(engine.reached(root, last), &cube)?))
}

fn by_interfaces(
    program: &Program,
    targets: &Targets,
    extent: Extent,
    watch: &Watch<'_>,
    diagrams: &Diagrams<'_>,
    outcome: &mut Outcome,
) -> Result<(), Stop> {
    let max = extent.contexts(program).saturating_sub(1).min(MAX_SWITCHES);
    if extent.rounds && max < extent.contexts(program).saturating_sub(1) {
        return Err(Stop::Depth);
    }
    let (mut code, Roots { classes, roots, init }) = build(program, targets);
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
    let initial = match initial_values(program, &code, init, &levels, diagrams)? {
        Ok(initial) => initial,
        Err(violation) => {
            outcome.found = Some(violation);
            return Ok(());
        }
    };
    let encoding = Encoding { code: &code, diagrams, levels: &levels, registers: &registers };
    let mut answers: Vec<Box<dyn Class + '_>> = Vec::new();
    for root in &roots {
        answers.push(match &control {
            Some(control) => Box::new(restart::Restart::new(encoding, control, *root, &initial)?),
            None => Box::new(resume::Resume::new(encoding, *root, &initial)?),
        });
    }
    let (levels, registers, last) = (&levels, &registers, max as usize);
    let mut driver = Driver { program, diagrams, levels, registers, classes, extent, last };
    driver.extend(&mut answers, watch, outcome)
}

/// The code, and how sets of its states are diagrams.
#[derive(Clone, Copy)]
struct Encoding<'a, 'w> {
    code: &'a Code,
    diagrams: &'a Diagrams<'w>,
    levels: &'a Levels,
    registers: &'a Registers,
}

struct Driver<'a, 'w> {
    program: &'a Program,
    diagrams: &'a Diagrams<'w>,
    levels: &'a Levels,
    registers: &'a Registers,
    classes: Vec<usize>,
    extent: Extent,
    /// The last context, counted from 0.
    last: usize,
}

impl Driver<'_, '_> {
    /// Extends the schedules by a context until none is left or the extent is reached. With rounds
    /// there is a set of schedules for each number of rounds after the first.
    fn extend(
        &mut self,
        answers: &mut [Box<dyn Class + '_>],
        watch: &Watch<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let (d, extent) = (self.diagrams, self.extent);
        let kinds = if extent.rounds { extent.switches as usize + 1 } else { 1 };
        let mut schedules = vec![d.constant(false); kinds];
        schedules[0] = d.constant(true);
        let mut fewest_rounds = usize::MAX;
        for c in 0..=self.last {
            watch.switches.set(c as u32);
            watch.check(0)?;
            let mut longer = vec![d.constant(false); kinds];
            for thread in 0..self.program.threads.len() {
                let class = self.program.class_of(thread);
                let Some(class) = self.classes.iter().position(|t| *t == class) else { continue };
                for (round, longer) in longer.iter_mut().enumerate() {
                    let allowed = if extent.rounds {
                        self.in_round(&schedules, thread, c, round)?
                    } else {
                        self.in_order(&schedules[0], thread, c)?
                    };
                    let answer = &mut answers[class];
                    let wanted = round < fewest_rounds;
                    let (hit, ends) = self.context(answer.as_mut(), &allowed, thread, c, wanted)?;
                    if hit.is_some() {
                        outcome.found = hit;
                        fewest_rounds = round;
                        if !extent.full && (!extent.rounds || round == 0) {
                            return Ok(());
                        }
                    }
                    *longer = d.or(longer, &ends)?;
                }
            }
            if outcome.found.is_none() && !extent.rounds {
                outcome.covered = Some(c as u32);
            }
            schedules = longer;
            if c < self.last && schedules.iter().all(Diagram::is_false) {
                outcome.exhausted = outcome.found.is_none() && !extent.rounds;
                break;
            }
        }
        if outcome.found.is_none() && extent.rounds {
            outcome.covered = Some(extent.switches);
        }
        Ok(())
    }

    /// Lets a thread run after the allowed schedules: a schedule that reaches a target, if that is
    /// wanted, and the longer schedules, if this is not the last context.
    fn context(
        &self,
        answer: &mut dyn Class,
        allowed: &Diagram,
        thread: usize,
        c: usize,
        wanted: bool,
    ) -> Result<(Option<Schedule>, Diagram), Stop> {
        let d = self.diagrams;
        let mut hit = None;
        let mut longer = d.constant(false);
        for pattern in patterns(c) {
            let before = self.with_pattern(allowed, thread, &pattern, c)?;
            if before.is_false() {
                continue;
            }
            let (m, first) = (pattern.len() + 1, pattern.first().unwrap_or(&c) == &0);
            let to_registers = self.boundary_pairs(&pattern, c);
            let asked = self.asked(&before, &pattern, c)?;
            answer.ask(m, first, &asked)?;
            let back = to_registers.iter().map(|(g, r)| (*r, *g));
            if wanted && hit.is_none() {
                let hits = d.rename(&answer.hits(m, first)?, &self.renaming(back.clone()))?;
                let hits = d.and(&before, &hits)?;
                hit = d.pick(&hits).map(|values| self.schedule(&values, thread, c));
            }
            if c < self.last {
                let shared = self.program.shared.iter().enumerate();
                let shared = shared.map(|(i, v)| (*v, self.registers.boundaries[c][i]));
                let moved = self.renaming(back.chain(shared));
                let ends = d.rename(&answer.ends(m, first)?, &moved)?;
                let new = d.and(&before, &ends)?;
                longer = d.or(&longer, &d.and(&new, &self.runs(thread, c)?)?)?;
            }
        }
        Ok((hit, longer))
    }

    /// Schedules that are in the given round when the thread runs next.
    fn in_round(
        &self,
        schedules: &[Diagram],
        thread: usize,
        c: usize,
        round: usize,
    ) -> Result<Diagram, Stop> {
        let d = self.diagrams;
        if c == 0 {
            return Ok(schedules[round].clone());
        }
        let mut smaller = d.constant(false);
        for other in 0..thread {
            smaller = d.or(&smaller, &self.runs(other, c - 1)?)?;
        }
        let same = d.and(&schedules[round], &smaller)?;
        match round.checked_sub(1) {
            Some(last) => d.or(&same, &d.minus(&schedules[last], &smaller)?),
            None => Ok(same),
        }
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
