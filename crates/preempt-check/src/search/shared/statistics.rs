//! What a search counts while it runs: errors, matches, transitions taken, depth.

use super::taken::mark_taken;
use crate::{Counterexample, Covered, Finding, Options};
use preempt_core::{Enabled, FaultKind, Statistics, Step, Stop, System};

/// The counters of one search.
#[derive(Debug)]
pub struct Counters {
    /// Arrivals at states that were known.
    pub matched: u64,
    /// Steps inside indivisible sequences.
    pub atomic_steps: u64,
    /// The greatest number of steps behind which a state was found.
    pub depth: u64,
    /// The length of the longest state.
    pub state_bytes: usize,
    /// Violations.
    pub errors: u64,
    /// The first of them.
    pub first: Option<Counterexample>,
    /// Why the search is not complete, if it is not.
    pub stop: Option<Stop>,
    /// For each transition of the program, whether it was taken.
    taken: Vec<bool>,
    assertions: bool,
    deadlocks: bool,
    max_errors: u64,
}

impl Counters {
    /// Nothing was counted yet.
    pub fn new<S: System + ?Sized>(system: &S, options: &Options) -> Self {
        Counters {
            matched: 0,
            atomic_steps: 0,
            depth: 0,
            state_bytes: 0,
            errors: 0,
            first: None,
            stop: None,
            taken: vec![false; system.transition_count()],
            assertions: options.assertions,
            deadlocks: options.deadlocks,
            max_errors: options.max_errors,
        }
    }

    /// Notes that a transition was taken.
    #[inline(always)]
    pub fn take<S: System + ?Sized>(&mut self, system: &S, step: Step) {
        if self.taken.is_empty() {
            return;
        }
        mark_taken(system, &mut self.taken, step);
    }

    /// Whether this fault counts as an error. One that cuts an execution short does not; it is noted that the
    /// search is not complete.
    pub fn reports<S: System + ?Sized>(&mut self, system: &S, fault: u32) -> bool {
        match system.fault(fault).kind {
            FaultKind::Assertion => self.assertions,
            FaultKind::Cut(reason) => {
                self.stop = self.stop.or(Some(reason));
                false
            }
            _ => true,
        }
    }

    /// Whether an invalid end counts as an error.
    #[inline]
    pub fn reports_deadlocks(&self) -> bool {
        self.deadlocks
    }

    /// Whether the state, with these steps, is an invalid end that counts as an error.
    pub fn is_invalid_end<S: System + ?Sized>(
        &self,
        system: &S,
        state: &[u8],
        enabled: &Enabled,
    ) -> bool {
        enabled.is_empty() && self.is_invalid_without_steps(system, state)
    }

    /// The same of a state in which no process has steps.
    pub fn is_invalid_without_steps<S: System + ?Sized>(&self, system: &S, state: &[u8]) -> bool {
        self.deadlocks && !system.is_valid_end(state)
    }

    /// Counts an error; `example` describes it if it is the first. Says whether to stop.
    pub fn error(&mut self, example: impl FnOnce() -> Counterexample) -> bool {
        self.errors += 1;
        if self.first.is_none() {
            self.first = Some(example());
        }
        self.is_enough()
    }

    /// Whether as many errors as asked for were found.
    #[inline]
    pub fn is_enough(&self) -> bool {
        self.max_errors != 0 && self.errors >= self.max_errors
    }

    /// For each transition of the program, whether it was taken.
    pub fn taken(&self) -> &[bool] {
        &self.taken
    }

    /// Adds transitions that were taken elsewhere.
    pub fn add_taken(&mut self, taken: &[bool]) {
        self.taken.iter_mut().zip(taken).for_each(|(mine, theirs)| *mine |= *theirs);
    }

    /// Adds the counters of another part of the same search.
    pub fn absorb(&mut self, other: Counters) {
        self.matched += other.matched;
        self.atomic_steps += other.atomic_steps;
        self.depth = self.depth.max(other.depth);
        self.state_bytes = self.state_bytes.max(other.state_bytes);
        self.errors += other.errors;
        self.first = self.first.take().or(other.first);
        self.stop = self.stop.or(other.stop);
        self.add_taken(&other.taken);
    }

    /// The result of the search so far. Code is reported as unreached only if everything was
    /// searched.
    pub fn finish<S: System + ?Sized>(self, system: &S, states: u64) -> Finding {
        let complete = self.stop.is_none() && !self.is_enough();
        let unreached = if complete { system.unreached(&self.taken) } else { Vec::new() };
        Finding {
            counterexample: self.first,
            unreached,
            statistics: Statistics {
                states,
                matched: self.matched,
                transitions: states + self.matched,
                atomic_steps: self.atomic_steps,
                depth: self.depth,
                errors: self.errors,
                complete,
                state_bytes: self.state_bytes as u64,
                ..Statistics::default()
            },
            ..Finding::new(self.stop.map_or(Covered::Everything, Covered::Part))
        }
    }
}
