//! What a search bucket by bucket remembers: states, a record of each, and the log of visits.
//!
//! The search decides about a visit by looking at the record of its state once and then *claiming* what it is going to do: the
//! record is replaced if it still is what was seen. On one thread it always is ([`LocalVisits`]); several threads do it by
//! compare-and-swap (`shared_visited.rs`), and one whose claim fails looks again.
//!
//! Invariant: what a visit runs follows from the record that its claim replaced, so that each process is run from a state
//! at its lowest count by exactly one visit.

use super::visit_log::{Entry, NO_PARENT};
use crate::search::bounded::least_preemptions::{LeastPreemptions, StateRecord, Visit};
use crate::search::shared::halt::Halt;
use crate::store::memory::pages;
use crate::store::{Pending, StateId, Store, StoreFull};
use preempt_core::{ProcessId, Stop};

/// States, records and visits, as one thread of a search sees them.
pub(crate) trait VisitedSet {
    /// What a state is known by.
    type Key: Copy;

    /// How many successors are stored together, so that their cache misses overlap.
    const BATCH: usize;

    /// Whether visits of the next bucket can be noted before their time.
    const NOTES_AHEAD: bool;

    /// What a state that was [inserted](VisitedSet::insert) is known by.
    fn key(pending: &Pending) -> Self::Key;

    /// Replaces `out` by the bytes of the state of a visit that is yet to be expanded, or was [kept](VisitedSet::keep).
    fn load(&mut self, visit: u32, state: Self::Key, out: &mut Vec<u8>);

    /// As [`VisitedSet::load`], for a state whose successors will be hashed next.
    fn load_parent(&mut self, visit: u32, state: Self::Key, out: &mut Vec<u8>) {
        self.load(visit, state, out);
    }

    /// Processes have to wait at a visit that is being expanded, until the next bucket.
    fn keep(&mut self, _visit: u32) {}

    /// Whether [`VisitedSet::hash_successors`] is to be asked for the successors of one state at a time.
    fn hashes_near(&self) -> bool;

    /// Hashes successors of the state that was loaded last.
    fn hash_successors(
        &mut self,
        parent: Self::Key,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull>;

    /// Stores states; hashes them first, unless that was done one parent at a time.
    fn insert(
        &mut self,
        bytes: &[u8],
        batch: &mut [Pending],
        is_hashed: bool,
    ) -> Result<(), StoreFull>;

    /// Asks the processor to fetch a state and its record.
    fn prefetch(&self, id: Self::Key);

    /// Asks the processor to fetch the record of a state.
    fn prefetch_record(&self, id: Self::Key);

    /// The record of a state.
    fn record(&self, id: Self::Key) -> StateRecord;

    /// Decides on a visit, and notes it; also gives the record after it.
    fn visit(
        &mut self,
        id: Self::Key,
        count: u32,
        mover: Option<ProcessId>,
    ) -> (Visit, StateRecord);

    /// Replaces the record of a state, if it still is the one that was seen; says whether it was.
    fn claim(&mut self, id: Self::Key, seen: StateRecord, then: StateRecord) -> bool;

    /// Whether a process is among the last movers of a record of this state.
    fn has_mover(&self, id: Self::Key, record: StateRecord, mover: ProcessId) -> bool;

    /// Keeps last movers that do not fit into records from changing between a claim and what follows from it.
    fn hold_wide_movers(&mut self) {}

    /// Ends [`VisitedSet::hold_wide_movers`].
    fn release_wide_movers(&mut self) {}

    /// A visit of the log.
    fn entry(&self, visit: u32) -> Entry<Self::Key>;

    /// The number of a visit by which all threads know it.
    #[inline(always)]
    fn number(&self, visit: u32) -> u32 {
        visit
    }

    /// Adds a visit of the present bucket to the log; `bytes` gives those of its state.
    fn enter<'s>(
        &mut self,
        entry: Entry<Self::Key>,
        bytes: impl FnOnce() -> &'s [u8],
    ) -> Result<(), Halt>;

    /// Counts an error; says how many there are.
    fn count_error(&mut self) -> u64;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;
}

/// A visited set whose log is that of one thread, and at the same time its queue.
pub(crate) trait LocalLog: VisitedSet {
    /// How many visits were logged.
    fn logged(&self) -> u32;

    /// All visits below this number were expanded.
    fn pass(&mut self, _visit: u32) {}

