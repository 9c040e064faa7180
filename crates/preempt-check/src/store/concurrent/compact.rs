//! Hash compaction for several threads: 64 bits stand for a state.
//!
//! As [`Compact`](super::super::Compact), in a table whose entries are in no order: a hash is added by a single
//! compare-and-swap.

use super::super::{Inserted, Pending, StateId, StoreFull, hash};
use super::directory::{Crowded, Directory, Room};
use super::index::{FURTHEST, Index, SEALED};
use super::links::{Links, LocalLinks};
use super::{ConcurrentStore, Place, forget};
use crate::platform::sync::atomic::Ordering;
use preempt_core::Contention;

/// A lossy store of 64-bit hashes for several threads.
#[derive(Debug)]
pub(crate) struct SharedCompact {
    index: Index,
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
        SharedCompact { index: Index::new(threads), links: Links::new(), limit }
    }

    /// How many states are expected to be confused with others so far.
    pub(crate) fn expected_omissions(&self) -> f64 {
        let states = self.len() as f64;
        states * states / 2f64.powi(65)
    }

    /// Adds a hash; says whether it is new, or which segment must be split first.
    fn add(
        &self,
        directory: &Directory,
        contention: &mut Contention,
        hash: u64,
        may_add: impl FnOnce(&mut Contention) -> Result<(), StoreFull>,
    ) -> Result<Result<bool, Crowded>, StoreFull> {
        let mut may_add = Some(may_add);
        let slots = directory.slots(hash);
        for slot in (0..=FURTHEST).map(|distance| slots.slot(distance)) {
            let mut entry = slot.load(Ordering::Relaxed);
            if entry == 0 {
                if let Some(may_add) = may_add.take() {
                    may_add(contention)?;
                }
                contention.shared_bytes += 8;
                match slot.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return Ok(Ok(true)),
                    Err(other) => {
                        contention.failed_swaps += 1;
                        entry = other;
                    }
                }
            }
            if entry == hash {
                return Ok(Ok(false));
            }
            if entry == SEALED {
                break;
            }
        }
        Ok(Err(slots.crowded(hash)))
    }

    /// Makes room for a hash. If that is in the attic it is put there; then says whether it is new.
    #[cold]
    fn make_room(
        &self,
        local: &mut Local,
        crowded: Crowded,
        hash: u64,
    ) -> Result<Option<bool>, StoreFull> {
        let may_use = |bytes| self.bytes() + bytes <= self.limit;
        let contention = &mut local.contention;
        match self.index.make_room(local.thread, crowded, may_use, contention)? {
            Room::Elsewhere => Ok(None),
            Room::Attic(mut attic) => {
                let list = attic.entry((hash >> 32) as u32).or_default();
                let is_new = !list.contains(&hash);
                if is_new {
                    let room = self.limit.saturating_sub(self.index.bytes());
                    self.links.reserve(&mut local.links, contention, room)?;
                    list.push(hash);
                }
                Ok(Some(is_new))
            }
        }
    }
}

/// The hash of a state that is kept: neither that of a free slot nor that of a sealed one.
fn fingerprint(state: &[u8]) -> u64 {
    hash(state).clamp(1, SEALED - 1)
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
                let directory = self.index.read(local.thread);
                if !hashed {
                    for pending in &mut *batch {
                        pending.hash = fingerprint(&bytes[pending.start..pending.end]);
                        directory.slots(pending.hash).prefetch();
                    }
                    hashed = true;
                }
                for (pending, parent) in batch.iter_mut().zip(parents).skip(next) {
                    let room = self.limit.saturating_sub(self.index.bytes());
                    let may_add = |contention: &mut Contention| {
                        self.links.reserve(&mut local.links, contention, room)
                    };
                    match self.add(&directory, &mut local.contention, pending.hash, may_add) {
                        Ok(Ok(true)) => {
                            let place = self.links.add(&mut local.links, *parent, pending.hash);
                            pending.inserted = Inserted { id: StateId(place), new: true };
                            added += 1;
                        }
                        Ok(Ok(false)) => {}
                        Ok(Err(segment)) => {
                            crowded = Some(segment);
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
            if let (Ok(()), Some(crowded)) = (&result, crowded) {
                let pending = &mut batch[next];
                match self.make_room(local, crowded, pending.hash) {
                    Ok(None) => {}
                    Ok(Some(is_new)) => {
                        if is_new {
                            let place =
                                self.links.add(&mut local.links, parents[next], pending.hash);
                            pending.inserted = Inserted { id: StateId(place), new: true };
                            added += 1;
                        }
                        next += 1;
                    }
                    Err(full) => result = Err(full),
                }
            }
            self.index.count(added, &mut local.contention);
            result?;
        }
        Ok(())
    }

    fn load(&self, _local: &mut Local, _place: Place, _out: &mut Vec<u8>) {}

    fn parent(&self, place: Place) -> Place {
        self.links.parent(place)
    }

    fn agrees(&self, place: Place, state: &[u8]) -> bool {
        self.links.agrees(place, fingerprint(state))
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
