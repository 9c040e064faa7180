//! The exact store that several threads fill together.
//!
//! The index is one table of atomic words, `tag << 32 | place + 1`. A thread writes a state into a
//! segment of its own first, then publishes its place by a single compare-and-swap: readers see
//! either nothing or a finished state, and nobody waits.
//!
//! Growing the index is the one moment of exclusion: threads hold it shared while they insert a
//! batch, and one of them takes it alone to move its entries to a larger one. The others wait for it
//! then, so their cores are free: a large index is moved by as many helpers as there are threads.
//!
//! Invariant: the words of a published state never change; before that only their owner touches them.

use super::exact::equal;
use super::hash::Quick;
use super::sorted::Sorted;
use super::{Pending, StoreFull, pages};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// Where a state lies: segment and word.
pub(crate) type Place = u32;

/// Segments are as large as no allocator keeps memory back for: they come from the system, zeroed.
const SEGMENT_BITS: u32 = 22;
const SEGMENT: usize = 1 << SEGMENT_BITS;
const SEGMENTS: usize = (1 << (32 - SEGMENT_BITS)) - 1;
const MARGIN: usize = 1 << 10;
const FIRST_CAPACITY: usize = 1 << 16;
/// Words of a segment that are accounted for at once.
const GRANT: usize = 1 << 14;
/// How many words ahead of a state that is written memory is fetched for those to come.
const WRITE_AHEAD: usize = 64;
/// From here on it pays to move the entries of an index by several threads.
const LARGE_INDEX: usize = 1 << 19;

/// An exact store for several threads.
#[derive(Debug)]
pub(crate) struct Shared {
    index: RwLock<Index>,
    segments: Vec<OnceLock<Vec<AtomicU64>>>,
    /// Segments handed out.
    taken: AtomicUsize,
    states: AtomicUsize,
    /// Grow when this many states are stored.
    grow_at: AtomicUsize,
    index_bytes: AtomicUsize,
    /// Bytes of segments that threads have asked for, which is a little more than they have used. The
    /// rest of a segment is address space that was never touched.
    segment_bytes: AtomicUsize,
    limit: usize,
    threads: usize,
    hash: Quick,
}

/// The table of places.
#[derive(Debug)]
pub(crate) struct Index {
    slots: Vec<AtomicU64>,
}

/// A segment that one thread fills.
#[derive(Debug)]
pub(crate) struct Local {
    segment: usize,
    used: usize,
    /// How much of it is accounted for.
    granted: usize,
}

/// What became of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    New(Place),
    Known,
    /// The index must grow first.
    Crowded,
}

impl Shared {
    /// A store of at most `limit` bytes for so many threads.
    pub(crate) fn new(limit: usize, threads: usize) -> Self {
        Shared {
            index: RwLock::new(Index { slots: atomic_words(FIRST_CAPACITY + MARGIN) }),
            segments: (0..SEGMENTS).map(|_| OnceLock::new()).collect(),
            taken: AtomicUsize::new(0),
            states: AtomicUsize::new(0),
            grow_at: AtomicUsize::new(threshold(FIRST_CAPACITY)),
            index_bytes: AtomicUsize::new((FIRST_CAPACITY + MARGIN) * 8),
            segment_bytes: AtomicUsize::new(0),
            limit,
            threads,
            hash: Quick::new(),
        }
    }

    /// The hash that [`Shared::insert`] expects.
    pub(crate) fn hash(&self, state: &[u8]) -> u64 {
        self.hash.hash(state) & !1
    }

    /// Hashes a batch and fetches what its insertion reads first.
    pub(crate) fn hash_all(&self, index: &Index, bytes: &[u8], batch: &mut [Pending]) {
        self.hash.hash_all(bytes, batch, |hash| index.prefetch(hash));
    }

    pub(crate) fn len(&self) -> usize {
        self.states.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.segment_bytes.load(Ordering::Relaxed) + self.index_bytes.load(Ordering::Relaxed)
    }

