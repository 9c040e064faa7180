//! One bucket of visits after the other: what a thread does of [MQ07] Algorithm 1, whose loop is in `phases.rs`.
//!
//! Paper: [MQ07] Algorithm 1, the procedure Search
//!
//! A state is looked at once: at its first visit for all processes that had moved last in some visit to it until
//! then. Their steps are taken, or those of all processes if one of them cannot go on; the others have to wait. Where
//! a visit by another last mover arrives afterwards, that process is looked at on its own. If a bound is given,
//! the steps of those that have to wait are found at the same time, as visits of the next bucket; where bounds
//! are tried one by one, only when their turn comes, since it is not known whether it will.
//!
//! What is remembered of states and visits is behind [`VisitedSet`]: states in full or not, one thread or several.
//!
//! Invariants: the present bucket holds visits whose least count is the bucket's, the next one visits with
//! one more, unless their states are reached with less in the meantime; see `least_preemptions.rs` for what a visit
//! promises.

mod arrive;
mod look;
mod transparent;

use super::conclusion::Conclusion;
use super::outgoing::{Outgoing, When};
use super::phases::{Phases, last_bound};
use super::trace_log::TraceLog;
use super::visit_log::{
    Entry, MERGED, MOVER_WAS_DEFERRED, NO_PARENT, NOBODY, UNKNOWN_PROCESS, packed,
};
use super::visit_memory::VisitMemory;
use super::visited_set::{Key, VisitedSet};
use crate::search::bounded::least_preemptions::StateRecord;
use crate::search::shared::expansion::Expander;
use crate::search::shared::halt::Halt;
use crate::search::shared::visit_rule::{Due, Turn, turn};
use crate::store::{Pending, StoreFull};
use crate::{Counterexample, Options, Preemptions};
use preempt_core::{BoundRow, Enabled, Outcome, ProcessId, Step, System};
use std::ops::Range;

/// The conclusion of a search by these workers, `None` if there is none.
pub(super) fn conclude<S: System + ?Sized, V: VisitedSet>(
    workers: Vec<Bucketed<'_, S, V>>,
    found: Option<Counterexample>,
    Phases { rows, bound, end }: Phases,
    memory: usize,
    options: &Options,
) -> Option<Conclusion> {
    let BoundRow { states, transitions, .. } = row(workers.iter());
    let revisits = workers.iter().map(|worker| worker.revisits).sum();
    let counters = workers.into_iter().map(|worker| worker.outgoing.counters);
    let mut counters = counters.reduce(|mut all, one| {
        all.absorb(one);
        all
    })?;
    counters.first = found;
    if options.max_errors != 0 {
        counters.errors = counters.errors.min(options.max_errors);
    }
    Some(Conclusion { counters, states, transitions, revisits, depth: 0, memory, rows, bound, end })
}

/// What all workers have counted when a phase ends.
pub(super) fn row<'w, 'a: 'w, S: ?Sized + 'a, V: VisitedSet + 'w>(
    workers: impl Iterator<Item = &'w Bucketed<'a, S, V>>,
) -> BoundRow {
    let mut row = BoundRow { stale: None, bound: 0, states: 0, transitions: 0, errors: 0 };
    for worker in workers {
        // A thread that ended the search may have been the first to begin the bucket.
        row.bound = row.bound.max(worker.bucket);
        row.states += worker.states;
        row.transitions = row.transitions.wrapping_add(worker.transitions);
        row.errors += worker.outgoing.counters.errors;
    }
    row
}

