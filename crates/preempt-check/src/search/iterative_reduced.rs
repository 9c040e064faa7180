//! All executions without a preemption, then those with one, then with two, …, with a reduction that is
//! sound under the bound.
//!
//! Paper: [HF] Fig. 5
//! Paper: [MQ07] Algorithm 1
//!
//! Differs from [HF]: processes run ahead as `reduce/ahead.rs` says, without paying; a last mover that may
//! owe its turn to that is forgotten, so that whoever goes on pays nothing either. [HF] gives every step behind
//! an ample one for free instead, which loses violations where an ample step enables somebody.
//!
//! A visit is (state, last mover or nobody, count). It is dealt with in one of two ways:
//! 1. A candidate set runs ahead: all its steps are taken at the same count, and the last mover stays. That
//!    is enough if one of them leads to a visit that is yet to be expanded (the *proviso*).
//! 2. If no candidate does, the last mover goes on, and everybody else with one preemption more. Where
//!    nobody was the last mover, everybody goes on for free.
//!
//! Counts are lower bounds: a violation that is found may need more preemptions, which its replay tells.
//! None within the bound is lost; the book's chapter on bounded reduction has the proof.
//!
//! Invariant: a bucket is finished when all visits at its count are expanded, and all that were found
//! robust before still are.

mod conclusion;
mod mistake;
mod outgoing;
#[cfg(test)]
mod tests;
mod visited;

use super::end::End;
use super::expansion::Expander;
use super::marks::LARGEST_BOUND;
use super::tally::Tally;
use crate::reduce::{Ahead, Learned, Signalled};
use crate::store::{Exact, StateId, Store};
use crate::{Budget, Finding, Options, Preemptions, Progress};
use mistake::{Mistake, makes};
use outgoing::{Edge, Outgoing, Target};
use preempt_core::{BoundRow, Locality, ObjectSet, Outcome, ProcessId, Stop, System};
use std::collections::VecDeque;
use visited::{Arrival, MOST_MOVERS, Visited};

/// What a reduced search came to.
pub(super) enum Reduced {
    /// It found out what was asked for.
    Decided(Box<Finding>),
    /// As far as was replayed, the violations that it met need more preemptions than the bound; whether
    /// others need fewer an exact search must tell.
    Undecided(Box<Finding>),
}

/// How many states a pilot looks at to learn what is signalled ahead.
pub(super) const PILOT: u64 = 2000;
/// How many violations are replayed to find one within the bound.
const REPLAYS: u64 = 64;

/// Explores bucket by bucket, as far as `options.preemptions` says, where last movers may owe their turn to
/// what is `signalled`. The store must give states back.
#[doc(alias = "HF Fig. 5")]
pub(super) fn iterative_reduced<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    signalled: Signalled,
    budget: &mut Budget,
) -> Reduced {
    let mut search = Search::new(system, store, options, signalled);
    let (mut rows, mut bound) = (Vec::new(), None);
    let end = search.run(&mut rows, &mut bound, budget).err();
    let undecided = search.least_cost.is_some_and(|cost| cost > search.judged_by());
    let finding = Box::new(search.finish(rows, bound, end, budget));
    if undecided { Reduced::Undecided(finding) } else { Reduced::Decided(finding) }
}

/// Learns from the first states of a search that goes deep what is signalled ahead. An error is a finding: a
/// limit was reached.
pub(super) fn pilot<S: System + ?Sized>(
    system: &S,
    states: u64,
    options: &Options,
    budget: &mut Budget,
) -> Result<Learned, Box<Finding>> {
    let mut store = Exact::new(budget.memory_limit());
    let unknown = Signalled::Learned(Learned::default());
    let mut pilot = Search::new(system, &mut store, options, unknown);
    pilot.pilot = Some(states);
    if let Err(End::Limit(stop)) = pilot.run(&mut Vec::new(), &mut None, budget) {
        let finding = pilot.finish(Vec::new(), None, Some(End::Limit(stop)), budget);
        return Err(Box::new(finding));
    }
    match pilot.ahead.signalled {
        Signalled::Learned(learned) => Ok(learned),
        Signalled::Anything => Ok(Learned::default()),
    }
}

/// A visit, and where it came from.
#[derive(Clone, Copy)]
struct Visit {
    state: StateId,
    /// The visit before, or [`NO_PARENT`].
    parent: u32,
    count: u16,
    /// The last mover, or [`NOBODY`].
    mover: u16,
    /// Whether the last mover really is who moved last.
    exact: bool,
}

const NO_PARENT: u32 = u32::MAX;
const NOBODY: u16 = u16::MAX;

impl Visit {
    fn mover(self) -> Option<ProcessId> {
        (self.mover != NOBODY).then_some(ProcessId(self.mover))
    }
}

