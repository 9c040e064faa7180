//! The default store: all bytes of every state, and an index over them.
//!
//! States lie in an [`Arena`]; an [open-addressing index](Ordered) holds `tag << 32 | mark` in eight bytes, in the order of
//! tags, and grows without a pause.
//!
//! Invariant: there is one entry in the index for each state, with the upper half of its hash as the tag.

pub(super) mod ordered;
pub(super) mod sorted;

use super::hash::Quick;
use super::{Inserted, Pending, Reader, StateId, Store, StoreFull, Tree};
use crate::store::exact::ordered::{Ordered, PACE};
use crate::store::exact::sorted::Sorted;
use crate::store::memory::arena::Arena;
use crate::store::memory::pages;

/// An exact store with the states in full.
#[derive(Debug)]
pub struct Exact {
    arena: Arena,
    /// `tag << 32 | mark + 1` for each state.
    index: Ordered,
    /// Grow when this many states are stored.
    grow_at: usize,
    /// Look at all limits when this many are stored, for small states.
    look_at: usize,
    limit: usize,
    hash: Quick,
    batch: Sorted,
}

const FIRST_CAPACITY: usize = 1 << 12;
/// Below this the index grows in larger steps, where there is so many times as much memory as it takes:
/// every growth costs time.
const SMALL_CAPACITY: usize = 1 << 20;
const PLENTY: usize = 64;
/// From here on in smaller ones.
const LARGE_CAPACITY: usize = 1 << 26;
/// There are no more tags than this.
const MOST_CAPACITY: usize = 1 << 32;
/// The limit is looked at for every state of this size, and now and then for smaller ones: at least once for
/// so many.
const LARGE_STATE: usize = 1 << 10;
const SELDOM: usize = 1 << 10;
/// What a state may take beside its own bytes.
const BESIDE: usize = 24;