    /// The index, for one batch.
    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the new states of a batch; grows the index if it is crowded. No thread may hold the
    /// index while it calls this.
    pub(crate) fn account_for(&self, new: usize, crowded: bool) -> Result<(), StoreFull> {
        if new == 0 && !crowded {
            return Ok(());
        }
        let states = self.states.fetch_add(new, Ordering::Relaxed) + new;
        if !crowded && states < self.grow_at.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        if !crowded && states < self.grow_at.load(Ordering::Relaxed) {
            return Ok(());
        }
        let capacity = index.capacity();
        let larger = if capacity < 1 << 26 { capacity * 2 } else { capacity / 2 * 3 };
        if self.bytes() + (larger + MARGIN) * 8 > self.limit {
            return Err(StoreFull);
        }
        let parts = if capacity < LARGE_INDEX { 1 } else { self.threads };
        index.slots = enlarged(&index.slots, larger, parts);
        self.grow_at.store(threshold(larger), Ordering::Relaxed);
        self.index_bytes.store((larger + MARGIN) * 8, Ordering::Relaxed);
        Ok(())
    }

    /// Sorts a batch that was hashed, and fetches the states to compare with.
    pub(crate) fn sort(&self, index: &Index, batch: &[Pending], sorted: &mut Sorted) {
        sorted.sort(batch, |pending| {
            let tag = pending.hash >> 32;
            let entry = |at: usize| index.slots[at].load(Ordering::Acquire);
            let is_other = |entry: u64| (entry != 0) & (entry >> 32 != tag);
            // Where a state is found, here or one further, no processor can guess: so no branch.
            let mut at = index.slot(pending.hash);
            at += usize::from(is_other(entry(at)));
            while is_other(entry(at)) {
                at += 1;
            }
            let entry = entry(at);
            if entry != 0 {
                self.prefetch((entry as u32).wrapping_sub(1));
            } else {
                pages::fetch_to_write(index.slots.as_ptr().wrapping_add(at));
            }
            // Another thread may have filled the slot between two looks at it: with whatever tag, the
            // comparison that follows finds out.
            (at, entry != 0)
        });
    }

    /// Whether this state lies behind a slot that is not free.
    #[inline(always)]
    pub(crate) fn is_at(&self, index: &Index, at: usize, state: &[u8]) -> bool {
        let entry = index.slots[at].load(Ordering::Acquire);
        equal(self.get((entry as u32).wrapping_sub(1)), state)
    }