struct Search<'a, S: ?Sized, T> {
    system: &'a S,
    store: &'a mut T,
    ahead: Ahead,
    preemptions: Preemptions,
    /// The last bound.
    last: u32,
    /// How many states are enough to learn from, where that is all that is wanted.
    pilot: Option<u64>,
    visited: Visited,
    log: Vec<Visit>,
    /// By count: visits that are yet to be expanded,
    open: Vec<VecDeque<u32>>,
    /// and those whose last mover went on, while others have to wait for one preemption more.
    kept: Vec<Vec<u32>>,
    /// The count of the present bucket.
    bucket: u32,
    outgoing: Outgoing<'a, S>,
    expander: Expander,
    state: Vec<u8>,
    nothing: ObjectSet,
    states: u64,
    transitions: u64,
    revisits: u64,
    /// The preemptions of the simplest violation that was replayed.
    least_cost: Option<u32>,
    replays: u64,
}

impl<'a, S: System + ?Sized, T: Store> Search<'a, S, T> {
    fn new(system: &'a S, store: &'a mut T, options: &Options, signalled: Signalled) -> Self {
        Search {
            system,
            store,
            ahead: Ahead::new(options.reduction, signalled),
            preemptions: options.preemptions,
            last: options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND),
            pilot: None,
            visited: Visited::default(),
            log: Vec::new(),
            open: vec![VecDeque::new()],
            kept: vec![Vec::new()],
            bucket: 0,
            outgoing: Outgoing::new(system, Tally::new(system, options)),
            expander: Expander::new(),
            state: Vec::new(),
            nothing: ObjectSet::new(),
            states: 0,
            transitions: 1,
            revisits: 0,
            least_cost: None,
            replays: 0,
        }
    }

    /// Fills `rows` with finished phases and `bound` with the last bound searched, if more is left.
    fn run(
        &mut self,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let result = self.start().and_then(|()| self.buckets(rows, bound, budget));
        if matches!(result, Err(End::Enough)) {
            rows.push(self.row());
        }
        result
    }

    fn start(&mut self) -> Result<(), End> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.outgoing.tally.reports(self.system, fault)
        {
            self.report(None, &[], Some(fault))?;
        }
        if let Outcome::Broken(_) = outcome {
            return Ok(());
        }
        let state = self.store.insert(&initial)?.id;
        let nobody = Visit { state, parent: NO_PARENT, count: 0, mover: NOBODY, exact: true };
        self.arrive(nobody)?;
        Ok(())
    }

    fn buckets(
        &mut self,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let extra = self.preemptions.extra();
        loop {
            self.finish_bucket(budget)?;
            let mut waiting = std::mem::take(&mut self.kept[self.bucket as usize]);
            waiting.retain(|visit| self.is_current(*visit));
            let phase_ends = (self.bucket + 1).is_multiple_of(extra + 1);
            if phase_ends || waiting.is_empty() {
                rows.push(self.row());
            }
            if waiting.is_empty() {
                return Ok(());
            }
            // What needs more preemptions than the bucket it was met in, an exact search must judge.
            let undecided = self.least_cost.is_some_and(|cost| cost > self.judged_by());
            let iterates = matches!(self.preemptions, Preemptions::Iterate { .. });
            if self.bucket >= self.last || iterates && undecided {
                *bound = Some(self.bucket);
                return Ok(());
            }
            self.kept[self.bucket as usize] = waiting;
            self.bucket += 1;
            self.open.push(VecDeque::new());
            self.kept.push(Vec::new());
        }
    }

    /// Expands all visits up to the count of the bucket.
    fn finish_bucket(&mut self, budget: &mut Budget) -> Result<(), End> {
        loop {
            let bucket = self.bucket as usize;
            if let Some(count) = (0..=bucket).find(|count| !self.open[*count].is_empty()) {
                while let Some(visit) = self.next_of(count) {
                    self.poll(budget)?;
                    self.expand(visit)?;
                }
            } else if let Some(count) = (0..bucket).find(|count| !self.kept[*count].is_empty()) {
                for visit in std::mem::take(&mut self.kept[count]) {
                    self.poll(budget)?;
                    self.expand_others(visit)?;
                }
            } else if self.pilot.is_some() || !self.judge_again(budget)? {
                return Ok(());
            }
        }
    }

    /// A pilot goes deep, to see as much as it can; a search takes the oldest first.
    fn next_of(&mut self, count: usize) -> Option<u32> {
        match self.pilot {
            Some(_) => self.open[count].pop_back(),
            None => self.open[count].pop_front(),
        }
    }

    fn poll(&self, budget: &mut Budget) -> Result<(), End> {
        if self.pilot.is_some_and(|enough| self.states >= enough) {
            return Err(End::Enough);
        }
        let stop = budget.poll(|| Progress {
            states: self.states,
            transitions: self.transitions,
            queue: self.open.iter().map(|open| open.len() as u64).sum(),
            memory: self.bytes(),
            ..Progress::default()
        });
        stop.map_or(Ok(()), |stop| Err(End::Limit(stop)))
    }

    fn bytes(&self) -> usize {
        let waiting = self.open.iter().map(VecDeque::capacity).sum::<usize>()
            + self.kept.iter().map(Vec::capacity).sum::<usize>();
        self.store.bytes()
            + self.visited.bytes()
            + self.expander.bytes()
            + self.log.capacity() * size_of::<Visit>()
            + waiting * size_of::<u32>()
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            bound: self.bucket,
            states: self.states,
            transitions: self.transitions,
            errors: self.outgoing.tally.errors,
        }
    }

    /// Finds the edges out of the state of a visit.
    fn load(&mut self, state: StateId) -> Result<(), End> {
        self.expander.clear();
        self.outgoing.clear();
        self.store.load(state, &mut self.state);
        self.expander.expand_briefly(self.system, &mut self.state, &mut self.outgoing)?;
        Ok(())
    }

    /// Deals with a visit.
    fn expand(&mut self, number: u32) -> Result<(), End> {
        let visit = self.log[number as usize];
        if !self.visited.begin(visit.state, visit.count.into(), visit.mover()) {
            return Ok(());
        }
        self.load(visit.state)?;
        let tally = &mut self.outgoing.tally;
        tally.state_bytes = tally.state_bytes.max(self.state.len());
        if self.outgoing.steps.is_empty() {
            return self.check_end(number, visit.state);
        }
        let mover = visit.mover().filter(|mover| self.is_robust(*mover));
        if mover.is_none() && visit.mover().is_some() {
            self.visited.set_nobody(visit.state);
        }
        let stays = if makes(Mistake::TurnComesBack) { visit.mover() } else { mover };
        if self.run_ahead(number, stays)? {
            if makes(Mistake::AheadIsFree) {
                self.visited.set_nobody(visit.state);
            }
            return Ok(());
        }
        let mut others_wait = false;
        for at in 0..self.outgoing.edges.len() {
            let edge = self.outgoing.edges[at];
            match (edge.process, mover) {
                (ProcessId::PROPERTY, _) => {
                    self.follow(edge, number, visit.count, Label::Stays(mover))?;
                }
                (process, Some(mover)) if process != mover => others_wait = true,
                _ => {
                    self.follow(edge, number, visit.count, Label::Moves)?;
                }
            }
        }
        if others_wait {
            self.kept[usize::from(visit.count)].push(number);
        }
        Ok(())
    }

    /// Runs, at one preemption more, those who had to wait at a visit.
    fn expand_others(&mut self, number: u32) -> Result<(), End> {
        if !self.is_current(number) {
            return Ok(());
        }
        let visit = self.log[number as usize];
        self.load(visit.state)?;
        for at in 0..self.outgoing.edges.len() {
            let edge = self.outgoing.edges[at];
            if edge.process != ProcessId::PROPERTY && Some(edge.process) != visit.mover() {
                self.follow(edge, number, visit.count + 1, Label::Moves)?;
            }
        }
        Ok(())
    }

    fn is_current(&self, number: u32) -> bool {
        let visit = self.log[number as usize];
        self.visited.is_current(visit.state, visit.count.into())
    }

    fn is_robust(&self, mover: ProcessId) -> bool {
        if makes(Mistake::NothingOwed) {
            return self.outgoing.steps_of(mover).next().is_some();
        }
        let steps = self.outgoing.steps_of(mover);
        self.ahead.is_robust(self.system, &self.state, mover, steps)
    }

    /// Takes the steps of candidates for free until one has a successor that is yet to be expanded; says
    /// whether there is such a one.
    fn run_ahead(&mut self, number: u32, mover: Option<ProcessId>) -> Result<bool, End> {
        let (system, mut from) = (self.system, 0);
        loop {
            let movers = &self.outgoing.movers;
            let found = self.ahead.candidate(system, &self.state, movers, from);
            let Some((candidate, next)) = found else { return Ok(false) };
            let mut open = false;
            for at in 0..self.outgoing.edges.len() {
                let edge = self.outgoing.edges[at];
                if edge.process == ProcessId::PROPERTY
                    || !self.ahead.contains(candidate, edge.process)
                {
                    continue;
                }
                self.learn(edge);
                // After a rendezvous the receiver is the last mover: no turn outlives it.
                let loses = |mover: &ProcessId| {
                    edge.meets && edge.movers.contains(*mover) && !makes(Mistake::MeetingKeepsTurn)
                };
                let stays = mover.filter(|mover| !loses(mover));
                let count = self.log[number as usize].count;
                open |= self.follow(edge, number, count, Label::Stays(stays))?;
            }
            if open || makes(Mistake::NoProviso) {
                return Ok(true);
            }
            from = next;
        }
    }

    /// Notes what an edge that is taken ahead signals.
    fn learn(&mut self, edge: Edge) {
        let Signalled::Learned(learned) = &mut self.ahead.signalled else { return };
        let (system, state) = (self.system, &self.state);
        if system.locality(state, edge.process) == Locality::Local {
            return;
        }
        let signals = system.signals(state, edge.process).unwrap_or(&self.nothing);
        let arrived = match edge.to {
            Target::Arrival(arrival) => {
                let arrival = self.expander.arrivals[arrival];
                &self.expander.successors.bytes[arrival.start..arrival.end]
            }
            Target::Fault(_) => return,
        };
        let before = system.process_count(state);
        for at in 0..before.max(system.process_count(arrived)) {
            let process = ProcessId(at as u16);
            let moved = edge.movers.contains(process);
            if moved {
                learned.note(process, signals);
            }
            // A process may be created where it can answer.
            let arrives = moved || at >= before;
            if arrives && system.may_answer(arrived, process) && !makes(Mistake::ArrivalsForgotten)
            {
                learned.note_arrival(process);
            }
        }
    }

    /// Judges again, after more was learned, which last movers are robust. Says whether that led to visits.
    fn judge_again(&mut self, budget: &mut Budget) -> Result<bool, End> {
        let Signalled::Learned(learned) = &mut self.ahead.signalled else { return Ok(false) };
        if !learned.has_grown() || makes(Mistake::NeverJudgedAgain) {
            return Ok(false);
        }
        for number in 0..self.log.len() as u32 {
            let visit = self.log[number as usize];
            let Some(mover) = visit.mover().filter(|_| self.is_current(number)) else { continue };
            self.poll(budget)?;
            self.load(visit.state)?;
            if !self.outgoing.steps.is_empty() && !self.is_robust(mover) {
                self.arrive(Visit { mover: NOBODY, exact: false, ..visit })?;
            }
        }
        Ok(true)
    }

    /// Goes along an edge; says whether it leads to a visit that is yet to be expanded.
    fn follow(&mut self, edge: Edge, parent: u32, count: u16, label: Label) -> Result<bool, End> {
        let arrival = match edge.to {
            Target::Arrival(arrival) => self.expander.arrivals[arrival],
            Target::Fault(number) => {
                let (fault, path) = self.outgoing.fault(number);
                let path = path.to_vec();
                self.report(Some(parent), &path, Some(fault))?;
                return Ok(false);
            }
        };
        self.transitions += 1;
        let bytes = &self.expander.successors.bytes[arrival.start..arrival.end];
        let state = self.store.insert(bytes)?.id;
        let (mover, exact) = match label {
            Label::Moves => (edge.mover, true),
            Label::Stays(mover) => (mover, false),
        };
        // Nobody is a last mover that never costs more.
        let small = mover.filter(|mover| mover.0 < MOST_MOVERS);
        let exact = exact && small == mover;
        let mover = small.map_or(NOBODY, |mover| mover.0);
        self.arrive(Visit { state, parent, count, mover, exact })
    }

    /// Notes an arrival; says whether it leads to a visit that is yet to be expanded.
    fn arrive(&mut self, visit: Visit) -> Result<bool, End> {
        match self.visited.arrive(visit.state, visit.count.into(), visit.mover()) {
            Arrival::Closed => return Ok(false),
            Arrival::Open => return Ok(true),
            Arrival::New => self.states += 1,
            Arrival::Again => self.revisits += 1,
        }
        if self.log.len() >= NO_PARENT as usize {
            return Err(End::Limit(Stop::Memory));
        }
        self.open[usize::from(visit.count)].push_back(self.log.len() as u32);
        self.log.push(visit);
        Ok(true)
    }

    fn check_end(&mut self, number: u32, state: StateId) -> Result<(), End> {
        let is_first = self.visited.checks_end(state);
        if is_first
            && self.outgoing.tally.reports_deadlocks()
            && !self.system.is_valid_end(&self.state)
        {
            self.report(Some(number), &[], None)?;
        }
        Ok(())
    }
}

/// Who is the last mover where an edge leads.
#[derive(Clone, Copy)]
enum Label {
    /// Who moved.
    Moves,
    /// Who was it before.
    Stays(Option<ProcessId>),
}