    /// The next bucket begins: of what was kept before nothing is needed any more.
    fn begin_next(&mut self) {}
}

/// A visited set of one thread.
pub(crate) struct LocalVisits<'a, T> {
    pub(crate) store: &'a mut T,
    pub(crate) least: LeastPreemptions,
    /// Every visit, in the order of its bucket; at the same time the queue of the present bucket.
    pub(crate) log: Vec<Entry>,
    errors: u64,
}

impl<'a, T: Store> LocalVisits<'a, T> {
    pub(crate) fn new(store: &'a mut T) -> Self {
        LocalVisits { store, least: LeastPreemptions::default(), log: Vec::new(), errors: 0 }
    }
}

impl<T: Store> LocalVisits<'_, T> {
    /// The longest execution in the log, counted in visits. Afterwards entries have depths instead of
    /// parents, for which parents come first.
    pub(crate) fn depth(&mut self) -> u64 {
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
}

impl<T: Store> VisitedSet for LocalVisits<'_, T> {
    type Key = StateId;
    const BATCH: usize = 160;
    const NOTES_AHEAD: bool = true;

    #[inline(always)]
    fn key(pending: &Pending) -> StateId {
        pending.inserted.id
    }

    #[inline(always)]
    fn load(&mut self, _visit: u32, id: StateId, out: &mut Vec<u8>) {
        self.store.load(id, out);
    }

    #[inline(always)]
    fn load_parent(&mut self, _visit: u32, id: StateId, out: &mut Vec<u8>) {
        self.store.load_parent(id, out);
    }

    #[inline(always)]
    fn hashes_near(&self) -> bool {
        self.store.hashes_near()
    }

    #[inline(always)]
    fn hash_successors(
        &mut self,
        parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        self.store.hash_successors(parent, bytes, batch)
    }

    #[inline(always)]
    fn insert(
        &mut self,
        bytes: &[u8],
        batch: &mut [Pending],
        is_hashed: bool,
    ) -> Result<(), StoreFull> {
        // Bytes that were just written one by one are slow to read in words: hash them later.
        if !self.store.hashes_near() {
            self.store.hash_successors(StateId::UNKNOWN, bytes, batch)?;
        } else if !is_hashed {
            for pending in batch.iter_mut() {
                pending.hash = self.store.hash(&bytes[pending.start..pending.end]);
                self.store.prefetch(pending.hash);
            }
        }
        self.store.insert_batch(bytes, batch)
    }

    #[inline(always)]
    fn prefetch(&self, id: StateId) {
        self.least.prefetch(id);
        self.store.prefetch_id(id);
    }

    #[inline(always)]
    fn prefetch_record(&self, id: StateId) {
        self.least.prefetch(id);
    }

    #[inline(always)]
    fn record(&self, id: StateId) -> StateRecord {
        self.least.get(id)
    }

    #[inline(always)]
    fn visit(&mut self, id: StateId, count: u32, mover: Option<ProcessId>) -> (Visit, StateRecord) {
        let visit = self.least.visit(id, count, mover);
        (visit, self.least.get(id))
    }

    #[inline(always)]
    fn claim(&mut self, id: StateId, _seen: StateRecord, then: StateRecord) -> bool {
        self.least.set(id, then);
        true
    }

    #[inline(always)]
    fn has_mover(&self, id: StateId, _record: StateRecord, mover: ProcessId) -> bool {
        self.least.has_mover(id, mover)
    }

    #[inline(always)]
    fn entry(&self, visit: u32) -> Entry {
        self.log[visit as usize]
    }

    #[inline(always)]
    fn enter<'s>(&mut self, entry: Entry, _: impl FnOnce() -> &'s [u8]) -> Result<(), Halt> {
        if self.log.len() >= NO_PARENT as usize {
            return Err(Halt::Stop(Stop::Memory));
        }
        pages::push(&mut self.log, entry);
        Ok(())
    }

    fn count_error(&mut self) -> u64 {
        self.errors += 1;
        self.errors
    }

    fn bytes(&self) -> usize {
        self.store.bytes() + self.least.bytes() + self.log.len() * size_of::<Entry>()
    }
}

impl<T: Store> LocalLog for LocalVisits<'_, T> {
    #[inline(always)]
    fn logged(&self) -> u32 {
        self.log.len() as u32
    }
}
