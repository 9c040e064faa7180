//! What a search bucket by bucket remembers: states, a record of each, and the log of visits.
//!
//! The search decides about a visit by looking at the record of its state once and then *claiming* what it is going to do: the
//! record is replaced if it still is what was seen. On one thread it always is (`own_visits.rs`); several threads do it by
//! compare-and-swap (`shared_visited.rs`), and one whose claim fails looks again.
//!
//! Invariant: what a visit runs follows from the record that its claim replaced, so that each process is run from a state
//! at its lowest count by exactly one visit.

use super::visit_log::Entry;
use super::visit_memory::VisitMemory;
use crate::search::shared::halt::Halt;

/// What a state is known by.
pub(crate) type Key<V> = <<V as VisitedSet>::Memory as VisitMemory>::Key;

/// States and their records, as one thread of a search sees them, and the log of visits.
pub(crate) trait VisitedSet {
    /// Where states and records are.
    type Memory: VisitMemory;

    /// How many successors are stored together, so that their cache misses overlap.
    const BATCH: usize;

    /// States and records.
    fn memory(&self) -> &Self::Memory;

    /// The same, to be changed.
    fn memory_mut(&mut self) -> &mut Self::Memory;

    /// Replaces `out` by the bytes of the state of a visit that is yet to be expanded, or was [kept](VisitedSet::keep).
    #[inline(always)]
    fn load(&mut self, _visit: u32, state: Key<Self>, out: &mut Vec<u8>) {
        self.memory_mut().load(state, out);
    }

    /// As [`VisitedSet::load`], for a state whose successors will be hashed next.
    fn load_parent(&mut self, visit: u32, state: Key<Self>, out: &mut Vec<u8>) {
        self.load(visit, state, out);
    }

    /// Processes have to wait at a visit that is being expanded, until the next bucket.
    fn keep(&mut self, _visit: u32) {}

    /// A visit of the log.
    fn entry(&self, visit: u32) -> Entry<Key<Self>>;

    /// The number of a visit by which all threads know it.
    #[inline(always)]
    fn number(&self, visit: u32) -> u32 {
        visit
    }

    /// Adds a visit of the present bucket to the log; `bytes` gives those of its state.
    fn enter<'s>(
        &mut self,
        entry: Entry<Key<Self>>,
        bytes: impl FnOnce() -> &'s [u8],
    ) -> Result<(), Halt>;

    /// Counts an error; says how many there are.
    fn count_error(&mut self) -> u64;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;
}
