//! All executions without a preemption, then those with one, then with two, …
//!
//! Paper: [MQ07] Algorithm 1
//!
//! Differs from the paper: work items are (state, process) pairs and so is the table of what was
//! done; keyed by the state alone, as printed, no thread but the first would ever run. The work
//! queue of the next phase is one bucket of visits that need one more preemption. So nothing is
//! explored twice: every process is run from every state at the least count of preemptions that
//! allows it, and the work of all phases together is that of one plain search. When a bucket stays
//! empty, everything was explored and no bound is left.
//!
//! A state is looked at once: at its first visit for all who had moved last in some visit to it until
//! then. Their steps are taken, or everybody's if one of them cannot go on; the others have to wait. Where
//! somebody arrives as another last mover afterwards, that process is looked at on its own. If a bound is given,
//! the steps of those who have to wait are found at the same time, as visits of the next bucket; where bounds
//! are tried one by one, only when their turn comes, since nobody knows whether it will.
//!
//! Invariants: the present bucket holds visits whose least count is the bucket's, the next one visits with
//! one more, unless their states are reached with less in the meantime; see `least_preemptions.rs` for what a visit
//! promises.

mod arrive;
mod look;
mod transparent;

use super::conclusion::Conclusion;
use super::outgoing::{Outgoing, When};
use super::past::Past;
use super::visit_log::{Entry, LATE, MERGED, NO_PARENT, NOBODY, UNKNOWN_PROCESS, packed};
use super::visited_set::{Private, VisitedSet};
use crate::search::bounded::least_preemptions::{LARGEST_BOUND, StateRecord};
use crate::search::shared::end::End;
use crate::search::shared::expansion::Expander;
use crate::search::shared::visit_rule::{Due, Turn, turn};
use crate::store::{Pending, Store};
use crate::{Budget, Counterexample, Finding, Options, Preemptions, Progress};
use preempt_core::{BoundRow, Enabled, Outcome, ProcessId, Step, System};
use std::ops::Range;

/// Explores bucket by bucket, as far as `options.preemptions` says. `reduce` takes transparent
/// steps alone. The store must give states back.
#[doc(alias = "MQ07 Algorithm 1")]
pub(crate) fn iterative<S: System + ?Sized, T: Store>(
    system: &S,
    store: &mut T,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    let mut search = Bucketed::new(system, Private::new(store), options, reduce);
    let (mut rows, mut bound) = (Vec::new(), None);
    let extra = options.preemptions.extra();
    let end = search.run(extra, &mut rows, &mut bound, budget).err();
    search.finish(rows, bound, end, budget)
}

/// How many visits ahead of the one that a bucket begins with records are fetched.
const AHEAD: usize = 16;

/// The last bucket that may be searched.
pub(crate) fn last_bound(options: &Options) -> u32 {
    options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND)
}

/// A search bucket by bucket, or what one of several threads does of it.
pub(super) struct Bucketed<'a, S: ?Sized, V> {
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
    pub(super) first: Option<Met>,
    expander: Expander,
    state: Vec<u8>,
    enabled: Enabled,
    selected: Vec<Step>,
    /// How many visits the batch has.
    looked_at: usize,
    pub(super) next: Next,
    tasks: Vec<Task>,
    pending: Vec<Pending>,
}

/// A violation.
pub(super) struct Met {
    /// The count of the bucket it was met in.
    pub(super) bucket: u32,
    /// The visit before it, if any.
    visit: Option<u32>,
    /// The steps from there.
    path: Vec<Step>,
    /// The fault, or else an invalid end.
    fault: Option<u32>,
}

impl Met {
    /// The whole execution.
    pub(super) fn retrace<S: System + ?Sized>(
        self,
        system: &S,
        visited: &mut impl Past,
    ) -> Counterexample {
        let by = packed(self.path.first().map(|step| step.process));
        let mut steps = self.visit.map_or(Vec::new(), |at| visited.steps_to(system, at, by));
        steps.extend(self.path);
        match self.fault {
            Some(fault) => Counterexample::from_fault(system, steps, fault),
            None => Counterexample::invalid_end(steps),
        }
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
            Movers::CanMove(_) => turn(true, record.is_free()),
            Movers::Stuck => turn(false, record.is_free() && self.mover.is_some()),
            Movers::WentOn => Turn::Waited,
        }
    }
}

