//! Bucket by bucket over a store that does not keep the states.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! As `buckets.rs`, but what waits carries its bytes with it, and a state whose other processes
//! have to wait is expanded again when their turn comes. Visits are judged by a [`LossyVisited`], which may
//! take a state for another: a violation found is one, but none found proves nothing.

use super::conclusion::Conclusion;
use super::lossy_visited::LossyVisited;
use super::outgoing::Outgoing;
use super::retrace::{Mover, retrace};
use crate::search::bounded::least_preemptions::{LARGEST_BOUND, Visit};
use crate::search::shared::end::End;
use crate::search::shared::expansion::Expander;
use crate::search::shared::frontier::Frontier;
use crate::search::shared::trace::LOST;
use crate::{Budget, Counterexample, Finding, Options, Progress};
use preempt_core::{BoundRow, Locality, Outcome, ProcessId, Step, Stop, System};

/// Explores bucket by bucket, as far as `options.preemptions` says.
pub(crate) fn iterative_lossy<S: System + ?Sized, L: LossyVisited>(
    system: &S,
    visited: L,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    let extra = options.preemptions.extra();
    let mut search = Lossy {
        system,
        visited,
        reduce,
        observed: options.observed,
        last: options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND),
        log: Vec::new(),
        queue: Frontier::new(true),
        deferred: Waiting::default(),
        bucket: 0,
        outgoing: Outgoing::new(system, options),
        states: 0,
        transitions: 1,
        revisits: 0,
        expander: Expander::new(),
        state: Vec::new(),
        lost: false,
    };
    let mut rows = Vec::new();
    let mut bound = None;
    let end = search.run(extra, &mut rows, &mut bound, budget).err();
    search.finish(rows, bound, end, budget)
}

/// A visit: where it came from, who moved last, and the hash of its state.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    parent: u32,
    mover: Mover,
}

const NO_PARENT: u32 = u32::MAX;

/// States that wait for the next bucket.
#[derive(Default)]
struct Waiting {
    /// Each visit, and where the bytes of its state end.
    visits: Vec<(u32, usize)>,
    bytes: Vec<u8>,
}

