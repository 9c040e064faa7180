//! Bounded context switching as Spin 6.5.2 does it (`-DBCS`), mistakes included.
//!
//! Paper: [HF] Figs. 3 and 5, as implemented. For comparison only: its guarantee does not hold.
//!
//! Where Spin differs from the paper:
//! - the last mover is cleared before a state is stored, so visits are judged by the lowest count
//!   alone, and `safe` is no part of it either;
//! - a state on the search stack is never visited again, not even with fewer preemptions; but a
//!   revisited state is not marked as on the stack, and when its search ends the state *stored
//!   last* before it is taken off instead;
//! - a rendezvous never counts as a preemption, only the gate before it does;
//! - where an indivisible sequence blocks with the bound used up, the execution is dropped, unless
//!   the process is the first;
//! - a switch is free when all successors of the last mover are on the stack, but only builds that
//!   record the stack know (reduction, or no `-DSAFETY`);
//! - ample sets may contain steps that enable others.
//!
//! Order of exploration, visits, matches and errors are those of the generated verifier, so that
//! the numbers of [HF] Tables 1 to 4 come out to the digit.

use super::least_preemptions::LARGEST_BOUND;
use crate::search::shared::atomic_sequence::last_mover;
use crate::search::shared::halt::Halt;
use crate::search::shared::statistics::Counters;
use crate::store::{StateId, Store};
use crate::{Budget, Counterexample, Finding, Options, Progress, Reduction};
use preempt_core::{Enabled, Locality, Outcome, ProcessId, Step, Stop, System};

/// Which verifier Spin would have generated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build {
    /// `-DSAFETY`.
    pub(crate) safety: bool,
}

/// Searches as `pan -L<bound>` would.
pub(crate) fn depth_first_as_spin<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    bound: u32,
    build: Build,
    options: &Options,
    budget: &mut Budget,
) -> Finding {
    let reduce = options.reduction != Reduction::None;
    let mut search = Pan {
        system,
        store,
        // The counter of a generated verifier has eight bits.
        bound: bound.min(255).min(LARGEST_BOUND),
        reduce,
        build,
        knows_stack: reduce || !build.safety,
        max_depth: options.depth.unwrap_or(u64::MAX),
        counters: Counters::new(system, options),
        known: Vec::new(),
        last_stored: None,
        frames: Vec::new(),
        steps: Vec::new(),
        bytes: Vec::new(),
        enabled: Enabled::new(),
        state: Vec::new(),
    };
    let end = search.run(budget).err();
    search.finish(bound, end, budget)
}

/// What is kept of a stored state.
#[derive(Clone, Copy)]
struct Known {
    low: u32,
    on_stack: bool,
}

/// What became of a state that was offered to the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    New,
    Revisit,
    Matched,
    OnStack,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The moves that a property makes alone.
    Property,
    /// Only this process: its steps are safe.
    Ample(ProcessId),
    /// Only the last mover.
    Mover,
    /// All other processes; counted or not.
    Others { forced: bool },
    /// All processes, uncounted: the first state, an indivisible sequence, a single process.
    All,
}

struct Frame {
    transient: bool,
    /// Whose record is removed when this frame ends.
    tagged: Option<StateId>,
    mover: Option<ProcessId>,
    count: u32,
    depth: u64,
    phase: Phase,
    /// The step to this state was preselected.
    after_ample: bool,
    moved: bool,
    /// A successor was outside the stack.
    outside: bool,
    /// A successor was on the stack.
    inside: bool,
    step: Option<Step>,
    state: usize,
    steps: usize,
    next: usize,
}

struct Pan<'a, S: ?Sized, T> {
    system: &'a S,
    store: &'a mut T,
    bound: u32,
    reduce: bool,
    build: Build,
    knows_stack: bool,
    max_depth: u64,
    counters: Counters,
    known: Vec<Known>,
    last_stored: Option<StateId>,
    frames: Vec<Frame>,
    /// The steps of all frames, end to end.
    steps: Vec<Step>,
    /// The states of all frames, end to end.
    bytes: Vec<u8>,
    enabled: Enabled,
    state: Vec<u8>,
}

