//! Stores that several threads fill together.
//!
//! What they have in common: a thread writes what it adds where no other thread writes, and publishes it by a single
//! compare-and-swap in an index, so that readers see either nothing or all of it and no thread waits. Indexes grow in small
//! segments, one at a time (`directory.rs`); the one moment of exclusion is when the directory of these doubles
//! ([`readers::ManyReaders`]).
//!
//! 1. `exact.rs`: all bytes of every state. 2. `tree.rs`: equal parts shared, over the numbered sets of `numbers.rs`.
//! 3. `compact.rs` and `bitstate.rs`: a hash, or a few bits, with the links to predecessors of `links.rs`.
//!
//! Invariant: of all threads that insert the same state, exactly one is told that it is new.

pub(crate) mod bitstate;
mod blocks;
pub(crate) mod compact;
mod directory;
pub(crate) mod exact;
pub(crate) mod growth;
mod index;
mod links;
mod numbers;
pub(crate) mod readers;
pub(crate) mod segments;
pub(crate) mod tree;

use super::{Pending, StoreFull};
use crate::platform::sync::atomic::AtomicU64;
use preempt_core::Contention;

/// Where a store keeps a state, or what it knows of one.
pub(crate) type Place = u32;

/// A set of states for several threads.
pub(crate) trait ConcurrentStore: Sync {
    /// What a thread needs for itself.
    type Local: Send;

    /// For the thread with this number.
    fn local(&self, thread: usize) -> Self::Local;

    /// Whether [`ConcurrentStore::load`] works. Otherwise a thread that inserts a state must keep its bytes.
    fn keeps_states(&self) -> bool {
        true
    }

    /// Whether [`ConcurrentStore::hash_successors`] should be asked for the successors of one state at a time.
    fn hashes_near(&self) -> bool {
        false
    }

    /// Hashes successors of the state at `parent`, the last one that was loaded.
    fn hash_successors(
        &self,
        _local: &mut Self::Local,
        _parent: Place,
        _bytes: &[u8],
        _batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        Ok(())
    }

    /// Inserts states, each reached from the one at its parent's place. Says of each where it is, and whether it is
    /// new. On an error those without a place were not inserted.
    fn insert(
        &self,
        local: &mut Self::Local,
        bytes: &[u8],
        batch: &mut [Pending],
        parents: &[Place],
    ) -> Result<(), StoreFull>;

    /// Replaces `out` by the state at a place.
    fn load(&self, local: &mut Self::Local, place: Place, out: &mut Vec<u8>);

    /// Asks the processor to fetch a state that will be loaded.
    fn prefetch(&self, _place: Place) {}

    /// The place of the state from which this one was reached first.
    fn parent(&self, place: Place) -> Place;

    /// Whether this may be the state at a place; exact stores are never asked.
    fn agrees(&self, _place: Place, _state: &[u8]) -> bool {
        true
    }

    /// How many states were inserted.
    fn len(&self) -> usize;

    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;

    /// What the thread had to do that others may have to wait for.
    fn contention(local: &Self::Local) -> Contention;
}

/// A store with a word beside each state, zero at first, for what a search knows of it; if it was made with records.
pub(crate) trait Records: ConcurrentStore {
    /// The word beside the state at a place.
    fn record(&self, place: Place) -> &AtomicU64;

    /// Asks the processor to fetch it.
    fn prefetch_record(&self, place: Place);
}

/// Marks states that were not inserted yet.
fn forget(batch: &mut [Pending]) {
    for pending in batch {
        *pending = Pending { hash: pending.hash, ..Pending::new(0, pending.start, pending.end) };
    }
}
