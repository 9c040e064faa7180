//! Bucket by bucket over a store that does not keep the states.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! The code is that of `buckets.rs`. What waits carries its bytes with it (`frontier.rs`), and a state whose other processes
//! have to wait is expanded again when their turn comes. Visits are judged by a [`LossyVisited`], which may
//! take a state for another: a violation found is one, but none found proves nothing.
//!
//! A violation counts, even if its execution cannot be found again because the store has confused states on the way; then the
//! report says so.

use super::buckets::{Bucketed, conclude, take_first};
use super::conclusion::nothing_searched;
use super::frontier::{Frontier, KeptStates};
use super::lossy_visited::LossyVisited;
use super::one_thread::OneThread;
use super::phases::{Phases, iterate};
use super::trace_log::TraceLog;
use super::visit_log::{Entry, MERGED, NO_PARENT};
use super::visited_set::{LocalLog, VisitedSet};
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::search::bounded::least_preemptions::{StateRecord, Visit};
use crate::search::shared::halt::Halt;
use crate::search::shared::trace::LOST;
use crate::store::memory::pages;
use crate::store::{Pending, StoreFull};
use crate::{Budget, Finding, Options};
use preempt_core::{ProcessId, Stop, System};

/// Explores bucket by bucket, as far as `options.preemptions` says.
pub(crate) fn iterative_lossy<S: System + ?Sized, L: LossyVisited>(
    system: &S,
    visited: L,
    options: &Options,
    reduce: bool,
    budget: &mut Budget,
) -> Finding {
    let errors = AtomicU64::new(0);
    let visits = LossyVisits::new(visited, WorkerId { me: 0, threads: 1 }, &errors);
    let mut search = OneThread::new(Bucketed::new(system, visits, options, reduce));
    let phases = iterate(&mut search, options, budget);
    let memory = search.bytes();
    finish(system, vec![search.bucketed], phases, memory, options, budget)
}

/// One of several threads.
#[derive(Clone, Copy)]
pub(super) struct WorkerId {
    pub(super) me: u32,
    pub(super) threads: u32,
}

/// The visited set of one thread, or of one of several with a log each.
pub(super) struct LossyVisits<'e, L: LossyVisited> {
    visited: L,
    /// Every visit that was found here.
    log: Vec<Entry<L::Key>>,
    /// The states of those that are yet to be expanded.
    frontier: Frontier,
    /// The states at which processes waited for the present bucket.
    waiting: KeptStates,
    /// The states at which processes wait for the next one.
    kept: KeptStates,
    worker: WorkerId,
    /// Visits from this number on were neither expanded nor taken over as such.
    movable: u32,
    /// The errors of all threads.
    errors: &'e AtomicU64,
}

impl<'e, L: LossyVisited> LossyVisits<'e, L> {
    pub(super) fn new(visited: L, worker: WorkerId, errors: &'e AtomicU64) -> Self {
        LossyVisits {
            visited,
            log: Vec::new(),
            frontier: Frontier::default(),
            waiting: KeptStates::default(),
            kept: KeptStates::default(),
            worker,
            movable: 0,
            errors,
        }
    }

    /// The bytes of a state that are here, since it is yet to be expanded or has processes that wait.
    fn state(&self, visit: u32) -> &[u8] {
        let (waiting, kept) = (|| self.waiting.get(visit), || self.kept.get(visit));
        // A visit that was taken over after it was expanded has no bytes in the frontier.
        let open = self.frontier.get(visit).filter(|state| !state.is_empty());
        open.or_else(waiting).or_else(kept).unwrap_or_default()
    }

    /// A visit and its state.
    pub(super) fn get(&self, visit: u32) -> (Entry<L::Key>, &[u8]) {
        (self.log[visit as usize], self.state(visit))
    }

    /// Gives away the last visits, of those that were not expanded, at most so many.
    pub(super) fn give_last(&mut self, most: u32, mut give: impl FnMut(Entry<L::Key>, &[u8])) {
        let logged = self.log.len() as u32;
        let left = logged.saturating_sub(most).max(self.movable);
        for visit in left..logged {
            give(self.log[visit as usize], self.state(visit));
        }
        self.log.truncate(left as usize);
        self.frontier.truncate(left);
    }

    /// Adds a visit that another thread has found; with `waits` one that was expanded, at which processes have to wait. Gives its
    /// number.
    pub(super) fn take_over(
        &mut self,
        entry: Entry<L::Key>,
        state: &[u8],
        waits: bool,
    ) -> Result<u32, Halt> {
        let visit = self.log.len() as u32;
        if waits {
            self.waiting.push(visit, state);
            let entry = Entry { flags: entry.flags | MERGED, ..entry };
            self.enter(entry, || &[])?;
            self.movable = visit + 1;
        } else {
            self.enter(entry, || state)?;
        }
        Ok(visit)
    }

    /// Memory in use beside what threads may share, in bytes.
    pub(super) fn own_bytes(&self) -> usize {
        self.frontier.bytes()
            + self.waiting.bytes()
            + self.kept.bytes()
            + self.log.len() * size_of::<Entry<L::Key>>()
    }
}