impl<S: System + ?Sized, T: Store> Pan<'_, S, T> {
    fn run(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        let outcome = self.system.initial(&mut self.state);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.fault(fault, None)?;
        }
        if !matches!(outcome, Outcome::Broken(_)) {
            self.store(0)?;
            self.ask();
            self.push(false, None, 0, 0, false);
        }
        while let Some(frame) = self.frames.last_mut() {
            let list = &self.steps[frame.steps..];
            let turn = |step: &Step| match frame.phase {
                Phase::Property => step.process == ProcessId::PROPERTY,
                _ if step.process == ProcessId::PROPERTY => false,
                Phase::Ample(process) => step.process == process,
                Phase::Mover => Some(step.process) == frame.mover,
                Phase::Others { .. } => Some(step.process) != frame.mover,
                Phase::All => true,
            };
            match list[frame.next..].iter().position(turn) {
                Some(skipped) => {
                    let step = list[frame.next + skipped];
                    frame.next += skipped + 1;
                    self.take(step)?;
                }
                None => self.end_phase(budget)?,
            }
        }
        Ok(())
    }

    /// Lists the steps of `self.state`.
    fn ask(&mut self) {
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
    }

    /// Goes down to `self.state`, whose steps are listed.
    fn push(
        &mut self,
        transient: bool,
        step: Option<Step>,
        count: u32,
        depth: u64,
        after_ample: bool,
    ) {
        self.counters.depth = self.counters.depth.max(depth);
        self.counters.state_bytes = self.counters.state_bytes.max(self.state.len());
        self.frames.push(Frame {
            transient,
            tagged: if transient { None } else { self.last_stored },
            mover: last_mover(step.as_slice(), self.frames.last().and_then(|f| f.mover)),
            count,
            depth,
            phase: if transient { Phase::All } else { Phase::Property },
            after_ample,
            moved: false,
            outside: false,
            inside: false,
            step,
            state: self.bytes.len(),
            steps: self.steps.len(),
            next: 0,
        });
        self.bytes.extend_from_slice(&self.state);
        self.steps.extend_from_slice(self.enabled.steps());
    }

    /// Decides how the stable state on top is explored.
    fn begin(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        (frame.moved, frame.inside, frame.outside) = (false, false, false);
        let several = self.system.process_count(&self.bytes[frame.state..]) > 1;
        let may_reduce = self.reduce
            && several
            && frame.count < self.bound
            && (self.build.safety || self.bound > 0 || frame.depth > 0);
        if may_reduce && self.preselect(None) {
            return;
        }
        self.expand_fully();
    }

    /// Chooses the next process with safe steps, behind `after` in the order of exploration.
    fn preselect(&mut self, after: Option<ProcessId>) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        let state = &self.bytes[frame.state..];
        let mut waiting = after;
        for group in self.steps[frame.steps..].chunk_by(|a, b| a.process == b.process) {
            let process = group[0].process;
            if process == ProcessId::PROPERTY {
                continue;
            }
            if waiting.is_some() {
                waiting = waiting.filter(|&before| before != process);
                continue;
            }
            if self.system.locality(state, process) >= Locality::Safe {
                frame.phase = Phase::Ample(process);
                frame.next = 0;
                return true;
            }
        }
        false
    }

    fn expand_fully(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let several = self.system.process_count(&self.bytes[frame.state..]) > 1;
        frame.phase = if several && frame.depth > 0 { Phase::Mover } else { Phase::All };
        frame.next = 0;
    }

    fn take(&mut self, step: Step) -> Result<(), Halt> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        frame.moved = true;
        let counted = frame.phase == Phase::Others { forced: false }
            && !frame.after_ample
            && step.partner.is_none();
        let count = frame.count + u32::from(counted);
        let depth = frame.depth + u64::from(self.system.depth_of(step));
        let ample = matches!(frame.phase, Phase::Ample(_)) && step.partner.is_none();
        self.state.clear();
        self.state.extend_from_slice(&self.bytes[frame.state..]);
        let outcome = self.system.apply(&mut self.state, step);
        self.counters.take(self.system, step);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.fault(fault, Some(step))?;
        }
        // The violation of a property is no state of its own.
        let ends = step.process == ProcessId::PROPERTY && outcome != Outcome::Done;
        if ends || matches!(outcome, Outcome::Broken(_)) {
            return Ok(());
        }
        if depth >= self.max_depth {
            self.counters.matched += 1;
            self.counters.stop.get_or_insert(Stop::Depth);
            self.note(|frame| frame.inside = true);
            return Ok(());
        }
        if self.system.is_transient(&self.state) {
            // Inside a sequence Spin goes down before it sees that the sequence is blocked.
            self.counters.depth = self.counters.depth.max(depth);
            self.ask();
            if self.system.is_transient(&self.state) {
                self.counters.atomic_steps += 1;
                self.push(true, Some(step), count, depth, ample);
                return Ok(());
            }
            if count >= self.bound && step.mover().index() > 0 {
                return Ok(());
            }
        }
        let stored = self.store(count)?;
        self.note(|frame| match stored {
            Stored::OnStack => frame.inside = true,
            _ => frame.outside = true,
        });
        if let Stored::New | Stored::Revisit = stored {
            self.ask();
            self.push(false, Some(step), count, depth, ample);
        }
        Ok(())
    }

    fn note(&mut self, change: impl FnOnce(&mut Frame)) {
        if let Some(frame) = self.frames.last_mut() {
            change(frame);
        }
    }

    /// Offers `self.state` to the store.
    fn store(&mut self, count: u32) -> Result<Stored, Halt> {
        let inserted = self.store.insert(&self.state)?;
        let id = inserted.id;
        if inserted.new {
            self.known.push(Known { low: count, on_stack: self.knows_stack });
            self.last_stored = Some(id);
            return Ok(Stored::New);
        }
        let known = &mut self.known[id.index()];
        if known.on_stack {
            self.last_stored = Some(id);
            self.counters.matched += 1;
            return Ok(Stored::OnStack);
        }
        if known.low > count {
            known.low = count;
            return Ok(Stored::Revisit);
        }
        self.counters.matched += 1;
        Ok(Stored::Matched)
    }

    fn end_phase(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        let (bound, safety) = (self.bound, self.build.safety);
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        match frame.phase {
            Phase::Property => {
                self.begin();
                return Ok(());
            }
            Phase::Ample(process) => {
                let fails = if safety { !frame.outside } else { !frame.moved || frame.inside };
                if fails {
                    (frame.moved, frame.inside, frame.outside) = (false, false, false);
                    if !self.preselect(Some(process)) {
                        self.expand_fully();
                    }
                    return Ok(());
                }
            }
            Phase::Mover => {
                let forced = !frame.moved || !frame.outside;
                if forced || frame.count < bound {
                    frame.phase = Phase::Others { forced };
                    frame.next = 0;
                    return Ok(());
                }
            }
            Phase::Others { .. } | Phase::All => {}
        }
        self.end_frame(budget)
    }

    fn end_frame(&mut self, budget: &mut Budget) -> Result<(), Halt> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let state = &self.bytes[frame.state..];
        let is_stuck = !frame.transient && self.steps.len() == frame.steps;
        if is_stuck && self.counters.reports_deadlocks() && !self.system.is_valid_end(state) {
            let path = || Counterexample::invalid_end(path(&self.frames));
            if self.counters.error(path) {
                return Err(Halt::Enough);
            }
        }
        budget.spend(|| Progress {
            states: self.store.len() as u64,
            transitions: self.store.len() as u64 + self.counters.matched,
            depth: frame.depth,
            memory: self.bytes(),
            ..Progress::default()
        })?;
        if let Some(frame) = self.frames.pop() {
            self.bytes.truncate(frame.state);
            self.steps.truncate(frame.steps);
            if frame.transient {
                self.note(|parent| {
                    parent.outside |= frame.outside;
                    parent.inside |= frame.inside;
                });
            } else if let Some(id) = frame.tagged {
                self.known[id.index()].on_stack = false;
            }
        }
        Ok(())
    }

    fn fault(&mut self, fault: u32, step: Option<Step>) -> Result<(), Halt> {
        if !self.counters.reports(self.system, fault) {
            return Ok(());
        }
        let (system, frames) = (self.system, &self.frames);
        let enough = self.counters.error(|| {
            let mut steps = path(frames);
            steps.extend(step);
            Counterexample::from_fault(system, steps, fault)
        });
        if enough { Err(Halt::Enough) } else { Ok(()) }
    }

    fn bytes(&self) -> usize {
        self.store.bytes()
            + self.known.capacity() * size_of::<Known>()
            + self.frames.capacity() * size_of::<Frame>()
            + self.steps.capacity() * size_of::<Step>()
            + self.bytes.capacity()
    }

    fn finish(self, bound: u32, end: Option<Halt>, budget: &Budget) -> Finding {
        let memory = self.bytes();
        let states = self.store.len() as u64;
        let mut finding = self.counters.finish(self.system, states);
        if let Some(Halt::Stop(stop)) = end {
            finding.stop = Some(stop);
        }
        finding.bound = Some(bound);
        finding.unreached.clear();
        finding
            .notes
            .push("searched by Spin's rules: violations within the bound can be missed".to_owned());
        budget.sum_up(&mut finding.statistics, memory);
        finding
    }
}

fn path(frames: &[Frame]) -> Vec<Step> {
    frames.iter().filter_map(|frame| frame.step).collect()
}
