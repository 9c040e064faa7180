//! Bucket by bucket over a store that does not keep the states.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! As `buckets.rs`, but what waits carries its bytes with it, and a state whose other processes
//! have to wait is expanded again when their turn comes. Visits are judged by a [`LossyVisited`], which may
//! take a state for another: a violation found is one, but none found proves nothing.
//!
//! `lossy_parallel.rs` has several threads do this.

use super::buckets::last_bound;
use super::conclusion::Conclusion;
use super::lossy_visited::LossyVisited;
use super::outgoing::Outgoing;
use super::retrace::{Mover, retrace};
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::search::bounded::least_preemptions::Visit;
use crate::search::shared::end::End;
use crate::search::shared::expansion::Expander;
use crate::search::shared::trace::LOST;
use crate::search::shared::visit_rule::{Due, Turn, turn};
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{BoundRow, Locality, Outcome, ProcessId, Step, Stop, System};
use std::collections::VecDeque;

/// Explores bucket by bucket, as far as `options.preemptions` says.
pub(crate) fn iterative_lossy<S: System + ?Sized, L: LossyVisited>(
    system: &S,
    visited: L,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    let extra = options.preemptions.extra();
    let mut search = Lossy::new(system, visited, options, reduce);
    let mut rows = Vec::new();
    let mut bound = None;
    let end = search.run(extra, &mut rows, &mut bound, budget).err();
    search.finish(rows, bound, end, budget)
}

/// A visit: where it came from, who moved last, and the hash of its state.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) hash: u64,
    pub(super) parent: u32,
    pub(super) mover: Mover,
}

pub(super) const NO_PARENT: u32 = u32::MAX;

/// A visit that waits.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) visit: u32,
    mover: Mover,
    /// Where the bytes of its state end.
    end: usize,
}

/// So many visits wait together.
pub(super) const CHUNK: usize = 256;

/// Visits that wait, with their states.
#[derive(Default)]
pub(super) struct Chunk {
    visits: Vec<Waiting>,
    bytes: Vec<u8>,
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.visits.len()
    }

    /// A visit and its state.
    pub(super) fn get(&self, at: usize) -> (Waiting, &[u8]) {
        let start = if at == 0 { 0 } else { self.visits[at - 1].end };
        let visit = self.visits[at];
        (visit, &self.bytes[start..visit.end])
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.capacity() + self.visits.capacity() * size_of::<Waiting>()
    }
}

/// A queue of visits.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) chunks: VecDeque<Chunk>,
}

impl Queue {
    fn push(&mut self, visit: u32, mover: Mover, state: &[u8]) {
        if self.chunks.back().is_none_or(|chunk| chunk.len() >= CHUNK) {
            self.chunks.push_back(Chunk::default());
        }
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.bytes.extend_from_slice(state);
            chunk.visits.push(Waiting { visit, mover, end: chunk.bytes.len() });
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(Chunk::bytes).sum()
    }
}

/// A violation, for threads that find the way to it when all are done.
pub(super) struct Met {
    pub(super) bucket: u32,
    pub(super) visit: Option<u32>,
    pub(super) path: Vec<Step>,
    pub(super) fault: Option<u32>,
}

/// What a thread of several needs to know about the others.
#[derive(Clone, Copy)]
pub(super) struct Among<'a> {
    /// Its own number,
    pub(super) me: u32,
    /// and that of all.
    pub(super) threads: u32,
    /// The errors of all threads.
    pub(super) errors: &'a AtomicU64,
}

/// A search bucket by bucket, or what one of several threads does of it.
pub(super) struct Lossy<'a, S: ?Sized, L> {
    system: &'a S,
    visited: L,
    reduce: bool,
    observed: bool,
    max_errors: u64,
    last: u32,
    /// Every visit that was found here.
    pub(super) log: Vec<Entry>,
    /// Those that are to be expanded in this bucket,
    pub(super) found: Queue,
    /// and those whose states are to be expanded again in the next one.
    pub(super) deferred: Queue,
    pub(super) bucket: u32,
    pub(super) outgoing: Outgoing<'a, S>,
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) revisits: u64,
    expander: Expander,
    /// The state that is being expanded, and the visit to it.
    state: Vec<u8>,
    at: (u32, Mover),
    /// Where there are other threads.
    pub(super) among: Option<Among<'a>>,
    /// The first violation, where there are.
    pub(super) met: Option<Met>,
    /// A violation was met, but not the way to it.
    lost: bool,
}