/// Of the violations that workers have met first, one with the fewest preemptions.
pub(super) fn take_first<S: ?Sized, V: VisitedSet>(
    workers: &mut [Bucketed<'_, S, V>],
) -> Option<FoundViolation> {
    let met = workers.iter_mut().filter_map(|worker| worker.first.take());
    met.min_by_key(|met| met.bucket)
}

/// How many visits ahead of the one that a bucket begins with records are fetched.
const AHEAD: usize = 16;

/// A search bucket by bucket, or what one of several threads does of it.
pub(super) struct Bucketed<'a, S: ?Sized, V: VisitedSet> {
    system: &'a S,
    pub(super) visited: V,
    reduce: bool,
    /// Steps that a property can see must not be reordered.
    observed: bool,
    last: u32,
    /// Whether the last bound is what was asked for, not the bounds one by one.
    goes_to_last: bool,
    max_errors: u64,
    /// The count of the present bucket.
    pub(super) bucket: u32,
    pub(super) outgoing: Outgoing<'a, S>,
    /// Distinct states visited.
    pub(super) states: u64,
    pub(super) transitions: u64,
    pub(super) revisits: u64,
    /// The first violation.
    pub(super) first: Option<FoundViolation>,
    expander: Expander,
    state: Vec<u8>,
    enabled: Enabled,
    selected: Vec<Step>,
    /// How many visits the batch has.
    looked_at: usize,
    pub(super) next: Next<Key<V>>,
    tasks: Vec<Task>,
    pending: Vec<Pending>,
}

/// A violation.
pub(super) struct FoundViolation {
    /// The count of the bucket it was met in.
    pub(super) bucket: u32,
    /// The number of the visit before it, if any.
    visit: Option<u32>,
    /// The steps from there.
    path: Vec<Step>,
    /// The fault, or else an invalid end.
    fault: Option<u32>,
}

impl FoundViolation {
    /// The whole execution, unless a lossy store has confused states on the way.
    pub(super) fn retrace<S: System + ?Sized>(
        self,
        system: &S,
        log: &mut impl TraceLog,
    ) -> Option<Counterexample> {
        let by = packed(self.path.first().map(|step| step.process));
        let mut steps = match self.visit {
            Some(visit) => log.steps_to(system, visit, by)?,
            None => Vec::new(),
        };
        steps.extend(self.path);
        Some(Counterexample::from_end(system, steps, self.fault))
    }
}

/// The visit whose state is looked at.
#[derive(Clone, Copy)]
struct CurrentVisit {
    mover: Option<ProcessId>,
    /// The last movers of visits that are merged into it, as in a record.
    merged: u64,
    movers: Movers,
}

/// What was found out about the last movers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Movers {
    /// All of them can go on, so that others have to wait.
    CanMove(Others),
    /// One of them cannot, or there is none.
    Stuck,
    /// They went on before; this is one preemption later.
    WentOn,
}

/// What is known of the processes that have to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// None has a step.
    Blocked,
    /// Some has one.
    CanMove,
    /// Not looked at. The mover has a step that does not wait for them, so none of theirs does.
    Unknown,
}

impl CurrentVisit {
    #[inline(always)]
    fn is_mover(self, process: ProcessId) -> bool {
        Some(process) == self.mover || process.0 < 64 && self.merged >> process.0 & 1 != 0
    }

    /// The turn of this visit at a state with this record. A visit without a last mover has marked the record itself.
    #[inline(always)]
    fn turn(self, record: StateRecord) -> Turn {
        match self.movers {
            Movers::CanMove(_) => turn(true, record.all_run()),
            Movers::Stuck => turn(false, record.all_run() && self.mover.is_some()),
            Movers::WentOn => Turn::Waited,
        }
    }
}

/// What was found out for the next bucket.
pub(super) struct Next<K> {
    /// Visits after which others have to wait.
    pub(super) deferred: Vec<DeferredVisit>,
    /// At how many states the steps of processes that have to wait were taken already. Of several threads one may put
    /// off what another takes back.
    pub(super) ahead: i64,
    /// The visits that these steps lead to.
    pub(super) visits: Vec<Entry<K>>,
    /// The number of these steps.
    pub(super) transitions: i64,
    /// The faults they make: a visit, the process that goes on from it, and the fault.
    faults: Vec<(u32, ProcessId, u32)>,
}

impl<K> Default for Next<K> {
    fn default() -> Self {
        let (deferred, visits, faults) = (Vec::new(), Vec::new(), Vec::new());
        Next { deferred, ahead: 0, visits, transitions: 0, faults }
    }
}

/// A visit after which others have to wait.
#[derive(Clone, Copy)]
pub(super) struct DeferredVisit {
    pub(super) visit: u32,
    pub(super) others: Others,
}

/// A visit to be dealt with, and what was found out about its state.
#[derive(Clone, Copy)]
struct Task {
    visit: u32,
    /// Where the edges out of the state that were found begin and end.
    outgoing: (u32, u32),
    current: CurrentVisit,
    invalid_end: bool,
}

