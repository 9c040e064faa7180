//! The visited set of a bucketed search that several threads share.
//!
//! A record is a word beside its state; visits and claims replace it by compare-and-swap. Last movers that do not fit into
//! a record are in a table, which a thread takes for itself from a claim until all that follows from it is decided.
//!
//! Invariant: all records change in one order for all threads (`SeqCst`): where a visit is put off because another one is yet to
//! be expanded, that one begins later.

use super::shared_log::{Cursor, SharedLog};
use super::trace_log::TraceLog;
use super::visit_log::Entry;
use super::visit_memory::VisitMemory;
use super::visited_set::VisitedSet;
use crate::platform::sync::Mutex;
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::search::bounded::least_preemptions::{StateRecord, Visit, fits_record};
use crate::search::shared::halt::Halt;
use crate::search::shared::workers::{lock, wait_a_little};
use crate::store::concurrent::{Place, Records};
use crate::store::{Pending, StateId, StoreFull};
use preempt_core::{Contention, ProcessId, Stop};
use std::collections::HashSet;
use std::ops::Range;

/// What all threads share.
pub(super) struct SharedVisited<T> {
    pub(super) store: T,
    pub(super) log: SharedLog,
    /// Last movers that do not fit into a record, with the count they belong to; nothing while a thread has it.
    wide: Mutex<Option<WideMovers>>,
    pub(super) errors: AtomicU64,
}

type WideMovers = HashSet<(StateId, u32, ProcessId)>;

impl<T: Records> SharedVisited<T> {
    pub(super) fn new(store: T, threads: usize) -> Self {
        SharedVisited {
            store,
            log: SharedLog::new(threads),
            wide: Mutex::new(Some(WideMovers::default())),
            errors: AtomicU64::new(0),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.store.bytes() + self.log.bytes()
    }

    /// Does something with the table of last movers, once no other thread has it.
    fn with_wide<R>(&self, mut act: impl FnMut(&mut Option<WideMovers>) -> R) -> R {
        let mut patience = 0_u32;
        loop {
            let mut wide = lock(&self.wide);
            if wide.is_some() {
                return act(&mut wide);
            }
            drop(wide);
            wait_a_little(&mut patience);
        }
    }

    /// What one thread uses it through.
    pub(super) fn handle(&self, thread: usize) -> Handle<'_, T> {
        Handle {
            shared: self,
            local: self.store.local(thread),
            cursor: Cursor::new(thread),
            held: None,
            no_parents: Vec::new(),
            contention: Contention::default(),
        }
    }
}

/// The visited set as one thread sees it.
pub(super) struct Handle<'a, T: Records> {
    shared: &'a SharedVisited<T>,
    local: T::Local,
    cursor: Cursor,
    held: Option<WideMovers>,
    /// The store need not know from where a state was reached: the log does.
    no_parents: Vec<Place>,
    contention: Contention,
}

impl<'a, T: Records> Handle<'a, T> {
    /// Has other threads find what this one has found; `is_wanted` says whether one of them has nothing to do.
    pub(super) fn share(&mut self, is_wanted: bool) {
        self.cursor.share(&self.shared.log, is_wanted, &mut self.contention);
    }

    /// What to expand next.
    pub(super) fn take(&mut self) -> Option<Range<u32>> {
        self.cursor.take(&self.shared.log, &mut self.contention)
    }

    pub(super) fn contention(&self) -> Contention {
        let mut all = self.contention;
        all.add(T::contention(&self.local));
        all
    }

    /// A visit by a process that does not fit into a record.
    #[cold]
    fn visit_wide(&mut self, id: StateId, count: u32, mover: ProcessId) -> (Visit, StateRecord) {
        let shared = self.shared;
        let record = shared.store.record(id.0);
        let visit = |wide: &mut WideMovers| loop {
            let seen = StateRecord::from_word(record.load(Ordering::SeqCst));
            let is_known = || wide.contains(&(id, seen.low(), mover));
            let Some((then, visit)) = seen.visited(count, Some(mover), is_known) else {
                return (Visit::Covered, seen);
            };
            if swap(record, seen, then) {
                wide.insert((id, count, mover));
                return (visit, then);
            }
        };
        match &mut self.held {
            Some(held) => visit(held),
            None => shared.with_wide(|wide| visit(wide.get_or_insert_default())),
        }
    }
}

