//! Hash compaction: 64 bits stand for a state.
//!
//! Two states with the same hash are taken for one, and the later is lost with all that only it
//! leads to. The expected number of such losses, about n²/2⁶⁵ for n states, is reported: no verdict
//! from this store is stronger than that. (Wolper and Leroy.)
//!
//! Invariant: fingerprints never decrease along the table; one lies at its slot or behind it with
//! no free slot in between.

use super::{Inserted, StateId, Store, StoreFull, pages};

/// A lossy store of 64-bit hashes.
#[derive(Debug)]
pub struct Compact {
    fingerprints: Vec<u64>,
    /// The number of each fingerprint, if wanted.
    numbers: Option<Vec<u32>>,
    count: usize,
    limit: usize,
}

const MARGIN: usize = 1 << 10;
const FIRST_CAPACITY: usize = 1 << 12;

impl Compact {
    /// A store that may use `limit` bytes. Numbers cost four more bytes per state; without them
    /// known states have [`StateId::UNKNOWN`].
    pub fn new(limit: usize, numbered: bool) -> Self {
        Compact {
            fingerprints: pages::zeroed(FIRST_CAPACITY + MARGIN),
            numbers: numbered.then(|| pages::zeroed(FIRST_CAPACITY + MARGIN)),
            count: 0,
            limit,
        }
    }

    /// How many states are expected to be confused with others so far.
    pub fn expected_omissions(&self) -> f64 {
        let states = self.count as f64;
        states * states / 2f64.powi(65)
    }

    #[inline(always)]
    fn capacity(&self) -> usize {
        self.fingerprints.len() - MARGIN
    }

    #[inline(always)]
    fn find(&self, fingerprint: u64) -> usize {
        let mut at = slot(fingerprint, self.capacity());
        while self.fingerprints[at] < fingerprint && self.fingerprints[at] != 0 {
            at += 1;
        }
        at
    }

    #[inline]
    fn number(&self, at: usize) -> StateId {
        self.numbers.as_ref().map_or(StateId::UNKNOWN, |numbers| StateId(numbers[at]))
    }

    fn grow(&mut self) -> Result<(), StoreFull> {
        let old = self.capacity();
        let new = if old < 1 << 26 { old * 2 } else { old / 2 * 3 };
        let width = if self.numbers.is_some() { 12 } else { 8 };
        if self.bytes() + (new + MARGIN) * width > self.limit {
            return Err(StoreFull);
        }
        let mut fingerprints = pages::zeroed::<u64>(new + MARGIN);
        let mut numbers = self.numbers.as_ref().map(|_| pages::zeroed::<u32>(new + MARGIN));
        let mut free = 0;
        for (from, &fingerprint) in self.fingerprints.iter().enumerate() {
            if fingerprint == 0 {
                continue;
            }
            let at = slot(fingerprint, new).max(free);
            fingerprints[at] = fingerprint;
            if let (Some(new), Some(old)) = (&mut numbers, &self.numbers) {
                new[at] = old[from];
            }
            free = at + 1;
        }
        self.fingerprints = fingerprints;
        self.numbers = numbers;
        Ok(())
    }
}

#[inline(always)]
fn slot(fingerprint: u64, capacity: usize) -> usize {
    (((fingerprint >> 32) * capacity as u64) >> 32) as usize
}

impl Store for Compact {
    #[inline]
    fn insert_hashed(&mut self, hash: u64, _state: &[u8]) -> Result<Inserted, StoreFull> {
        let fingerprint = hash.max(1);
        let at = self.find(fingerprint);
        if self.fingerprints[at] == fingerprint {
            return Ok(Inserted { id: self.number(at), new: false });
        }
        let mut end = at;
        while self.fingerprints[end] != 0 {
            end += 1;
        }
        if self.count >= self.capacity() / 20 * 17 || end + 2 >= self.fingerprints.len() {
            self.grow()?;
            return self.insert_hashed(hash, _state);
        }
        let number = u32::try_from(self.count).map_err(|_| StoreFull)?;
        self.fingerprints.copy_within(at..end, at + 1);
        self.fingerprints[at] = fingerprint;
        if let Some(numbers) = &mut self.numbers {
            numbers.copy_within(at..end, at + 1);
            numbers[at] = number;
        }
        self.count += 1;
        Ok(Inserted { id: StateId(number), new: true })
    }

    #[inline]
    fn lookup_hashed(&self, hash: u64, _state: &[u8]) -> Option<StateId> {
        let at = self.find(hash.max(1));
        (self.fingerprints[at] == hash.max(1)).then(|| self.number(at))
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        pages::prefetch(&self.fingerprints, slot(hash, self.capacity()));
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
        self.fingerprints.len() * if self.numbers.is_some() { 12 } else { 8 }
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    fn is_exact(&self) -> bool {
        false
    }
}
