//! Hash compaction for several threads: 64 bits stand for a state.
//!
//! As [`Compact`](super::super::Compact), in a table whose entries are in no order: a hash is added by a single
//! compare-and-swap.

use super::super::{Inserted, Pending, StateId, StoreFull, hash};
use super::growing::GrowingIndex;
use super::index::Index;
use super::links::{Links, LocalLinks};
use super::{ConcurrentStore, Place, forget};
use crate::platform::sync::atomic::Ordering;
use preempt_core::Contention;

/// A lossy store of 64-bit hashes for several threads.
#[derive(Debug)]
pub(crate) struct SharedCompact {
    index: GrowingIndex,
    links: Links,
    limit: usize,
}

/// What a thread needs for itself.
#[derive(Debug)]
pub(crate) struct Local {
    thread: usize,
    links: LocalLinks,
    contention: Contention,
}

impl SharedCompact {
    /// A store of at most `limit` bytes for so many threads.
    pub(crate) fn new(limit: usize, threads: usize) -> Self {
        SharedCompact { index: GrowingIndex::new(threads), links: Links::new(), limit }
    }

    /// How many states are expected to be confused with others so far.
    pub(crate) fn expected_omissions(&self) -> f64 {
        let states = self.len() as f64;
        states * states / 2f64.powi(65)
    }

    /// Adds a hash; says whether it is new, or `None` if the table must grow first.
    fn add(
        &self,
        index: &Index,
        contention: &mut Contention,
        hash: u64,
        may_add: impl FnOnce(&mut Contention) -> Result<(), StoreFull>,
    ) -> Result<Option<bool>, StoreFull> {
        let mut may_add = Some(may_add);
        let mut at = index.slot(hash >> 32);
        loop {
            let mut entry = index.slots[at].load(Ordering::Relaxed);
            if entry == 0 {
                if !index.has_room_at(at) {
                    return Ok(None);
                }
                if let Some(may_add) = may_add.take() {
                    may_add(contention)?;
                }
                contention.shared_bytes += 8;
                let swap =
                    index.slots[at].compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed);
                match swap {
                    Ok(_) => return Ok(Some(true)),
                    Err(other) => {
                        contention.failed_swaps += 1;
                        entry = other;
                    }
                }
            }
            if entry == hash {
                return Ok(Some(false));
            }
            at += 1;
        }
    }
}

impl ConcurrentStore for SharedCompact {
    type Local = Local;

    fn local(&self, thread: usize) -> Local {
        Local { thread, links: LocalLinks::default(), contention: Contention::default() }
    }

    fn keeps_states(&self) -> bool {
        false
    }

    fn insert(
        &self,
        local: &mut Local,
        bytes: &[u8],
        batch: &mut [Pending],
        parents: &[Place],
    ) -> Result<(), StoreFull> {
        forget(batch);
        let (mut next, mut hashed) = (0, false);
        while next < batch.len() {
            let (mut added, mut crowded) = (0, None);
            let mut result = Ok(());
            {
                let index = self.index.read(local.thread);
                if !hashed {
                    for pending in &mut *batch {
                        // Zero is a free slot.
                        pending.hash = hash(&bytes[pending.start..pending.end]).max(1);
                        index.prefetch(pending.hash >> 32);
                    }
                    hashed = true;
                }
                for (pending, parent) in batch.iter_mut().zip(parents).skip(next) {
                    let room = self.limit.saturating_sub(self.index.bytes());
                    let may_add = |contention: &mut Contention| {
                        self.links.reserve(&mut local.links, contention, room)
                    };
                    match self.add(&index, &mut local.contention, pending.hash, may_add) {
                        Ok(Some(true)) => {
                            let place = self.links.add(&mut local.links, *parent, pending.hash);
                            pending.inserted = Inserted { id: StateId(place), new: true };
                            added += 1;
                        }
                        Ok(Some(false)) => {}
                        Ok(None) => {
                            crowded = Some(index.bytes());
                            break;
                        }
                        Err(full) => {
                            result = Err(full);
                            break;
                        }
                    }
                    next += 1;
                }
            }
            let may_use = |bytes| self.bytes() + bytes <= self.limit;
            let contention = &mut local.contention;
            result.and(self.index.account_for(added, crowded, may_use, contention))?;
        }
        Ok(())
    }

    fn load(&self, _local: &mut Local, _place: Place, _out: &mut Vec<u8>) {}

    fn parent(&self, place: Place) -> Place {
        self.links.parent(place)
    }

    fn agrees(&self, place: Place, state: &[u8]) -> bool {
        self.links.agrees(place, hash(state).max(1))
    }

    fn len(&self) -> usize {
        self.index.len()
    }

    fn bytes(&self) -> usize {
        self.index.bytes() + self.links.bytes()
    }

    fn contention(local: &Local) -> Contention {
        local.contention
    }
}
