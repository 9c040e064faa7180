//! Hash compaction: 64 bits stand for a state.
//!
//! Two states with the same hash are taken for one, and the later is lost with all that only it
//! leads to. The expected number of such losses, about n²/2⁶⁵ for n states, is reported: no verdict
//! from this store is stronger than that. (Wolper and Leroy.)
//!
//! Invariant: every fingerprint is in the [index](Ordered) once, and there in order.

use crate::store::exact::ordered::{Ordered, PACE};
use crate::store::{Inserted, StateId, Store, StoreFull};

/// A lossy store of 64-bit hashes.
#[derive(Debug)]
pub struct Compact {
    /// The fingerprints, with their numbers if wanted.
    index: Ordered,
    count: usize,
    /// Look whether the index must grow when there are this many.
    look_at: usize,
    limit: usize,
}

/// From here on the index grows in smaller steps.
const LARGE_CAPACITY: usize = 1 << 26;
/// There are no more tags than this.
const MOST_CAPACITY: usize = 1 << 32;
const FIRST_CAPACITY: usize = 1 << 12;

impl Compact {
    /// A store that may use `limit` bytes. Numbers cost four more bytes per state; without them
    /// known states have [`StateId::UNKNOWN`].
    pub fn new(limit: usize, numbered: bool) -> Self {
        Compact {
            index: Ordered::new(FIRST_CAPACITY, numbered),
            count: 0,
            look_at: threshold(FIRST_CAPACITY),
            limit,
        }
    }

    /// How many entries of the index were moved so far.
    #[cfg(test)]
    pub(in crate::store) fn moves(&self) -> usize {
        self.index.moves
    }

    /// How many states are expected to be confused with others so far.
    pub fn expected_omissions(&self) -> f64 {
        let states = self.count as f64;
        states * states / 2f64.powi(65)
    }

    /// The slots among which a fingerprint is, and where in them it is or belongs.
    #[inline(always)]
    fn find(&self, fingerprint: u64) -> (&[u64], usize) {
        let (slots, mut at) = self.index.slots(fingerprint >> 32);
        while slots[at] < fingerprint && slots[at] != 0 {
            at += 1;
        }
        (slots, at)
    }

    #[inline]
    fn number(&self, fingerprint: u64, at: usize) -> StateId {
        self.index.number(fingerprint >> 32, at).map_or(StateId::UNKNOWN, StateId)
    }

    /// Makes the index larger if it is crowded, or goes on with that.
    #[cold]
    fn look(&mut self) -> Result<(), StoreFull> {
        let old = self.index.capacity();
        if self.index.is_moving() {
            self.index.advance();
        } else if self.count >= threshold(old) {
            let new = if old < LARGE_CAPACITY { old * 2 } else { old / 2 * 3 };
            let new = new.min(MOST_CAPACITY);
            if old == MOST_CAPACITY || self.index.bytes_to_grow(new) > self.limit {
                return Err(StoreFull);
            }
            self.index.begin(new);
        }
        let grow_at = threshold(self.index.capacity());
        self.look_at = match self.index.is_moving() {
            true => grow_at.min(self.count + PACE),
            false => grow_at,
        };
        Ok(())
    }
}

/// How many fingerprints an index of this capacity takes.
fn threshold(capacity: usize) -> usize {
    capacity / 20 * 17
}

impl Store for Compact {
    #[inline]
    fn insert_hashed(&mut self, hash: u64, _state: &[u8]) -> Result<Inserted, StoreFull> {
        let fingerprint = hash.max(1);
        let (mut slots, mut at) = self.find(fingerprint);
        if slots[at] == fingerprint {
            return Ok(Inserted { id: self.number(fingerprint, at), new: false });
        }
        if self.count >= self.look_at {
            self.look()?;
            (slots, at) = self.find(fingerprint);
        }
        let mut end = at;
        while slots[end] != 0 {
            end += 1;
        }
        if end + 2 >= slots.len() {
            self.index.lengthen(fingerprint >> 32);
        }
        let number = u32::try_from(self.count).map_err(|_| StoreFull)?;
        self.index.put(at..end + 1, fingerprint, number);
        self.count += 1;
        Ok(Inserted { id: StateId(number), new: true })
    }

    #[inline]
    fn lookup_hashed(&self, hash: u64, _state: &[u8]) -> Option<StateId> {
        let fingerprint = hash.max(1);
        let (slots, at) = self.find(fingerprint);
        (slots[at] == fingerprint).then(|| self.number(fingerprint, at))
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash >> 32);
    }

    #[inline]
    fn looks_at_bytes(&self) -> bool {
        false
    }

    #[inline]
    fn accept_hash(&self, hash: u64) -> Option<u64> {
        Some(hash)
    }

    fn load(&self, _id: StateId, _out: &mut Vec<u8>) -> bool {
        false
    }

    fn len(&self) -> usize {
        self.count
    }

    fn bytes(&self) -> usize {
        self.index.bytes()
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    fn is_exact(&self) -> bool {
        false
    }
}
