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
use super::visit_log::{Entry, LATE, MERGED, NO_PARENT, NOBODY, UNKNOWN_PROCESS};
use crate::search::bounded::least_preemptions::{LARGEST_BOUND, LeastPreemptions};
use crate::search::shared::end::End;
use crate::search::shared::expansion::Expander;
use crate::store::{Pending, StateId, Store};
use crate::{Budget, Finding, Options, Preemptions, Progress};
use preempt_core::{BoundRow, Enabled, Outcome, ProcessId, Step, System};

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
    let extra = options.preemptions.extra();
    let last = options.preemptions.limit().unwrap_or(LARGEST_BOUND).min(LARGEST_BOUND);
    let mut search = Bucketed {
        system,
        store,
        reduce,
        observed: options.observed,
        last,
        goes_to_last: matches!(options.preemptions, Preemptions::AtMost(_)),
        least: LeastPreemptions::default(),
        log: Vec::new(),
        bucket: 0,
        outgoing: Outgoing::new(system, options),
        states: 0,
        transitions: 1,
        revisits: 0,
        expander: Expander::new(),
        state: Vec::new(),
        enabled: Enabled::new(),
        selected: Vec::new(),
        looked_at: 0,
        next: Next::default(),
        tasks: Vec::new(),
        pending: Vec::new(),
    };
    let mut rows = Vec::new();
    let mut bound = None;
    let stop = search.run(extra, &mut rows, &mut bound, budget).err();
    search.finish(rows, bound, stop, budget)
}

/// How many successors are stored together, so that their cache misses overlap.
const BATCH: usize = 160;

struct Bucketed<'a, S: ?Sized, T> {
    system: &'a S,
    store: &'a mut T,
    reduce: bool,
    /// Steps that a property can see must not be reordered.
    observed: bool,
    last: u32,
    /// Whether the last bound is what was asked for, not the bounds one by one.
    goes_to_last: bool,
    least: LeastPreemptions,
    /// Every visit, in the order of its bucket; at the same time the queue of the present bucket.
    log: Vec<Entry>,
    /// The count of the present bucket.
    bucket: u32,
    outgoing: Outgoing<'a, S>,
    /// Distinct states visited.
    states: u64,
    transitions: u64,
    revisits: u64,
    expander: Expander,
    state: Vec<u8>,
    enabled: Enabled,
    selected: Vec<Step>,
    /// How many visits the batch has.
    looked_at: usize,
    next: Next,
    tasks: Vec<Task>,
    pending: Vec<Pending>,
}

/// Whose turn it is at a visit.
#[derive(Clone, Copy)]
struct Turn {
    /// The last mover of the visit.
    mover: Option<ProcessId>,
    /// The last movers of visits that are merged into it, as in a record.
    merged: u64,
    who: Who,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    /// The last movers go on; others have to wait.
    Movers(Others),
    /// One of the last movers cannot, so that everybody may.
    Everybody,
    /// One preemption later: the others.
    Others,
}

/// What is known of the processes that have to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// None has a step.
    Rest,
    /// Some has one.
    Move,
    /// Not looked at. The mover has a step that does not wait for them, so none of theirs does.
    Unknown,
}

impl Turn {
    #[inline(always)]
    fn is_mover(self, process: ProcessId) -> bool {
        Some(process) == self.mover || process.0 < 64 && self.merged >> process.0 & 1 != 0
    }
}

/// What was found out for the next bucket.
#[derive(Default)]
struct Next {
    /// Visits after which others have to wait.
    kept: Vec<Kept>,
    /// Where the steps were taken of those who have to wait: how many states these are,
    ahead: u64,
    /// the visits that these steps lead to,
    visits: Vec<Entry>,
    /// their number,
    transitions: u64,
    /// and the faults they make: a visit, the process that goes on from it, and the fault.
    faults: Vec<(u32, ProcessId, u32)>,
}

/// A visit after which others have to wait.
#[derive(Clone, Copy)]
struct Kept {
    visit: u32,
    others: Others,
}

/// A visit to be dealt with, and what was found out about its state.
#[derive(Clone, Copy)]
struct Task {
    visit: u32,
    /// Where the edges out of the state that were found begin and end.
    outgoing: (u32, u32),
    turn: Turn,
    invalid_end: bool,
}