impl Exact {
    /// A store that may use `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Exact {
            arena: Arena::default(),
            index: Ordered::new(FIRST_CAPACITY, false),
            grow_at: threshold(FIRST_CAPACITY),
            look_at: 0,
            limit,
            hash: Quick::new(),
            batch: Sorted::default(),
        }
    }

    /// How many entries of the index were moved so far.
    #[cfg(test)]
    pub(super) fn moves(&self) -> usize {
        self.index.moves
    }

    /// The bytes of a state.
    #[inline]
    pub fn get(&self, id: StateId) -> &[u8] {
        self.arena.get(id.index())
    }

    /// Copies all states into a tree of at most `limit` bytes, in the order of their numbers.
    pub(crate) fn to_tree(&self, limit: usize) -> Result<Tree, StoreFull> {
        let mut tree = Tree::new(limit);
        for at in 0..self.arena.len() {
            tree.insert(self.arena.get(at))?;
        }
        Ok(tree)
    }

    /// The slot where the state is, or the one where it belongs.
    #[inline(always)]
    fn find(&self, hash: u64, state: &[u8]) -> (usize, Option<StateId>) {
        let (slots, at) = self.index.slots(hash >> 32);
        self.find_from(slots, at, hash, state)
    }

    /// As [`Self::find`], in the slots where it is or belongs, when all before `at` have lower tags.
    #[inline(always)]
    fn find_from(
        &self,
        slots: &[u64],
        at: usize,
        hash: u64,
        state: &[u8],
    ) -> (usize, Option<StateId>) {
        let (mut at, mut entry) = first_candidate(slots, at, hash);
        loop {
            if entry == 0 || entry >> 32 != hash >> 32 {
                return (at, None);
            }
            let (id, bytes) = self.arena.at(entry as u32 - 1);
            if equal(bytes, state) {
                return (at, Some(StateId(id)));
            }
            at += 1;
            entry = slots[at];
        }
    }

    fn grow(&mut self) -> Result<(), StoreFull> {
        let old = self.index.capacity();
        let new = match old {
            0..SMALL_CAPACITY if old * 8 < self.limit / PLENTY => old * 4,
            0..LARGE_CAPACITY => old * 2,
            _ => old / 2 * 3,
        };
        if old == MOST_CAPACITY {
            return Err(StoreFull);
        }
        let new = new.min(MOST_CAPACITY);
        if self.arena.bytes() + self.index.bytes_to_grow(new) > self.limit {
            return Err(StoreFull);
        }
        self.index.begin(new);
        Ok(())
    }

    /// Inserts a state whose place is known; what lies there moves up.
    #[inline]
    fn put(&mut self, at: usize, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        let (slots, _) = self.index.slots(hash >> 32);
        let mut end = at;
        while slots[end] != 0 {
            end += 1;
        }
        let is_last = end + 2 >= slots.len();
        if self.arena.len() >= self.look_at || state.len() >= LARGE_STATE || is_last {
            self.look(state.len())?;
            return self.put_here(hash, state);
        }
        Ok(self.put_at(at..end + 1, hash, state))
    }

    /// As [`Self::put`], when the limits were looked at.
    #[cold]
    fn put_here(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        loop {
            let at = self.find(hash, state).0;
            let (slots, _) = self.index.slots(hash >> 32);
            let end = at + slots[at..].iter().take_while(|entry| **entry != 0).count();
            if end + 2 < slots.len() {
                return Ok(self.put_at(at..end + 1, hash, state));
            }
            self.index.lengthen(hash >> 32);
        }
    }

    /// Inserts a state at the first of these slots. The last one is free, and no other.
    #[inline(always)]
    fn put_at(&mut self, slots: std::ops::Range<usize>, hash: u64, state: &[u8]) -> Inserted {
        let id = self.arena.len();
        let mark = self.arena.push(state);
        self.index.put(slots, (hash >> 32) << 32 | (u64::from(mark) + 1), 0);
        Inserted { id: StateId(id as u32), new: true }
    }

    /// Looks at all limits, and makes the index larger if it is crowded.
    #[cold]
    #[inline(never)]
    fn look(&mut self, length: usize) -> Result<(), StoreFull> {
        let id = self.arena.len();
        if self.bytes() + length > self.limit || !self.arena.accepts(length) {
            return Err(StoreFull);
        }
        if self.index.is_moving() {
            self.index.advance();
        } else if id >= self.grow_at {
            self.grow()?;
        }
        self.grow_at = threshold(self.index.capacity());
        let fits = (self.limit - self.bytes().min(self.limit)) / (length + BESIDE);
        let next = if self.index.is_moving() { PACE } else { SELDOM };
        self.look_at = (id + fits.clamp(1, next)).min(self.grow_at);
        Ok(())
    }

    /// The batch of [`Store::insert_batch`].
    #[inline(always)]
    fn insert_all(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        let mut sorted = std::mem::take(&mut self.batch);
        self.sort(batch, &mut sorted);
        let Sorted { candidates, known, new } = &mut sorted;
        let (expected, mut collided) = (new.len(), false);
        for &number in &*known {
            let pending = &mut batch[number as usize];
            let entry = self.index.slots(pending.hash >> 32).0[candidates[number as usize]];
            let (id, found) = self.arena.at((entry as u32).wrapping_sub(1));
            if equal(found, &bytes[pending.start..pending.end]) {
                pending.inserted = Inserted { id: StateId(id), new: false };
            } else {
                new.push(number);
                collided = true;
            }
        }
        if collided {
            new.sort_unstable();
            debug_assert!(new.len() > expected);
        }
        // Insertions move entries up only, so candidates stay valid until the index grows.
        let version = self.index.version();
        let mut result = Ok(());
        for &number in &*new {
            let pending = &mut batch[number as usize];
            let state = &bytes[pending.start..pending.end];
            let (slots, mut at) = self.index.slots(pending.hash >> 32);
            if self.index.version() == version {
                at = candidates[number as usize];
            }
            match self.find_from(slots, at, pending.hash, state) {
                (_, Some(id)) => pending.inserted = Inserted { id, new: false },
                (at, None) => match self.put(at, pending.hash, state) {
                    Ok(inserted) => pending.inserted = inserted,
                    Err(full) => {
                        result = Err(full);
                        break;
                    }
                },
            }
        }
        self.batch = sorted;
        result
    }

    /// Finds the candidates of a batch whose slots were fetched, and fetches the bytes to compare with.
    #[inline(always)]
    fn sort(&self, batch: &[Pending], sorted: &mut Sorted) {
        sorted.sort(batch, |pending| {
            let tag = pending.hash >> 32;
            let (slots, at) = self.index.slots(tag);
            let (at, entry) = first_candidate(slots, at, pending.hash);
            let is_known = (entry >> 32 == tag) & (entry != 0);
            // Where there is nothing to compare with, the first state is fetched, which is there.
            let mark = std::hint::select_unpredictable(is_known, entry as u32, 1);
            self.arena.prefetch(mark.wrapping_sub(1));
            (at, is_known)
        });
    }

    /// [`Self::insert_all`] for processors that compare 32 bytes at a time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn insert_all_wide(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        self.insert_all(bytes, batch)
    }
}

