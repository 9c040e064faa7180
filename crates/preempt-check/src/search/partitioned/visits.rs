//! Successors of single visits, for searches that count preemptions and keep states somewhere else: in files.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! A visit is a state and who moved last before it. What a visit runs depends on what earlier visits to its state have run;
//! the caller keeps that ([`Ran`]) and gives it along. The rule is that of `buckets.rs`: the steps of each process of a
//! state are taken once, in the bucket in which that is possible first.

use super::buckets::{mark, mover};
use super::retrace::{Goal, steps_to};
use super::{Share, Site, Time};
use crate::search::bounded::least_preemptions::LARGEST_BOUND;
use crate::search::iterative::outgoing::Outgoing;
use crate::search::shared::atomic_sequence::AtomicSequence;
use crate::search::shared::expansion::Expander;
use crate::{Counterexample, Options};
use preempt_core::{Enabled, Outcome, ProcessId, Step, Stop, System};

/// Who was run from a state, as marks of last movers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Last movers of visits: each of them was run, if it could move.
    pub movers: Vec<u16>,
    /// Everybody was.
    pub is_free: bool,
}

/// What becomes of the visits to a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// Everybody was run.
    pub is_free: bool,
    /// Somebody has to wait for the next bucket; the mark of who moved last.
    pub waits: Option<u16>,
}

/// Expands visits and counts what happens.
pub struct Visits<'a> {
    system: &'a dyn System,
    outgoing: Outgoing<'a, dyn System + 'a>,
    expander: Expander,
    enabled: Enabled,
    sequence: AtomicSequence,
    site: Option<Site>,
    /// Steps taken, sequences as one.
    pub transitions: u64,
}

/// Takes successors: the state, and the mark of who moved last.
type Successor<'a> = &'a mut dyn FnMut(&[u8], u16);

impl<'a> Visits<'a> {
    /// For a search with these options.
    pub fn new(system: &'a dyn System, options: &Options) -> Self {
        Visits {
            system,
            outgoing: Outgoing::new(system, options),
            expander: Expander::new(),
            enabled: Enabled::new(),
            sequence: AtomicSequence::default(),
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
            && self.outgoing.counters.reports(self.system, fault)
        {
            self.report((Time::default(), &state, 0), &[], Some(fault));
            goes_on = false;
        }
        self.outgoing.counters.state_bytes = state.len();
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
        self.look(state);
        let is_first = ran.movers.is_empty();
        if is_first && self.outgoing.counters.is_invalid_end(self.system, state, &self.enabled) {
            self.report((time, state, marks.first().copied().unwrap_or(0)), &[], None);
        }
        let enabled = std::mem::take(&mut self.enabled);
        let mut after = After::default();
        // Whoever is among them is run by his own visit, or cannot move.
        ran.movers.extend_from_slice(marks);
        for &mark in marks {
            let visit = (time, &state[..], mark);
            let last = mover(mark.into()).unwrap_or(None);
            let Some(mover) = last.filter(|&mover| !enabled.of(mover).is_empty()) else {
                if !std::mem::replace(&mut ran.is_free, true) {
                    self.run_others(visit, &enabled, &ran.movers, each)?;
                }
                continue;
            };
            self.take(visit, enabled.of(mover), each)?;
            self.take(visit, enabled.of(ProcessId::PROPERTY), each)?;
            let is_other =
                |step: &Step| step.process != mover && step.process != ProcessId::PROPERTY;
            if enabled.steps().iter().any(is_other) {
                after.waits.get_or_insert(mark);
            }
        }
        self.enabled = enabled;
        after.is_free = ran.is_free;
        after.waits = after.waits.filter(|_| !after.is_free);
        Ok(after)
    }

    /// Runs everybody who had to wait, after a visit by this last mover.
    pub fn expand_deferred(
        &mut self,
        time: Time,
        state: &mut Vec<u8>,
        mark: u16,
        ran: &Ran,
        each: Successor<'_>,
    ) -> Result<(), Stop> {
        self.look(state);
        self.enabled.drop_property();
        let enabled = std::mem::take(&mut self.enabled);
        let result = self.run_others((time, state, mark), &enabled, &ran.movers, each);
        self.enabled = enabled;
        result
    }

    fn look(&mut self, state: &mut Vec<u8>) {
        let longest = &mut self.outgoing.counters.state_bytes;
        *longest = (*longest).max(state.len());
        self.enabled.clear();
        self.system.enabled(state, &mut self.enabled);
    }

    fn run_others(
        &mut self,
        visit: (Time, &[u8], u16),
        enabled: &Enabled,
        movers: &[u16],
        each: Successor<'_>,
    ) -> Result<(), Stop> {
        for (process, steps) in enabled.by_process() {
            if !movers.contains(&mark(Some(process))) {
                self.take(visit, steps, each)?;
            }
        }
        Ok(())
    }

    /// Takes steps of one process, with the sequences behind them.
    fn take(
        &mut self,
        visit: (Time, &[u8], u16),
        steps: &[Step],
        each: Successor<'_>,
    ) -> Result<(), Stop> {
        self.expander.clear();
        self.outgoing.clear();
        self.outgoing.begin(0);
        let (system, outgoing) = (self.system, &mut self.outgoing);
        let taken = self.expander.expand_selected(system, visit.1, steps, outgoing);
        taken.map_err(|_| Stop::Memory)?;
        for at in 0..self.outgoing.list.len() {
            let edge = self.outgoing.list[at];
            match edge.arrival().map(|arrival| self.expander.arrivals[arrival]) {
                Some(arrival) => {
                    self.transitions += 1;
                    let mark = edge.mover().map_or(visit.2, |mover| mark(Some(mover)));
                    each(&self.expander.successors.data[arrival.start..arrival.end], mark);
                }
                None => {
                    if let Some((fault, path)) = self.outgoing.fault(edge) {
                        self.report(visit, &path, Some(fault));
                    }
                }
            }
        }
        Ok(())
    }

    fn report(&mut self, visit: (Time, &[u8], u16), path: &[Step], fault: Option<u32>) {
        if self.has_enough() {
            return;
        }
        let (time, state, mark) = visit;
        self.site.get_or_insert_with(|| Site {
            time,
            state: state.to_vec(),
            mover: mover(mark.into()).unwrap_or(None),
            path: path.to_vec(),
            fault,
        });
        self.outgoing.counters.error(|| Counterexample::invalid_end(Vec::new()));
    }

    /// Whether as many errors as asked for were found.
    pub fn has_enough(&self) -> bool {
        self.outgoing.counters.is_enough()
    }

    /// How many errors were found.
    pub fn errors(&self) -> u64 {
        self.outgoing.counters.errors
    }

    /// What was counted; states are the caller's to add.
    pub fn share(&self) -> Share {
        let counters = &self.outgoing.counters;
        Share {
            transitions: self.transitions,
            errors: counters.errors,
            state_bytes: counters.state_bytes as u64,
            stop: counters.stop,
            taken: counters.taken().to_vec(),
            site: self.site.clone(),
            ..Share::default()
        }
    }

    /// Steps from a visit to the goal that cost so many preemptions, if it is a predecessor.
    pub fn steps_to(
        &mut self,
        state: &[u8],
        mark: u16,
        goal: &Goal,
        cost: u32,
    ) -> Option<Vec<Step>> {
        let last = mover(mark.into()).unwrap_or(None);
        steps_to(self.system, &mut self.sequence, (state, last), goal, Some(cost), false)
    }
}