impl<'a, S: System + ?Sized, V: VisitedSet> Bucketed<'a, S, V> {
    pub(super) fn new(system: &'a S, visited: V, options: &Options, reduce: bool) -> Self {
        Bucketed {
            system,
            visited,
            reduce,
            observed: options.observed,
            last: last_bound(options),
            goes_to_last: matches!(options.preemptions, Preemptions::AtMost(_)),
            max_errors: options.max_errors,
            bucket: 0,
            outgoing: Outgoing::new(system, options),
            states: 0,
            transitions: 0,
            revisits: 0,
            first: None,
            expander: Expander::default(),
            state: Vec::new(),
            enabled: Enabled::new(),
            selected: Vec::new(),
            looked_at: 0,
            next: Next::default(),
            tasks: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Stores and visits the initial state.
    pub(super) fn start(&mut self) -> Result<(), Halt> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        self.transitions = 1;
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.fault(fault, None, &[])?;
        }
        if let Outcome::Broken(_) = outcome {
            return Ok(());
        }
        let mut batch = [Pending::new(0, 0, initial.len())];
        insert(self.visited.memory_mut(), &initial, &mut batch, false)?;
        let state = V::Memory::key(&batch[0]);
        let entry =
            Entry { state, parent: NO_PARENT, mover: NOBODY, by: UNKNOWN_PROCESS, flags: 0 };
        self.visited.memory_mut().visit(state, self.bucket, None);
        self.enter(entry, || &initial)
    }

    /// The visits of the finished bucket after which processes still wait.
    pub(super) fn take_deferred(&mut self) -> Vec<DeferredVisit> {
        let mut deferred = std::mem::take(&mut self.next.deferred);
        // Later visits at the same count may have run all that waited here.
        let visited = &self.visited;
        deferred.retain(|one| !visited.memory().record(visited.entry(one.visit).state).all_run());
        deferred
    }

    /// Begins the next bucket with what was put off in this one and did not come about since.
    pub(super) fn begin_next(&mut self) -> Result<(), Halt> {
        let mut next = std::mem::take(&mut self.next);
        self.bucket += 1;
        self.transitions = self.transitions.wrapping_add_signed(next.transitions);
        for (at, &entry) in next.visits.iter().enumerate() {
            if let Some(later) = next.visits.get(at + AHEAD) {
                self.visited.memory().prefetch_record(later.state);
            }
            if self.visited.memory().record(entry.state).low() == self.bucket {
                self.enter(entry, || &[])?;
            }
        }
        // Its memory is used again.
        next.visits.clear();
        self.next.visits = next.visits;
        for (visit, process, fault) in next.faults {
            let state = self.visited.entry(visit).state;
            let record = self.visited.memory().record(state);
            if !record.all_run() && !self.visited.memory().has_mover(state, record, process) {
                let path = self.path_to(visit, process, fault)?;
                self.fault(fault, Some(visit), &path)?;
            }
        }
        Ok(())
    }

    /// The steps of a process from a visit to a fault; none if a violation was met before, since only the first is shown.
    fn path_to(&mut self, visit: u32, process: ProcessId, fault: u32) -> Result<Vec<Step>, Halt> {
        if self.first.is_some() {
            return Ok(Vec::new());
        }
        self.begin_batch();
        let state = self.visited.entry(visit).state;
        self.visited.load(visit, state, &mut self.state);
        self.outgoing.begin(visit);
        self.expander.expand(self.system, &mut self.state, &mut self.outgoing)?;
        let outgoing = self.outgoing.list.iter().filter(|edge| edge.process == process);
        let mut faults = outgoing.filter_map(|edge| self.outgoing.fault(*edge));
        Ok(faults.find(|(found, _)| *found == fault).map_or(Vec::new(), |(_, path)| path))
    }

    /// Whether the steps of processes that have to wait are taken at once, as visits of the next bucket, while
    /// their state is at hand: only where that bucket is certain to be searched. Elsewhere what can be found
    /// with less comes first.
    #[inline(always)]
    fn looks_ahead(&self) -> bool {
        V::Memory::IS_EXACT && self.goes_to_last && self.bucket < self.last
    }