    /// Inserts a state that was reached from the state at `parent`, if it is not in the index at slot
    /// `at` or behind it.
    #[inline]
    pub(crate) fn insert(
        &self,
        (index, mut at): (&Index, usize),
        local: &mut Local,
        hash: u64,
        state: &[u8],
        parent: Place,
    ) -> Result<Arrived, StoreFull> {
        let tag = hash >> 32;
        let mut written = None;
        loop {
            let mut entry = index.slots[at].load(Ordering::Acquire);
            if entry == 0 {
                if at + 2 >= index.slots.len() {
                    return Ok(Arrived::Crowded);
                }
                let place = match written {
                    Some(place) => place,
                    None => self.write(local, state, parent)?,
                };
                written = Some(place);
                let mine = tag << 32 | (u64::from(place) + 1);
                match index.slots[at].compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire)
                {
                    Ok(_) => {
                        local.used += words_for(state.len());
                        return Ok(Arrived::New(place));
                    }
                    // Another thread was faster; perhaps with the same state.
                    Err(other) => entry = other,
                }
            }
            if entry >> 32 == tag && equal(self.get((entry as u32).wrapping_sub(1)), state) {
                return Ok(Arrived::Known);
            }
            at += 1;
        }
    }

    /// Writes a state behind the last one of the thread, without keeping it yet.
    fn write(&self, local: &mut Local, state: &[u8], parent: Place) -> Result<Place, StoreFull> {
        let words = words_for(state.len());
        if words > SEGMENT {
            return Err(StoreFull);
        }
        if local.segment == usize::MAX || local.used + words > SEGMENT {
            let segment = self.taken.fetch_add(1, Ordering::Relaxed);
            let cell = self.segments.get(segment).ok_or(StoreFull)?;
            cell.get_or_init(|| atomic_words(SEGMENT));
            *local = Local { segment, used: 0, granted: 0 };
        }
        if local.used + words > local.granted {
            let more = words.max(GRANT);
            if self.bytes() + more * 8 > self.limit {
                return Err(StoreFull);
            }
            self.segment_bytes.fetch_add(more * 8, Ordering::Relaxed);
            local.granted += more;
        }
        let segment = self.segment(local.segment);
        // Publishing waits until all is written, so memory must be at hand.
        pages::fetch_to_write(segment.as_ptr().wrapping_add(local.used + WRITE_AHEAD));
        let header = (state.len() as u64) << 32 | u64::from(parent);
        segment[local.used].store(header, Ordering::Relaxed);
        let words = &segment[local.used + 1..local.used + words];
        // SAFETY: the state fits into these words. They belong to this thread until it publishes them,
        // which orders what is written here before whatever others read.
        unsafe {
            let to = words.as_ptr().cast::<u8>().cast_mut();
            std::ptr::copy_nonoverlapping(state.as_ptr(), to, state.len());
        }
        Ok((local.segment << SEGMENT_BITS | local.used) as Place)
    }

    /// The published state at `place`.
    #[inline(always)]
    fn get(&self, place: Place) -> &[u8] {
        let (segment, at) = (self.segment(segment_of(place)), word_of(place));
        let length = (segment[at].load(Ordering::Relaxed) >> 32) as usize;
        let words = &segment[at + 1..at + words_for(length)];
        // SAFETY: so many bytes were written there before the place was published, and never change.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), length) }
    }

    /// Replaces `out` by the state at `place`.
    pub(crate) fn load(&self, place: Place, out: &mut Vec<u8>) {
        let state = self.get(place);
        out.resize(state.len(), 0);
        pages::copy(out, state);
    }

    /// Fetches a state that will be compared or loaded.
    #[inline(always)]
    pub(crate) fn prefetch(&self, place: Place) {
        let address = self.segment(segment_of(place)).as_ptr().wrapping_add(word_of(place));
        pages::fetch(address);
        pages::fetch(address.wrapping_add(8));
    }

    /// The state from which the one at `place` was reached first.
    pub(crate) fn parent(&self, place: Place) -> Place {
        self.segment(segment_of(place))[word_of(place)].load(Ordering::Relaxed) as u32
    }

    #[inline(always)]
    fn segment(&self, number: usize) -> &[AtomicU64] {
        self.segments.get(number).and_then(OnceLock::get).map_or(&[], Vec::as_slice)
    }
}

impl Index {
    fn capacity(&self) -> usize {
        self.slots.len() - MARGIN
    }

    /// Where a state with this hash is, or behind it.
    #[inline(always)]
    pub(crate) fn slot(&self, hash: u64) -> usize {
        slot(hash >> 32, self.capacity())
    }

    #[inline(always)]
    fn prefetch(&self, hash: u64) {
        pages::fetch(self.slots.as_ptr().wrapping_add(self.slot(hash)));
    }
}

impl Local {
    /// No segment yet.
    pub(crate) fn new() -> Self {
        Local { segment: usize::MAX, used: 0, granted: 0 }
    }
}

/// How many states an index of this capacity takes: entries are in no order, so that the search for a
/// state that is not there ends at a free slot only.
fn threshold(capacity: usize) -> usize {
    capacity / 20 * 12
}

/// An index of a larger capacity with the same entries, moved by as many threads as there are `parts`.
fn enlarged(old: &[AtomicU64], capacity: usize, parts: usize) -> Vec<AtomicU64> {
    let new = atomic_words(capacity + MARGIN);
    let behind: Vec<u64> = std::thread::scope(|scope| {
        let part = |at: usize| match at == parts {
            true => old.len(),
            false => (old.len() - MARGIN) * at / parts,
        };
        let new = new.as_slice();
        let spawn = |range: Range<usize>| {
            std::thread::Builder::new().spawn_scoped(scope, move || move_entries(old, range, new))
        };
        let ranges = (1..parts).map(|at| part(at)..part(at + 1));
        let helpers: Vec<_> = ranges.map(|range| (range.clone(), spawn(range))).collect();
        let mut behind = move_entries(old, 0..part(1), new);
        for (range, helper) in helpers {
            match helper.map(|helper| helper.join()) {
                Ok(Ok(more)) => behind.extend(more),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system gives no thread for it.
                Err(_) => behind.extend(move_entries(old, range, new)),
            }
        }
        behind
    });
    for entry in behind {
        let mut at = slot(entry >> 32, capacity);
        while new[at].load(Ordering::Relaxed) != 0 {
            at += 1;
        }
        new[at].store(entry, Ordering::Relaxed);
    }
    new
}

