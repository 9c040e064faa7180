//! Successors of single visits, for searches that count preemptions and keep states somewhere else: in files.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! A visit is a state and its last mover. What a visit runs depends on what earlier visits to its state have run;
//! the caller keeps that ([`Ran`]) and gives it along. The rule is that of `buckets.rs`: the steps of each process of a
//! state are taken once, in the bucket in which that is possible first.

use super::moves::{Moves, Taken};
use super::retrace::{TraceTarget, steps_to};
use super::visit_log::{mark, mover};
use super::{PartitionResult, Time, ViolationSite};
use preempt_check::engine::Counters;
use preempt_check::engine::LARGEST_BOUND;
use preempt_check::engine::{Due, Turn, turn};
use preempt_check::{Counterexample, Options};
use preempt_core::{Outcome, ProcessId, Step, Stop, System};

/// The processes that were run from a state, as marks of last movers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Last movers of visits: each of them was run, if it could move.
    pub movers: Vec<u16>,
    /// All processes were.
    pub is_free: bool,
}

/// What becomes of the visits to a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// All processes were run.
    pub is_free: bool,
    /// A process has to wait for the next bucket; the mark of the last mover.
    pub waits: Option<u16>,
}

/// Expands visits and counts what happens.
pub struct Visits<'a> {
    system: &'a dyn System,
    counters: Counters,
    moves: Moves,
    site: Option<ViolationSite>,
    /// Steps taken, sequences as one.
    pub transitions: u64,
}

/// Takes successors: the state, and the mark of the last mover.
type Successor<'a> = &'a mut dyn FnMut(&[u8], u16);

impl<'a> Visits<'a> {
    /// For a search with these options.
    pub fn new(system: &'a dyn System, options: &Options) -> Self {
        Visits {
            system,
            counters: Counters::new(system, options),
            moves: Moves::new(),
            site: None,
            transitions: 0,
        }
    }

    /// The last bucket of a search with these options.
    pub fn last_bucket(options: &Options) -> u32 {
        options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND)
    }

    /// The initial state, whose visit has the mark 0; the second says whether anything can follow it.
    pub fn initial(&mut self) -> (Vec<u8>, bool) {
        let mut state = Vec::new();
        let outcome = self.system.initial(&mut state);
        let mut goes_on = !matches!(outcome, Outcome::Broken(_));
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.counters.reports(self.system, fault)
        {
            self.report((Time::default(), &state, 0), &[], Some(fault));
            goes_on = false;
        }
        self.counters.state_bytes = state.len();
        (state, goes_on)
    }

    /// Expands visits to a state by these last movers, none of which earlier visits cover. `ran` is what all earlier visits
    /// have run; it is not free.
    pub fn expand(
        &mut self,
        time: Time,
        state: &mut Vec<u8>,
        marks: &[u16],
        ran: &mut Ran,
        each: Successor<'_>,
    ) -> Result<After, Stop> {
        self.look(state)?;
        let is_first = ran.movers.is_empty() && self.moves.is_empty();
        if is_first && self.counters.is_invalid_without_steps(self.system, state) {
            self.report((time, state, marks.first().copied().unwrap_or(0)), &[], None);
        }
        let mut after = After::default();
        // Each of them is run by its own visit, or cannot move.
        ran.movers.extend_from_slice(marks);
        for &mark in marks {
            let visit = (time, &state[..], mark);
            let last = mover(mark.into()).unwrap_or(None);
            let mover = last.filter(|&mover| self.moves.has(mover));
            let turn = turn(mover.is_some(), ran.is_free);
            ran.is_free |= turn == Turn::All;
            self.take(visit, (turn, mover), ran, each);
            if mover.is_some_and(|mover| self.moves.has_others(mover)) {
                after.waits.get_or_insert(mark);
            }
        }
        after.is_free = ran.is_free;
        after.waits = after.waits.filter(|_| !after.is_free);
        Ok(after)
    }

    /// Runs all processes that had to wait, after a visit by this last mover.
    pub fn expand_deferred(
        &mut self,
        time: Time,
        state: &mut Vec<u8>,
        mark: u16,
        ran: &Ran,
        each: Successor<'_>,
    ) -> Result<(), Stop> {
        self.look(state)?;
        self.take((time, state, mark), (Turn::Waited, None), ran, each);
        Ok(())
    }

    /// Finds what can happen in a state.
    fn look(&mut self, state: &mut Vec<u8>) -> Result<(), Stop> {
        let longest = &mut self.counters.state_bytes;
        *longest = (*longest).max(state.len());
        self.moves.find(self.system, state).map_err(|_| Stop::Memory)
    }

    /// Takes the steps of the processes that are due, with the sequences behind them.
    fn take(
        &mut self,
        visit: (Time, &[u8], u16),
        (turn, mover): (Turn, Option<ProcessId>),
        ran: &Ran,
        each: Successor<'_>,
    ) {
        let is_taken = |process| {
            let has_run = |process| ran.movers.contains(&mark(Some(process)));
            turn.due(process, |one| Some(one) == mover, has_run) == Due::Now
        };
        let (system, counters) = (self.system, &mut self.counters);
        let (site, transitions) = (&mut self.site, &mut self.transitions);
        self.moves.take(is_taken, |taken| match taken {
            Taken::Step(step) => counters.take(system, step),
            Taken::Fault(fault, path) => {
                if counters.reports(system, fault) {
                    report(site, counters, visit, path, Some(fault));
                }
            }
            Taken::Arrival(state, mover) => {
                *transitions += 1;
                each(state, mover.map_or(visit.2, |mover| mark(Some(mover))));
            }
        });
    }

    fn report(&mut self, visit: (Time, &[u8], u16), path: &[Step], fault: Option<u32>) {
        report(&mut self.site, &mut self.counters, visit, path, fault);
    }

    /// Whether as many errors as asked for were found.
    pub fn has_enough(&self) -> bool {
        self.counters.is_enough()
    }

    /// How many errors were found.
    pub fn errors(&self) -> u64 {
        self.counters.errors
    }

    /// What was counted; states are the caller's to add.
    pub fn share(&self) -> PartitionResult {
        PartitionResult {
            transitions: self.transitions,
            site: self.site.clone(),
            ..PartitionResult::counted(&self.counters)
        }
    }

    /// Steps from a visit to the goal that cost so many preemptions, if it is a predecessor.
    pub fn steps_to(
        &mut self,
        state: &[u8],
        mark: u16,
        goal: &TraceTarget,
        cost: u32,
    ) -> Option<Vec<Step>> {
        let last = mover(mark.into()).unwrap_or(None);
        steps_to(self.system, (state, last), goal, Some(cost), false)
    }
}

/// Counts an error of a visit; the first one is kept.
fn report(
    site: &mut Option<ViolationSite>,
    counters: &mut Counters,
    (time, state, mark): (Time, &[u8], u16),
    path: &[Step],
    fault: Option<u32>,
) {
    if counters.is_enough() {
        return;
    }
    site.get_or_insert_with(|| ViolationSite {
        time,
        state: state.to_vec(),
        mover: mover(mark.into()).unwrap_or(None),
        path: path.to_vec(),
        fault,
    });
    counters.error(|| Counterexample::invalid_end(Vec::new()));
}