#[inline(always)]
fn swap(record: &AtomicU64, seen: StateRecord, then: StateRecord) -> bool {
    record.compare_exchange(seen.word(), then.word(), Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

impl<T: Records> VisitMemory for Handle<'_, T> {
    type Key = StateId;
    const IS_EXACT: bool = true;

    #[inline(always)]
    fn key(pending: &Pending) -> StateId {
        pending.inserted.id
    }

    #[inline(always)]
    fn load(&mut self, id: StateId, out: &mut Vec<u8>) {
        self.shared.store.load(&mut self.local, id.0, out);
    }

    fn is_state(&mut self, state: StateId, bytes: &[u8]) -> bool {
        let mut stored = Vec::new();
        VisitMemory::load(self, state, &mut stored);
        stored == bytes
    }

    #[inline(always)]
    fn hashes_near(&self) -> bool {
        self.shared.store.hashes_near()
    }

    #[inline(always)]
    fn hash_successors(
        &mut self,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        self.shared.store.hash_successors(&mut self.local, parent.0, bytes, batch)
    }

    #[inline(always)]
    fn insert(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        if self.no_parents.len() < batch.len() {
            self.no_parents.resize(batch.len(), 0);
        }
        self.shared.store.insert(&mut self.local, bytes, batch, &self.no_parents[..batch.len()])
    }

    #[inline(always)]
    fn prefetch(&self, id: StateId) {
        self.shared.store.prefetch(id.0);
        self.shared.store.prefetch_record(id.0);
    }

    #[inline(always)]
    fn prefetch_record(&self, id: StateId) {
        self.shared.store.prefetch_record(id.0);
    }

    #[inline(always)]
    fn record(&self, id: StateId) -> StateRecord {
        StateRecord::from_word(self.shared.store.record(id.0).load(Ordering::SeqCst))
    }

    #[inline(always)]
    fn visit(&mut self, id: StateId, count: u32, mover: Option<ProcessId>) -> (Visit, StateRecord) {
        if let Some(mover) = mover.filter(|mover| !fits_record(*mover)) {
            return self.visit_wide(id, count, mover);
        }
        let record = self.shared.store.record(id.0);
        loop {
            let seen = StateRecord::from_word(record.load(Ordering::SeqCst));
            let Some((then, visit)) = seen.visited(count, mover, || true) else {
                return (Visit::Covered, seen);
            };
            self.contention.shared_bytes += 8;
            if swap(record, seen, then) {
                return (visit, then);
            }
            self.contention.failed_swaps += 1;
        }
    }

    #[inline(always)]
    fn claim(&mut self, id: StateId, seen: StateRecord, then: StateRecord) -> bool {
        let record = self.shared.store.record(id.0);
        if seen == then {
            return record.load(Ordering::SeqCst) == seen.word();
        }
        self.contention.shared_bytes += 8;
        let swapped = swap(record, seen, then);
        self.contention.failed_swaps += u64::from(!swapped);
        swapped
    }

    #[inline(always)]
    fn has_mover(&self, id: StateId, record: StateRecord, mover: ProcessId) -> bool {
        record.has_mover(mover).unwrap_or_else(|| {
            let key = (id, record.low(), mover);
            match &self.held {
                Some(held) => held.contains(&key),
                None => self
                    .shared
                    .with_wide(|wide| wide.as_ref().is_some_and(|wide| wide.contains(&key))),
            }
        })
    }

    fn hold_wide_movers(&mut self) {
        self.contention.locks += 1;
        self.held = self.shared.with_wide(Option::take);
    }

    fn release_wide_movers(&mut self) {
        if let Some(held) = self.held.take() {
            *lock(&self.shared.wide) = Some(held);
        }
    }

    fn bytes(&self) -> usize {
        self.shared.bytes()
    }
}

impl<T: Records> VisitedSet for Handle<'_, T> {
    type Memory = Self;
    /// More than one thread alone would take, since each batch begins with something that all threads share.
    const BATCH: usize = 256;

    #[inline(always)]
    fn memory(&self) -> &Self {
        self
    }

    #[inline(always)]
    fn memory_mut(&mut self) -> &mut Self {
        self
    }

    #[inline(always)]
    fn entry(&self, visit: u32) -> Entry {
        self.shared.log.entry(visit)
    }

    #[inline(always)]
    fn enter<'s>(&mut self, entry: Entry, _: impl FnOnce() -> &'s [u8]) -> Result<(), Halt> {
        let entered = self.cursor.push(&self.shared.log, entry, &mut self.contention);
        entered.ok_or(Halt::Stop(Stop::Memory))
    }

    fn count_error(&mut self) -> u64 {
        1 + self.shared.errors.fetch_add(1, Ordering::SeqCst)
    }

    fn bytes(&self) -> usize {
        self.shared.bytes()
    }
}

impl<T: Records> TraceLog for Handle<'_, T> {
    type Memory = Self;

    fn memory(&mut self) -> &mut Self {
        self
    }

    fn visit(&self, number: u32) -> Entry {
        self.entry(number)
    }

    fn find(&self, state: StateId, mover: u16) -> Option<u32> {
        self.shared.log.find(state, mover)
    }
}