    /// Memory in use beside the visited set.
    pub(super) fn own_bytes(&self) -> usize {
        self.expander.bytes()
            + (self.next.visits.len() + self.next.faults.len()) * size_of::<Entry<Key<V>>>()
    }

    /// Deals with visits of a range until a batch is full; says where to go on.
    pub(super) fn run_batch(&mut self, range: Range<u32>) -> Result<u32, Halt> {
        self.begin_batch();
        let mut next = range.start;
        while next < range.end && self.waiting() < V::BATCH {
            self.look_at(next)?;
            next += 1;
        }
        // What the next batch will look at is fetched while this one is stored.
        self.fetch(next..range.end);
        self.store_batch()?;
        self.act()?;
        Ok(next)
    }

    /// Asks the processor to fetch the states of as many of these visits as a batch will look at, if it is like the last one.
    pub(super) fn fetch(&self, visits: Range<u32>) {
        let expected = (self.looked_at + 4).clamp(16, V::BATCH) as u32;
        for visit in visits.start..visits.start.saturating_add(expected).min(visits.end) {
            let entry = self.visited.entry(visit);
            if !entry.is(MERGED) {
                self.visited.memory().prefetch(entry.state);
            }
        }
    }

    /// Runs, at one preemption more, the processes that had to wait, until a batch is full; says how many of the
    /// visits are done.
    pub(super) fn run_deferred(&mut self, visits: &[DeferredVisit]) -> Result<usize, Halt> {
        self.begin_batch();
        let mut done = 0;
        while done < visits.len() && self.waiting() < V::BATCH {
            self.look_at_others(visits[done])?;
            done += 1;
        }
        let expected = (self.looked_at + 4).clamp(16, V::BATCH);
        for deferred in visits[done..].iter().take(expected) {
            self.visited.memory().prefetch(self.visited.entry(deferred.visit).state);
        }
        self.store_batch()?;
        self.act()?;
        Ok(done)
    }

    /// Forgets the batch before.
    fn begin_batch(&mut self) {
        self.expander.clear();
        self.outgoing.clear();
        self.pending.clear();
        self.tasks.clear();
        self.looked_at = 0;
    }

    /// How much the batch holds: states that wait to be stored, or visits that lead nowhere.
    fn waiting(&self) -> usize {
        let states = if self.reduce { self.pending.len() } else { self.expander.arrivals.len() };
        states.max(self.looked_at)
    }

    fn store_batch(&mut self) -> Result<(), Halt> {
        let bytes = &self.expander.successors.data;
        let waiting = if self.reduce { &mut self.pending } else { &mut self.expander.arrivals };
        insert(self.visited.memory_mut(), bytes, waiting, !self.reduce)?;
        for pending in waiting.iter() {
            self.visited.memory().prefetch_record(V::Memory::key(pending));
        }
        Ok(())
    }
}

/// Stores states, which are hashed first, unless that was done one parent at a time.
#[inline(always)]
fn insert<M: VisitMemory>(
    memory: &mut M,
    bytes: &[u8],
    batch: &mut [Pending],
    is_hashed: bool,
) -> Result<(), StoreFull> {
    memory.hash(bytes, batch, is_hashed)?;
    memory.insert(bytes, batch)
}

/// When a process goes on from a visit, if it does; `rest` says when those do that did not move last, and `record` is what
/// the visit has [claimed](VisitMemory::claim).
#[inline(always)]
fn when<M: VisitMemory>(
    memory: &M,
    (entry, record): (Entry<M::Key>, StateRecord),
    visit: CurrentVisit,
    rest: Option<When>,
    process: ProcessId,
) -> Option<When> {
    let has_run = |process| memory.has_mover(entry.state, record, process);
    match visit.turn(record).due(process, |one| visit.is_mover(one), has_run) {
        Due::Never => None,
        Due::Now if process == ProcessId::PROPERTY => Some(When::Now),
        Due::Now if visit.is_mover(process) => {
            Some(if entry.is(MOVER_WAS_DEFERRED) { When::PulledForward } else { When::Now })
        }
        Due::Now | Due::Later => rest,
    }
}