/// What was found out for the next bucket.
#[derive(Default)]
pub(super) struct Next {
    /// Visits after which others have to wait.
    pub(super) kept: Vec<Kept>,
    /// Where the steps were taken of those who have to wait: how many states these are (of several threads one may put
    /// off what another takes back),
    pub(super) ahead: i64,
    /// the visits that these steps lead to,
    pub(super) visits: Vec<Entry>,
    /// their number,
    pub(super) transitions: i64,
    /// and the faults they make: a visit, the process that goes on from it, and the fault.
    faults: Vec<(u32, ProcessId, u32)>,
}

/// A visit after which others have to wait.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    visit: u32,
    others: Others,
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

/// The search by one thread.
impl<S: System + ?Sized, T: Store> Bucketed<'_, S, Private<'_, T>> {
    /// Fills `rows` with finished phases and `bound` with the last bound searched, if more is left.
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

    fn buckets(
        &mut self,
        extra: u32,
        rows: &mut Vec<BoundRow>,
        bound: &mut Option<u32>,
        budget: &mut Budget,
    ) -> Result<(), End> {
        let (mut cursor, mut waiting) = (0, Vec::new());
        loop {
            let mut rest: &[Kept] = &waiting;
            while !rest.is_empty() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                rest = &rest[self.run_kept(rest)?..];
            }
            while cursor < self.visited.log.len() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                cursor = self.run_batch(cursor as u32..self.visited.log.len() as u32)? as usize;
            }
            waiting = self.take_kept();
            let is_done =
                self.next.ahead == 0 && !waiting.iter().any(|kept| self.somebody_waits(*kept));
            let phase_ends = (self.bucket + 1).is_multiple_of(extra + 1);
            if phase_ends || is_done {
                rows.push(self.row());
            }
            if is_done {
                return Ok(());
            }
            if self.bucket >= self.last {
                *bound = Some(self.bucket);
                return Ok(());
            }
            self.begin_next()?;
        }
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

    fn progress(&self, cursor: usize) -> Progress {
        Progress {
            states: self.states,
            transitions: self.transitions.saturating_add_signed(self.next.transitions),
            queue: (self.visited.log.len() - cursor + self.next.visits.len()) as u64,
            memory: self.bytes(),
            ..Progress::default()
        }
    }

    fn bytes(&self) -> usize {
        self.visited.bytes() + self.own_bytes()
    }

    /// The longest execution in the log, counted in visits. Afterwards entries have depths instead of
    /// parents, for which parents come first.
    fn depth(&mut self) -> u64 {
        let log = &mut self.visited.log;
        let mut longest = 0;
        for at in 0..log.len() {
            let depth = match log[at].parent {
                NO_PARENT => 0,
                parent => log[parent as usize].parent + 1,
            };
            log[at].parent = depth;
            longest = longest.max(depth);
        }
        longest.into()
    }

    fn finish(
        mut self,
        rows: Vec<BoundRow>,
        bound: Option<u32>,
        end: Option<End>,
        budget: &Budget,
    ) -> Finding {
        let memory = self.bytes();
        if let Some(met) = self.first.take() {
            self.outgoing.counters.first = Some(met.retrace(self.system, &mut self.visited));
        }
        let depth = self.depth();
        let conclusion = Conclusion {
            counters: self.outgoing.counters,
            states: self.states,
            transitions: self.transitions,
            revisits: self.revisits,
            depth,
            memory,
            rows,
            bound,
            end,
        };
        conclusion.finding(self.system, budget)
    }
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
            expander: Expander::new(),
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
    pub(super) fn start(&mut self) -> Result<(), End> {
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
        self.visited.insert(&initial, &mut batch, false)?;
        let state = batch[0].inserted.id;
        let entry =
            Entry { state, parent: NO_PARENT, mover: NOBODY, by: UNKNOWN_PROCESS, flags: 0 };
        self.arrive(entry, When::Now)?;
        Ok(())
    }

    /// The visits of the finished bucket after which others still wait.
    pub(super) fn take_kept(&mut self) -> Vec<Kept> {
        let mut kept = std::mem::take(&mut self.next.kept);
        // Later visits at the same count may have run all that waited here.
        let visited = &self.visited;
        kept.retain(|kept| !visited.record(visited.entry(kept.visit).state).is_free());
        kept
    }

    /// Begins the next bucket with what was put off in this one and did not come about since.
    pub(super) fn begin_next(&mut self) -> Result<(), End> {
        let mut next = std::mem::take(&mut self.next);
        self.bucket += 1;
        self.transitions = self.transitions.wrapping_add_signed(next.transitions);
        for (at, &entry) in next.visits.iter().enumerate() {
            if let Some(later) = next.visits.get(at + AHEAD) {
                self.visited.prefetch_record(later.state);
            }
            if self.visited.record(entry.state).low() == self.bucket {
                self.enter(entry)?;
            }
        }
        // Its memory is used again.
        next.visits.clear();
        self.next.visits = next.visits;
        for (visit, process, fault) in next.faults {
            let state = self.visited.entry(visit).state;
            let record = self.visited.record(state);
            if !record.is_free() && !self.visited.has_mover(state, record, process) {
                let path = self.path_to(visit, process, fault)?;
                self.fault(fault, Some(visit), &path)?;
            }
        }
        Ok(())
    }

    /// The steps of a process from a visit to a fault, if anybody will ask for them.
    fn path_to(&mut self, visit: u32, process: ProcessId, fault: u32) -> Result<Vec<Step>, End> {
        if self.first.is_some() {
            return Ok(Vec::new());
        }
        self.begin_batch();
        let state = self.visited.entry(visit).state;
        self.visited.load(state, &mut self.state);
        self.outgoing.begin(visit);
        self.expander.expand(self.system, &mut self.state, &mut self.outgoing)?;
        let outgoing = self.outgoing.list.iter().filter(|edge| edge.process == process);
        let mut faults = outgoing.filter_map(|edge| self.outgoing.fault(*edge));
        Ok(faults.find(|(found, _)| *found == fault).map_or(Vec::new(), |(_, path)| path))
    }

    /// Whether the steps of those who have to wait are taken at once, as visits of the next bucket, while
    /// their state is at hand: only where that bucket is certain to be searched. Elsewhere what can be found
    /// with less comes first.
    #[inline(always)]
    fn looks_ahead(&self) -> bool {
        self.goes_to_last && self.bucket < self.last
    }

    /// Memory in use beside the visited set.
    pub(super) fn own_bytes(&self) -> usize {
        self.expander.bytes()
            + (self.next.visits.len() + self.next.faults.len()) * size_of::<Entry>()
    }

    /// Deals with visits of a range until a batch is full; says where to go on.
    pub(super) fn run_batch(&mut self, range: Range<u32>) -> Result<u32, End> {
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
                self.visited.prefetch(entry.state);
            }
        }
    }

    /// Runs, at one preemption more, those who had to wait, until a batch is full; says how many of the
    /// visits are done.
    pub(super) fn run_kept(&mut self, visits: &[Kept]) -> Result<usize, End> {
        self.begin_batch();
        let mut done = 0;
        while done < visits.len() && self.waiting() < V::BATCH {
            self.look_at_others(visits[done])?;
            done += 1;
        }
        let expected = (self.looked_at + 4).clamp(16, V::BATCH);
        for kept in visits[done..].iter().take(expected) {
            self.visited.prefetch(self.visited.entry(kept.visit).state);
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

    fn store_batch(&mut self) -> Result<(), End> {
        let bytes = &self.expander.successors.data;
        let waiting = if self.reduce { &mut self.pending } else { &mut self.expander.arrivals };
        self.visited.insert(bytes, waiting, !self.reduce)?;
        for pending in waiting.iter() {
            self.visited.prefetch_record(pending.inserted.id);
        }
        Ok(())
    }
}

/// When a process goes on from a visit, if it does; `rest` says when those do that did not move last, and `record` is what
/// the visit has [claimed](VisitedSet::claim).
#[inline(always)]
fn when(
    visited: &impl VisitedSet,
    (entry, record): (Entry, StateRecord),
    visit: CurrentVisit,
    rest: Option<When>,
    process: ProcessId,
) -> Option<When> {
    let has_run = |process| visited.has_mover(entry.state, record, process);
    match visit.turn(record).due(process, |one| visit.is_mover(one), has_run) {
        Due::Never => None,
        Due::Now if process == ProcessId::PROPERTY => Some(When::Now),
        Due::Now if visit.is_mover(process) => {
            Some(if entry.is(LATE) { When::Sooner } else { When::Now })
        }
        Due::Now | Due::Later => rest,
    }
}