/// Puts the entries of part of an index into the part of a larger one that their tags belong to. Gives back
/// those that do not fit there: no other thread may write to it.
fn move_entries(old: &[AtomicU64], part: Range<usize>, new: &[AtomicU64]) -> Vec<u64> {
    let (old_capacity, capacity) = (old.len() - MARGIN, new.len() - MARGIN);
    let place = |at: usize| match at {
        at if at >= old_capacity => new.len(),
        at => (at as u64 * capacity as u64).div_ceil(old_capacity as u64) as usize,
    };
    let (first, last) = (place(part.start), place(part.end));
    let mut behind = Vec::new();
    for entry in old[part].iter().map(|slot| slot.load(Ordering::Relaxed)).filter(|e| *e != 0) {
        let mut at = slot(entry >> 32, capacity);
        if at < first {
            behind.push(entry);
            continue;
        }
        while at < last && new[at].load(Ordering::Relaxed) != 0 {
            at += 1;
        }
        match at < last {
            true => new[at].store(entry, Ordering::Relaxed),
            false => behind.push(entry),
        }
    }
    behind
}

fn atomic_words(count: usize) -> Vec<AtomicU64> {
    if align_of::<AtomicU64>() != align_of::<u64>() {
        return (0..count).map(|_| AtomicU64::new(0)).collect();
    }
    let mut words = std::mem::ManuallyDrop::new(pages::zeroed::<u64>(count));
    // SAFETY: both types have the same size and, as was just seen, the same alignment, and any number
    // is a value of either.
    unsafe { Vec::from_raw_parts(words.as_mut_ptr().cast(), words.len(), words.capacity()) }
}

#[inline(always)]
fn slot(tag: u64, capacity: usize) -> usize {
    ((tag * capacity as u64) >> 32) as usize
}

/// The words of a state of this length, with its header.
#[inline(always)]
fn words_for(length: usize) -> usize {
    1 + length.div_ceil(8)
}

#[inline(always)]
fn segment_of(place: Place) -> usize {
    (place >> SEGMENT_BITS) as usize
}

#[inline(always)]
fn word_of(place: Place) -> usize {
    place as usize & (SEGMENT - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_on_the_way_to_a_larger_index() {
        let capacity = 1 << 10;
        let old = atomic_words(capacity + MARGIN);
        let mut tag = 7_u64;
        let mut entries = Vec::new();
        for number in 0..capacity as u64 * 3 / 5 {
            tag = tag.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number);
            // Now and then many in one place, and behind the last computed one.
            let tag = if number % 5 == 0 { 0xffff_fff0 } else { tag >> 32 };
            entries.push(tag << 32 | (number + 1));
            let mut at = slot(tag, capacity);
            while old[at].load(Ordering::Relaxed) != 0 {
                at += 1;
            }
            old[at].store(tag << 32 | (number + 1), Ordering::Relaxed);
        }
        for (larger, parts) in [(2 << 10, 1), (2 << 10, 3), (3 << 9, 2), (3 << 9, 7)] {
            let new = enlarged(&old, larger, parts);
            let full = new.iter().filter(|entry| entry.load(Ordering::Relaxed) != 0).count();
            assert_eq!(full, entries.len());
            for entry in &entries {
                let reachable = new[slot(entry >> 32, larger)..].iter();
                let mut reachable = reachable.map(|slot| slot.load(Ordering::Relaxed));
                let found = reachable.by_ref().take_while(|e| *e != 0).any(|e| e == *entry);
                assert!(found, "{entry:x} with {parts} parts");
            }
        }
    }
}