impl<L: LossyVisited> VisitedSet for LossyVisits<'_, L> {
    type Key = L::Key;
    const BATCH: usize = 160;
    const NOTES_AHEAD: bool = false;

    #[inline(always)]
    fn key(pending: &Pending) -> L::Key {
        L::key(pending)
    }

    #[inline(always)]
    fn load(&mut self, visit: u32, _state: L::Key, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(self.state(visit));
    }

    fn keep(&mut self, visit: u32) {
        if let Some(state) = self.frontier.get(visit) {
            self.kept.push(visit, state);
        }
    }

    fn hashes_near(&self) -> bool {
        false
    }

    fn hash_successors(
        &mut self,
        _parent: L::Key,
        _bytes: &[u8],
        _batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        Ok(())
    }

    #[inline(always)]
    fn insert(
        &mut self,
        bytes: &[u8],
        batch: &mut [Pending],
        _is_hashed: bool,
    ) -> Result<(), StoreFull> {
        for pending in &mut *batch {
            pending.hash = self.visited.hash(&bytes[pending.start..pending.end]);
            self.visited.prefetch(pending.hash);
        }
        self.visited.insert(bytes, batch)
    }

    #[inline(always)]
    fn prefetch(&self, state: L::Key) {
        self.visited.prefetch_record(state);
    }

    #[inline(always)]
    fn prefetch_record(&self, state: L::Key) {
        self.visited.prefetch_record(state);
    }

    #[inline(always)]
    fn record(&self, state: L::Key) -> StateRecord {
        self.visited.record(state)
    }

    #[inline(always)]
    fn visit(
        &mut self,
        state: L::Key,
        count: u32,
        mover: Option<ProcessId>,
    ) -> (Visit, StateRecord) {
        self.visited.visit(state, count, mover)
    }

    #[inline(always)]
    fn claim(&mut self, state: L::Key, seen: StateRecord, then: StateRecord) -> bool {
        self.visited.claim(state, seen, then)
    }

    #[inline(always)]
    fn has_mover(&self, state: L::Key, _record: StateRecord, mover: ProcessId) -> bool {
        self.visited.has_mover(state, mover)
    }

    #[inline(always)]
    fn entry(&self, visit: u32) -> Entry<L::Key> {
        self.log[visit as usize]
    }

    #[inline(always)]
    fn number(&self, visit: u32) -> u32 {
        visit * self.worker.threads + self.worker.me
    }

    #[inline(always)]
    fn enter<'s>(
        &mut self,
        entry: Entry<L::Key>,
        bytes: impl FnOnce() -> &'s [u8],
    ) -> Result<(), Halt> {
        if self.log.len() >= (NO_PARENT / self.worker.threads) as usize - 1 {
            return Err(Halt::Stop(Stop::Memory));
        }
        self.frontier.push(if entry.is(MERGED) { &[] } else { bytes() });
        pages::push(&mut self.log, entry);
        Ok(())
    }

    fn count_error(&mut self) -> u64 {
        1 + self.errors.fetch_add(1, Ordering::SeqCst)
    }

    fn bytes(&self) -> usize {
        self.visited.bytes() + self.own_bytes()
    }
}

impl<L: LossyVisited> LocalLog for LossyVisits<'_, L> {
    #[inline(always)]
    fn logged(&self) -> u32 {
        self.log.len() as u32
    }

    fn pass(&mut self, visit: u32) {
        self.movable = self.movable.max(visit);
        self.frontier.pass(visit);
    }

    fn begin_next(&mut self) {
        self.waiting = std::mem::take(&mut self.kept);
    }
}

/// The logs of all threads.
struct Logs<'l, L: LossyVisited> {
    visited: &'l L,
    logs: Vec<&'l [Entry<L::Key>]>,
}

impl<L: LossyVisited> TraceLog for Logs<'_, L> {
    type Key = L::Key;

    fn visit(&self, number: u32) -> Entry<L::Key> {
        let threads = self.logs.len() as u32;
        self.logs[(number % threads) as usize][(number / threads) as usize]
    }

    fn find(&self, state: L::Key, mover: u16) -> Option<u32> {
        let is_it = |entry: &Entry<L::Key>| entry.state == state && entry.mover == mover;
        (0..).zip(&self.logs).find_map(|(thread, log)| {
            let at = log.iter().rposition(is_it)? as u32;
            Some(at * self.logs.len() as u32 + thread)
        })
    }

    fn was_mover(&self, state: L::Key, process: ProcessId) -> bool {
        self.visited.has_mover(state, process)
    }

    fn is_state(&mut self, state: L::Key, bytes: &[u8]) -> bool {
        self.visited.find(bytes) == Some(state)
    }
}

/// What a search by these workers has found.
pub(super) fn finish<S: System + ?Sized, L: LossyVisited>(
    system: &S,
    mut workers: Vec<Bucketed<'_, S, LossyVisits<'_, L>>>,
    phases: Phases,
    memory: usize,
    options: &Options,
    budget: &Budget,
) -> Finding {
    let first = take_first(&mut workers);
    let is_met = first.is_some();
    let found = first.and_then(|first| {
        let logs = workers.iter().map(|worker| &worker.visited.log[..]).collect();
        let visited = &workers.first()?.visited.visited;
        first.retrace(system, &mut Logs { visited, logs })
    });
    let is_lost = is_met && found.is_none();
    let Some(mut conclusion) = conclude(workers, found, phases, memory, options) else {
        return nothing_searched();
    };
    if is_lost {
        conclusion.counters.stop = Some(Stop::LossyStore);
    }
    let mut finding = conclusion.finding(system, budget);
    // What a lossy store kept out may be reached.
    finding.unreached.clear();
    finding.notes.extend(is_lost.then(|| LOST.into()));
    finding
}