impl<S: System + ?Sized, T: Store> Bucketed<'_, S, T> {
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

    fn start(&mut self) -> Result<(), End> {
        let mut initial = Vec::new();
        let outcome = self.system.initial(&mut initial);
        if let Outcome::Violated(fault) | Outcome::Broken(fault) = outcome {
            self.fault(fault, None, &[])?;
        }
        if let Outcome::Broken(_) = outcome {
            return Ok(());
        }
        let state = self.store.insert(&initial)?.id;
        let entry =
            Entry { state, parent: NO_PARENT, mover: NOBODY, by: UNKNOWN_PROCESS, flags: 0 };
        self.arrive(entry, When::Now)?;
        Ok(())
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
            while cursor < self.log.len() {
                if let Some(stop) = budget.check_every(16, || self.progress(cursor)) {
                    return Err(End::Limit(stop));
                }
                cursor = self.run_batch(cursor)?;
            }
            waiting = std::mem::take(&mut self.next.kept);
            // Later visits at the same count may have run all that waited here.
            waiting.retain(|kept| !self.least.get(self.log[kept.visit as usize].state).is_free());
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

    /// Begins the next bucket with what was put off in this one and did not come about since.
    fn begin_next(&mut self) -> Result<(), End> {
        let mut next = std::mem::take(&mut self.next);
        self.bucket += 1;
        self.transitions += next.transitions;
        for &entry in &next.visits {
            if self.least.get(entry.state).low() == self.bucket {
                self.enter(entry)?;
            }
        }
        // Its memory is used again.
        next.visits.clear();
        self.next.visits = next.visits;
        for (visit, process, fault) in next.faults {
            let state = self.log[visit as usize].state;
            if !self.least.get(state).is_free() && !self.least.has_mover(state, process) {
                let path = self.path_to(visit, process, fault)?;
                self.fault(fault, Some(visit), &path)?;
            }
        }
        Ok(())
    }

    /// The steps of a process from a visit to a fault, if anybody will ask for them.
    fn path_to(&mut self, visit: u32, process: ProcessId, fault: u32) -> Result<Vec<Step>, End> {
        if self.outgoing.counters.first.is_some() {
            return Ok(Vec::new());
        }
        self.begin_batch();
        self.store.load(self.log[visit as usize].state, &mut self.state);
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
            transitions: self.transitions + self.next.transitions,
            queue: (self.log.len() - cursor + self.next.visits.len()) as u64,
            memory: self.bytes(),
            ..Progress::default()
        }
    }

    fn bytes(&self) -> usize {
        self.store.bytes()
            + self.least.bytes()
            + self.expander.bytes()
            + (self.log.len() + self.next.visits.len() + self.next.faults.len())
                * size_of::<Entry>()
    }

    /// Deals with visits from `cursor` on until a batch is full; says where to go on.
    fn run_batch(&mut self, cursor: usize) -> Result<usize, End> {
        self.begin_batch();
        let mut next = cursor;
        while next < self.log.len() && self.waiting() < BATCH {
            self.look_at(next as u32)?;
            next += 1;
        }
        // What the next batch will look at is fetched while this one is stored.
        let expected = (self.looked_at + 4).clamp(16, BATCH);
        for entry in self.log[next..].iter().take(expected).filter(|entry| !entry.is(MERGED)) {
            self.fetch(*entry);
        }
        self.store_batch()?;
        self.act()?;
        Ok(next)
    }

    /// Runs, at one preemption more, those who had to wait, until a batch is full; says how many of the
    /// visits are done.
    fn run_kept(&mut self, visits: &[Kept]) -> Result<usize, End> {
        self.begin_batch();
        let mut done = 0;
        while done < visits.len() && self.waiting() < BATCH {
            self.look_at_others(visits[done])?;
            done += 1;
        }
        let expected = (self.looked_at + 4).clamp(16, BATCH);
        for kept in visits[done..].iter().take(expected) {
            self.fetch(self.log[kept.visit as usize]);
        }
        self.store_batch()?;
        self.act()?;
        Ok(done)
    }

    /// Has what is needed to look at a visit fetched.
    #[inline(always)]
    fn fetch(&self, entry: Entry) {
        self.least.prefetch(entry.state);
        self.store.prefetch_id(entry.state);
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
        // Bytes that were just written one by one are slow to read in words: hash them later.
        if !self.store.hashes_near() {
            self.store.hash_successors(StateId::UNKNOWN, bytes, waiting)?;
        } else if self.reduce {
            for pending in waiting.iter_mut() {
                pending.hash = self.store.hash(&bytes[pending.start..pending.end]);
                self.store.prefetch(pending.hash);
            }
        }
        self.store.insert_batch(bytes, waiting)?;
        for pending in waiting.iter() {
            self.least.prefetch(pending.inserted.id);
        }
        Ok(())
    }

    /// The longest execution in the log, counted in visits. Afterwards entries have depths instead of
    /// parents, for which parents come first.
    fn depth(&mut self) -> u64 {
        let mut longest = 0;
        for at in 0..self.log.len() {
            let depth = match self.log[at].parent {
                NO_PARENT => 0,
                parent => self.log[parent as usize].parent + 1,
            };
            self.log[at].parent = depth;
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
        let (memory, depth) = (self.bytes(), self.depth());
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

/// When a process goes on from a visit, if it does; `rest` says when those do who did not move last.
#[inline(always)]
fn when(
    least: &LeastPreemptions,
    entry: Entry,
    turn: Turn,
    rest: Option<When>,
    process: ProcessId,
) -> Option<When> {
    if process == ProcessId::PROPERTY {
        let moves = match turn.who {
            Who::Movers(_) => true,
            Who::Everybody => rest.is_some(),
            Who::Others => false,
        };
        return moves.then_some(When::Now);
    }
    if turn.is_mover(process) {
        return Some(if entry.is(LATE) { When::Sooner } else { When::Now });
    }
    // The processes that moved last in other visits have their own.
    rest.filter(|_| !least.has_mover(entry.state, process))
}
