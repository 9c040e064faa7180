//! Hash compaction for several threads: 64 bits stand for a state.
//!
//! As [`Compact`](super::super::Compact), in a table whose entries are in no order: a hash is added by a single
//! compare-and-swap.

use super::super::{Inserted, Pending, StateId, StoreFull, hash};
use super::index::Index;
use super::links::{Links, LocalLinks};
use super::readers::ManyReaders;
use super::{ConcurrentStore, Place, forget};
use preempt_core::Contention;
use std::sync::atomic::{AtomicUsize, Ordering};

const FIRST_CAPACITY: usize = 1 << 16;

/// A lossy store of 64-bit hashes for several threads.
#[derive(Debug)]
pub(crate) struct SharedCompact {
    index: ManyReaders<Index>,
    links: Links,
    states: AtomicUsize,
    grow_at: AtomicUsize,
    index_bytes: AtomicUsize,
    limit: usize,
    threads: usize,
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
        let index = Index::new(FIRST_CAPACITY);
        SharedCompact {
            grow_at: AtomicUsize::new(index.most()),
            index_bytes: AtomicUsize::new(index.bytes()),
            index: ManyReaders::new(index, threads),
            links: Links::new(),
            states: AtomicUsize::new(0),
            limit,
            threads,
        }
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

    /// Counts new states; grows the table if it has become crowded, at the latest when it was at this size.
    fn account_for(
        &self,
        new: usize,
        crowded: Option<usize>,
        contention: &mut Contention,
    ) -> Result<(), StoreFull> {
        if new == 0 && crowded.is_none() {
            return Ok(());
        }
        contention.shared_bytes += 8;
        let states = self.states.fetch_add(new, Ordering::Relaxed) + new;
        if crowded.is_none() && states < self.grow_at.load(Ordering::Relaxed) {
            return Ok(());
        }
        contention.locks += 1;
        self.index.write(|index| {
            let is_crowded = crowded == Some(index.bytes());
            if !is_crowded && states < self.grow_at.load(Ordering::Relaxed) {
                return Ok(());
            }
            let (larger, bytes) = index.larger();
            if self.bytes() + bytes > self.limit {
                return Err(StoreFull);
            }
            index.enlarge(larger, self.threads);
            self.grow_at.store(index.most(), Ordering::Relaxed);
            self.index_bytes.store(index.bytes(), Ordering::Relaxed);
            Ok(())
        })
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
                    let room = self.limit.saturating_sub(self.index_bytes.load(Ordering::Relaxed));
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
            result.and(self.account_for(added, crowded, &mut local.contention))?;
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
        self.states.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> usize {
        self.index_bytes.load(Ordering::Relaxed) + self.links.bytes()
    }

    fn contention(local: &Local) -> Contention {
        local.contention
    }
}