/// The first slot from `at` on that is free or has this tag or a greater one, and what it holds. At
/// `at` or behind it there must be a free slot, as there is behind every computed one.
#[inline(always)]
fn first_candidate(index: &[u64], mut at: usize, hash: u64) -> (usize, u64) {
    // One less on both sides, so that a free slot compares as the greatest.
    let lowest = (hash >> 32 << 32).saturating_sub(1);
    let entry = |at: usize| {
        debug_assert!(at < index.len());
        // SAFETY: the caller's promise; the last slots of an index are always free.
        unsafe { *index.get_unchecked(at) }
    };
    // Most are found here or one further, which no processor can guess: so no branch.
    at += usize::from(entry(at).wrapping_sub(1) < lowest);
    loop {
        let entry = entry(at);
        if entry.wrapping_sub(1) >= lowest {
            return (at, entry);
        }
        at += 1;
    }
}

/// How many states an index of this capacity takes.
fn threshold(capacity: usize) -> usize {
    capacity / 20 * 14
}

/// Compares in pieces that overlap at the end: states are short, and a call to the library costs
/// more than it saves.
#[inline(always)]
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    if let (Some(a_last), Some(b_last)) = (a.last_chunk::<32>(), b.last_chunk::<32>()) {
        let (a_chunks, b_chunks) = (a.as_chunks::<32>().0, b.as_chunks::<32>().0);
        return a_chunks.iter().zip(b_chunks).all(|(a, b)| a == b) && a_last == b_last;
    }
    if let (Some(a_last), Some(b_last)) = (a.last_chunk::<8>(), b.last_chunk::<8>()) {
        let (a_chunks, b_chunks) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
        return a_chunks.iter().zip(b_chunks).all(|(a, b)| a == b) && a_last == b_last;
    }
    a.iter().zip(b).all(|(a, b)| a == b)
}

impl Store for Exact {
    /// The lowest bit is free: only the high half is used, and a [`Tree`] that takes the states over
    /// knows by it that a hash is not its own.
    #[inline]
    fn hash(&self, state: &[u8]) -> u64 {
        self.hash.hash(state) & !1
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, state: &[u8]) -> Result<Inserted, StoreFull> {
        match self.find(hash, state) {
            (_, Some(id)) => Ok(Inserted { id, new: false }),
            (at, None) => self.put(at, hash, state),
        }
    }

    #[inline]
    fn lookup_hashed(&self, hash: u64, state: &[u8]) -> Option<StateId> {
        self.find(hash, state).1
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash >> 32);
    }

    #[inline]
    fn prefetch_state(&self, hash: u64) {
        let (slots, at) = self.index.slots(hash >> 32);
        let entry = first_candidate(slots, at, hash).1;
        if entry >> 32 == hash >> 32 && entry != 0 {
            self.arena.prefetch(entry as u32 - 1);
        }
    }

    #[inline]
    fn prefetch_id(&self, id: StateId) {
        self.arena.prefetch(self.arena.mark_of(id.index()));
    }

    #[inline]
    fn hash_successors(
        &mut self,
        _parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> Result<(), StoreFull> {
        self.hash.hash_all(bytes, batch, |hash| self.index.prefetch(hash >> 32));
        Ok(())
    }

    fn hash_ahead(
        &self,
        _reader: &mut Reader,
        _parent: StateId,
        bytes: &[u8],
        batch: &mut [Pending],
    ) -> bool {
        self.hash.hash_all(bytes, batch, |_| {});
        true
    }

    fn insert_batch(&mut self, bytes: &[u8], batch: &mut [Pending]) -> Result<(), StoreFull> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what this form needs.
            return unsafe { self.insert_all_wide(bytes, batch) };
        }
        self.insert_all(bytes, batch)
    }

    fn load(&self, id: StateId, out: &mut Vec<u8>) -> bool {
        let state = self.get(id);
        out.resize(state.len(), 0);
        pages::copy(out, state);
        true
    }

    #[inline]
    fn accept_hash(&self, hash: u64) -> Option<u64> {
        Some(hash & !1)
    }

    fn loads_fast(&self) -> bool {
        true
    }

    fn len(&self) -> usize {
        self.arena.len()
    }

    fn bytes(&self) -> usize {
        self.arena.bytes() + self.index.bytes()
    }

    fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }
}