struct Lossy<'a, S: ?Sized, L> {
    system: &'a S,
    visited: L,
    reduce: bool,
    observed: bool,
    last: u32,
    /// Every visit in the order in which they are expanded.
    log: Vec<Entry>,
    /// The states of those that are not expanded yet.
    queue: Frontier,
    deferred: Waiting,
    bucket: u32,
    outgoing: Outgoing<'a, S>,
    states: u64,
    transitions: u64,
    revisits: u64,
    expander: Expander,
    /// The state that is being expanded.
    state: Vec<u8>,
    /// A violation was met, but not the way to it.
    lost: bool,
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

    fn start(&mut self) -> Result<(), End> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome
            && self.outgoing.counters.reports(self.system, fault)
        {
            let system = self.system;
            self.outgoing.counters.error(|| Counterexample::from_fault(system, Vec::new(), fault));
            self.enough()?;
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
        let (mut cursor, mut level_end) = (0, 0);
        loop {
            let waiting = std::mem::take(&mut self.deferred);
            let mut start = 0;
            for &(visit, end) in &waiting.visits {
                self.poll(cursor, budget)?;
                self.state.clear();
                self.state.extend_from_slice(&waiting.bytes[start..end]);
                start = end;
                self.run_deferred(visit)?;
            }
            while cursor < self.log.len() {
                if cursor == level_end {
                    self.queue.advance();
                    level_end = self.log.len();
                }
                self.poll(cursor, budget)?;
                self.queue.pop(&mut self.state);
                self.expand(cursor as u32)?;
                cursor += 1;
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
    fn has_deferred(&self) -> bool {
        let mut start = 0;
        self.deferred.visits.iter().any(|&(_, end)| {
            let state = &self.deferred.bytes[start..end];
            start = end;
            self.visited.key(state).is_some_and(|key| !self.visited.is_free(key))
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

    fn poll(&self, cursor: usize, budget: &mut Budget) -> Result<(), End> {
        let stop = budget.poll(|| Progress {
            states: self.states,
            transitions: self.transitions,
            queue: (self.log.len() - cursor) as u64,
            memory: self.bytes(),
            ..Progress::default()
        });
        stop.map_or(Ok(()), |stop| Err(End::Limit(stop)))
    }

    fn bytes(&self) -> usize {
        self.visited.bytes()
            + self.queue.bytes()
            + self.deferred.bytes.capacity()
            + self.log.capacity() * size_of::<Entry>()
    }

    /// Finds the edges out of `self.state`; gives the number of its steps.
    fn find_ways(&mut self, visit: u32) -> Result<usize, End> {
        self.expander.clear();
        self.outgoing.clear();
        self.outgoing.begin(visit);
        Ok(self.expander.expand(self.system, &mut self.state, &mut self.outgoing)?)
    }

    /// Runs what a visit of the present bucket adds.
    fn expand(&mut self, visit: u32) -> Result<(), End> {
        let steps = self.find_ways(visit)?;
        let Some(key) = self.visited.key(&self.state) else { return Ok(()) };
        let was_free = self.visited.is_free(key);
        if self.visited.set_expanded(key)? && steps == 0 {
            self.check_end(visit)?;
        }
        let last = self.log[visit as usize].mover.process();
        let mover = last.filter(|process| self.outgoing.moves(*process));
        if self.reduce && self.run_transparent(visit, mover)? {
            return Ok(());
        }
        let Some(mover) = mover else {
            if last.is_none() || !was_free {
                self.visited.set_free(key)?;
                self.follow_all(visit, |visited, process| !visited.has_mover(key, process))?;
            }
            return Ok(());
        };
        self.follow_all(visit, |_, process| process == mover)?;
        self.follow_all(visit, |_, process| process == ProcessId::PROPERTY)?;
        if self.outgoing.others_move(mover) && !was_free && self.visited.defer(key)? {
            self.deferred.bytes.extend_from_slice(&self.state);
            self.deferred.visits.push((visit, self.deferred.bytes.len()));
        }
        Ok(())
    }

    /// Runs, at one preemption more, the processes that had to wait.
    fn run_deferred(&mut self, visit: u32) -> Result<(), End> {
        let Some(key) = self.visited.key(&self.state) else { return Ok(()) };
        if !self.visited.set_free(key)? {
            return Ok(());
        }
        self.find_ways(visit)?;
        self.follow_all(visit, |visited, process| {
            process != ProcessId::PROPERTY && !visited.has_mover(key, process)
        })
    }

    /// Takes the steps of one process that touches nothing shared, and no others, if there is one
    /// with a successor that is yet to be expanded.
    fn run_transparent(&mut self, visit: u32, mover: Option<ProcessId>) -> Result<bool, End> {
        let mut at = 0;
        while let Some(first) = self.outgoing.list.get(at) {
            let process = first.process;
            let transparent = self.system.locality(&self.state, process) == Locality::Local
                && !(self.observed && self.system.is_visible(&self.state, process));
            let mut open = false;
            while self.outgoing.list.get(at).is_some_and(|edge| edge.process == process) {
                if transparent {
                    open |= self.follow(visit, at, Some(Mover::new(mover, true)))?;
                }
                at += 1;
            }
            if open {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn follow_all(
        &mut self,
        visit: u32,
        wanted: impl Fn(&L, ProcessId) -> bool,
    ) -> Result<(), End> {
        for at in 0..self.outgoing.list.len() {
            if wanted(&self.visited, self.outgoing.list[at].process) {
                self.follow(visit, at, None)?;
            }
        }
        Ok(())
    }

    /// Takes one edge; says whether some visit to where it leads is yet to be expanded.
    fn follow(&mut self, visit: u32, at: usize, label: Option<Mover>) -> Result<bool, End> {
        let edge = self.outgoing.list[at];
        let Some(arrival) = edge.arrival() else {
            if let Some((fault, path)) = self.outgoing.fault(edge) {
                self.report(visit, &path, Some(fault))?;
            }
            return Ok(false);
        };
        self.transitions += 1;
        let before = self.log[visit as usize].mover.process();
        let mover = label.unwrap_or_else(|| Mover::new(edge.mover().or(before), false));
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
        if self.log.len() >= NO_PARENT as usize {
            return Err(End::Limit(Stop::Memory));
        }
        self.log.push(Entry { hash: self.visited.hash(state), parent, mover });
        self.queue.push(state);
        Ok(true)
    }

    fn check_end(&mut self, visit: u32) -> Result<(), End> {
        let counters = &self.outgoing.counters;
        if counters.reports_deadlocks() && !self.system.is_valid_end(&self.state) {
            self.report(visit, &[], None)?;
        }
        Ok(())
    }

    /// Takes note of a fault, or an invalid end, behind a visit.
    fn report(&mut self, visit: u32, path: &[Step], fault: Option<u32>) -> Result<(), End> {
        let steps = match self.outgoing.counters.first {
            Some(_) => Some(Vec::new()),
            None => self.steps_to(visit),
        };
        let Some(mut steps) = steps else {
            self.lost = true;
            return Ok(());
        };
        steps.extend_from_slice(path);
        let system = self.system;
        self.outgoing.counters.error(|| match fault {
            Some(fault) => Counterexample::from_fault(system, steps, fault),
            None => Counterexample::invalid_end(steps),
        });
        self.enough()
    }

    fn steps_to(&self, visit: u32) -> Option<Vec<Step>> {
        let mut entries = vec![self.log[visit as usize]];
        while let Some(&Entry { parent, .. }) = entries.last().filter(|e| e.parent != NO_PARENT) {
            entries.push(self.log[parent as usize]);
        }
        entries.reverse();
        let movers: Vec<Mover> = entries.iter().map(|entry| entry.mover).collect();
        retrace(self.system, &movers, |at, state| self.visited.hash(state) == entries[at].hash)
    }

    fn enough(&self) -> Result<(), End> {
        if self.outgoing.counters.is_enough() { Err(End::Enough) } else { Ok(()) }
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
            memory: self.bytes(),
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