impl<'a, S: System + ?Sized, L: LossyVisited> Lossy<'a, S, L> {
    pub(super) fn new(system: &'a S, visited: L, options: &Options, reduce: bool) -> Self {
        Lossy {
            system,
            visited,
            reduce,
            observed: options.observed,
            max_errors: options.max_errors,
            last: last_bound(options),
            log: Vec::new(),
            found: Queue::default(),
            deferred: Queue::default(),
            bucket: 0,
            outgoing: Outgoing::new(system, options),
            states: 0,
            transitions: 0,
            revisits: 0,
            expander: Expander::new(),
            state: Vec::new(),
            at: (NO_PARENT, Mover::new(None, false)),
            among: None,
            met: None,
            lost: false,
        }
    }
}

impl<S: System + ?Sized, L: LossyVisited> Lossy<'_, S, L> {
    fn run(
        &mut self,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let result = self.start().and_then(|()| self.buckets(extra, rows, bound, budget));
        if matches!(result, Err(End::Enough)) {
            rows.push(self.row());
        }
        result
    }

    /// Visits the initial state.
    pub(super) fn start(&mut self) -> Result<(), End> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        self.transitions = 1;
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.outgoing.counters.reports(self.system, fault)
        {
            self.report(&[], Some(fault))?;
        }
        if let Outcome::Broken(_) = outcome {
            return Ok(());
        }
        self.arrive(&initial, NO_PARENT, Mover::new(None, false))?;
        Ok(())
    }

    fn buckets(
        &mut self,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        loop {
            for chunk in std::mem::take(&mut self.deferred).chunks {
                for at in 0..chunk.len() {
                    self.poll(budget)?;
                    self.run_deferred(&chunk, at)?;
                }
            }
            while let Some(chunk) = self.found.chunks.pop_front() {
                for at in 0..chunk.len() {
                    self.poll(budget)?;
                    self.expand(&chunk, at)?;
                }
            }
            let left = self.has_deferred();
            if !left || (self.bucket + 1).is_multiple_of(extra + 1) {
                rows.push(self.row());
            }
            if !left {
                return Ok(());
            }
            if self.bucket >= self.last {
                *bound = Some(self.bucket);
                return Ok(());
            }
            self.bucket += 1;
        }
    }

    /// Whether any state that waits was not run in full by a later visit.
    pub(super) fn has_deferred(&self) -> bool {
        self.deferred.chunks.iter().any(|chunk| {
            (0..chunk.len()).any(|at| {
                let key = self.visited.key(chunk.get(at).1);
                key.is_some_and(|key| !self.visited.is_free(key))
            })
        })
    }

    fn row(&self) -> BoundRow {
        BoundRow {
            stale: None,
            bound: self.bucket,
            states: self.states,
            transitions: self.transitions,
            errors: self.outgoing.counters.errors,
        }
    }

    fn poll(&self, budget: &mut Budget) -> Result<(), End> {
        let stop = budget.poll(|| Progress {
            states: self.states,
            transitions: self.transitions,
            queue: (self.found.chunks.len() * CHUNK) as u64,
            memory: self.visited.bytes() + self.own_bytes(),
            ..Progress::default()
        });
        stop.map_or(Ok(()), |stop| Err(End::Limit(stop)))
    }

    /// Memory in use beside the store, in bytes.
    pub(super) fn own_bytes(&self) -> usize {
        self.found.bytes() + self.deferred.bytes() + self.log.capacity() * size_of::<Entry>()
    }

    /// Turns to the state of a visit that waited.
    fn turn_to(&mut self, chunk: &Chunk, at: usize) {
        let (waiting, state) = chunk.get(at);
        self.state.clear();
        self.state.extend_from_slice(state);
        self.at = (waiting.visit, waiting.mover);
    }

    /// Finds the edges out of `self.state`; gives the number of its steps.
    fn find_ways(&mut self) -> Result<usize, End> {
        self.expander.clear();
        self.outgoing.clear();
        self.outgoing.begin(self.at.0);
        Ok(self.expander.expand(self.system, &mut self.state, &mut self.outgoing)?)
    }

    /// Runs what a visit of the present bucket adds.
    pub(super) fn expand(&mut self, chunk: &Chunk, at: usize) -> Result<(), End> {
        self.turn_to(chunk, at);
        let steps = self.find_ways()?;
        let Some(key) = self.visited.key(&self.state) else { return Ok(()) };
        let was_free = self.visited.is_free(key);
        if self.visited.set_expanded(key)? && steps == 0 {
            self.check_end()?;
        }
        let last = self.at.1.process();
        let mover = last.filter(|process| self.outgoing.moves(*process));
        if self.reduce && self.run_transparent(mover)? {
            return Ok(());
        }
        // Of several visits whose last movers are stuck one does what all are for.
        let all_run = match mover {
            Some(_) => was_free,
            None => !self.visited.set_free(key)? && last.is_some(),
        };
        let turn = turn(mover.is_some(), all_run);
        self.follow_due(turn, key, |process| Some(process) == mover)?;
        if turn == Turn::Mover
            && !all_run
            && mover.is_some_and(|mover| self.outgoing.others_move(mover))
            && self.visited.defer(key)?
        {
            self.deferred.push(self.at.0, self.at.1, &self.state);
        }
        Ok(())
    }

    /// Runs, at one preemption more, the processes that had to wait.
    pub(super) fn run_deferred(&mut self, chunk: &Chunk, at: usize) -> Result<(), End> {
        self.turn_to(chunk, at);
        let Some(key) = self.visited.key(&self.state) else { return Ok(()) };
        if !self.visited.set_free(key)? {
            return Ok(());
        }
        self.find_ways()?;
        self.follow_due(Turn::Waited, key, |_| false)
    }

    /// Takes the steps of one process that touches nothing shared, and no others, if there is one
    /// with a successor that is yet to be expanded.
    fn run_transparent(&mut self, mover: Option<ProcessId>) -> Result<bool, End> {
        let mut at = 0;
        while let Some(first) = self.outgoing.list.get(at) {
            let process = first.process;
            let transparent = self.system.locality(&self.state, process) == Locality::Local
                && !(self.observed && self.system.is_visible(&self.state, process));
            let mut open = false;
            while self.outgoing.list.get(at).is_some_and(|edge| edge.process == process) {
                if transparent {
                    open |= self.follow(at, Some(Mover::new(mover, true)))?;
                }
                at += 1;
            }
            if open {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the edges of the processes that are due.
    fn follow_due(
        &mut self,
        turn: Turn,
        key: L::Key,
        is_mover: impl Fn(ProcessId) -> bool,
    ) -> Result<(), End> {
        for at in 0..self.outgoing.list.len() {
            let process = self.outgoing.list[at].process;
            let has_run = |process| self.visited.has_mover(key, process);
            if turn.due(process, &is_mover, has_run) == Due::Now {
                self.follow(at, None)?;
            }
        }
        Ok(())
    }

    /// Takes one edge; says whether some visit to where it leads is yet to be expanded.
    fn follow(&mut self, at: usize, label: Option<Mover>) -> Result<bool, End> {
        let edge = self.outgoing.list[at];
        let Some(arrival) = edge.arrival() else {
            if let Some((fault, path)) = self.outgoing.fault(edge) {
                self.report(&path, Some(fault))?;
            }
            return Ok(false);
        };
        self.transitions += 1;
        let (visit, before) = self.at;
        let mover = label.unwrap_or_else(|| Mover::new(edge.mover().or(before.process()), false));
        let arrival = self.expander.arrivals[arrival];
        let bytes = std::mem::take(&mut self.expander.successors.data);
        let result = self.arrive(&bytes[arrival.start..arrival.end], visit, mover);
        self.expander.successors.data = bytes;
        result
    }

    /// Notes an arrival; says whether some visit to the state is yet to be expanded.
    fn arrive(&mut self, state: &[u8], parent: u32, mover: Mover) -> Result<bool, End> {
        let (key, visit) = self.visited.visit(state, self.bucket, mover.process())?;
        match visit {
            Visit::Covered => return Ok(!self.visited.is_expanded(key)),
            Visit::First => self.states += 1,
            Visit::Again => self.revisits += 1,
        }
        let (me, threads) = self.among.map_or((0, 1), |among| (among.me, among.threads));
        let number = self.log.len() as u64 * u64::from(threads) + u64::from(me);
        let number = u32::try_from(number).ok().filter(|number| *number != NO_PARENT);
        let Some(number) = number else { return Err(End::Limit(Stop::Memory)) };
        self.log.push(Entry { hash: self.visited.hash(state), parent, mover });
        self.found.push(number, mover, state);
        Ok(true)
    }

    fn check_end(&mut self) -> Result<(), End> {
        let counters = &self.outgoing.counters;
        if counters.reports_deadlocks() && !self.system.is_valid_end(&self.state) {
            self.report(&[], None)?;
        }
        Ok(())
    }

    /// Takes note of a fault, or an invalid end, behind the present visit.
    fn report(&mut self, path: &[Step], fault: Option<u32>) -> Result<(), End> {
        let visit = Some(self.at.0).filter(|visit| *visit != NO_PARENT);
        if let Some(among) = self.among {
            let (bucket, path) = (self.bucket, path.to_vec());
            self.met.get_or_insert(Met { bucket, visit, path, fault });
            self.outgoing.counters.errors += 1;
            let errors = 1 + among.errors.fetch_add(1, Ordering::SeqCst);
            let is_enough = self.max_errors != 0 && errors >= self.max_errors;
            return if is_enough { Err(End::Enough) } else { Ok(()) };
        }
        let steps = match (&self.outgoing.counters.first, visit) {
            (None, Some(visit)) => self.steps_to(visit),
            _ => Some(Vec::new()),
        };
        let Some(mut steps) = steps else {
            self.lost = true;
            return Ok(());
        };
        steps.extend_from_slice(path);
        let system = self.system;
        self.outgoing.counters.error(|| counterexample(system, steps, fault));
        if self.outgoing.counters.is_enough() { Err(End::Enough) } else { Ok(()) }
    }

    fn steps_to(&self, visit: u32) -> Option<Vec<Step>> {
        let entry = |number: u32| self.log[number as usize];
        steps_to(self.system, visit, entry, |state| self.visited.hash(state))
    }

    fn finish(
        self,
        rows: Vec<BoundRow>,
        bound: Option<u32>,
        end: Option<End>,
        budget: &Budget,
    ) -> Finding {
        let lost = self.lost;
        let conclusion = Conclusion {
            states: self.states,
            transitions: self.transitions,
            revisits: self.revisits,
            depth: 0,
            memory: self.visited.bytes() + self.own_bytes(),
            rows,
            bound,
            end,
            counters: self.outgoing.counters,
        };
        let mut finding = conclusion.finding(self.system, budget);
        // What a lossy store kept out may be reached.
        finding.unreached.clear();
        if lost {
            finding.notes.push(LOST.into());
        }
        finding
    }
}

/// The steps of the execution behind a visit, if they can be found again.
pub(super) fn steps_to<S: System + ?Sized>(
    system: &S,
    visit: u32,
    entry: impl Fn(u32) -> Entry,
    hash: impl Fn(&[u8]) -> u64,
) -> Option<Vec<Step>> {
    let mut entries = vec![entry(visit)];
    while let Some(&Entry { parent, .. }) = entries.last().filter(|e| e.parent != NO_PARENT) {
        entries.push(entry(parent));
    }
    entries.reverse();
    let movers: Vec<Mover> = entries.iter().map(|entry| entry.mover).collect();
    retrace(system, &movers, |at, state| hash(state) == entries[at].hash)
}

/// A violation at the end of these steps: a fault, or else an invalid end.
pub(super) fn counterexample<S: System + ?Sized>(
    system: &S,
    steps: Vec<Step>,
    fault: Option<u32>,
) -> Counterexample {
    match fault {
        Some(fault) => Counterexample::from_fault(system, steps, fault),
        None => Counterexample::invalid_end(steps),
    }
}
