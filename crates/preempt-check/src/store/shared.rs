//! The exact store that several threads fill together.
//!
//! The index is one table of atomic words, `tag << 32 | place + 1`. A thread writes a state into a
//! segment of its own first, then publishes its place by a single compare-and-swap: readers see
//! either nothing or a finished state, and nobody waits. Segments consist of atomic words too, so
//! no unsafe code is needed; relaxed loads and stores cost nothing extra.
//!
//! Growing the index is the one moment of exclusion: threads hold it shared while they insert a
//! batch, and one of them takes it alone to move its entries to a larger one.
//!
//! Invariant: the words of a published state never change.

use super::{StoreFull, pages};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// Where a state lies: segment and word.
pub(crate) type Place = u32;

const SEGMENT_BITS: u32 = 17;
const SEGMENT: usize = 1 << SEGMENT_BITS;
const SEGMENTS: usize = (1 << (32 - SEGMENT_BITS)) - 1;
const MARGIN: usize = 1 << 10;
const FIRST_CAPACITY: usize = 1 << 16;

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
    limit: usize,
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
    pub(crate) fn new(limit: usize) -> Self {
        Shared {
            index: RwLock::new(Index { slots: atomic_words(FIRST_CAPACITY + MARGIN) }),
            segments: (0..SEGMENTS).map(|_| OnceLock::new()).collect(),
            taken: AtomicUsize::new(0),
            states: AtomicUsize::new(0),
            grow_at: AtomicUsize::new(threshold(FIRST_CAPACITY)),
            index_bytes: AtomicUsize::new((FIRST_CAPACITY + MARGIN) * 8),
            limit,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.states.load(Ordering::Relaxed)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.taken.load(Ordering::Relaxed) * SEGMENT * 8 + self.index_bytes.load(Ordering::Relaxed)
    }

    /// The index, for one batch.
    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the new states of a batch; grows the index if it is crowded. No thread may hold the
    /// index while it calls this.
    pub(crate) fn settle(&self, new: usize, crowded: bool) -> Result<(), StoreFull> {
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
        let slots = atomic_words(larger + MARGIN);
        for entry in index.slots.iter().map(|slot| slot.load(Ordering::Relaxed)) {
            if entry != 0 {
                let mut at = slot(entry >> 32, larger);
                while slots[at].load(Ordering::Relaxed) != 0 {
                    at += 1;
                }
                slots[at].store(entry, Ordering::Relaxed);
            }
        }
        index.slots = slots;
        self.grow_at.store(threshold(larger), Ordering::Relaxed);
        self.index_bytes.store((larger + MARGIN) * 8, Ordering::Relaxed);
        Ok(())
    }

    /// Inserts a state that was reached from the state at `parent`.
    #[inline]
    pub(crate) fn insert(
        &self,
        index: &Index,
        local: &mut Local,
        hash: u64,
        state: &[u8],
        parent: Place,
    ) -> Result<Arrived, StoreFull> {
        let tag = hash >> 32;
        let mut at = index.slot(hash);
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
            if entry >> 32 == tag && self.is_equal((entry as u32).wrapping_sub(1), state) {
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
            if self.bytes() + SEGMENT * 8 > self.limit {
                return Err(StoreFull);
            }
            let segment = self.taken.fetch_add(1, Ordering::Relaxed);
            let cell = self.segments.get(segment).ok_or(StoreFull)?;
            cell.get_or_init(|| atomic_words(SEGMENT));
            *local = Local { segment, used: 0 };
        }
        let segment = self.segment(local.segment);
        let header = (state.len() as u64) << 32 | u64::from(parent);
        segment[local.used].store(header, Ordering::Relaxed);
        let (chunks, rest) = state.as_chunks::<8>();
        let mut at = local.used + 1;
        for chunk in chunks {
            segment[at].store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
            at += 1;
        }
        if !rest.is_empty() {
            segment[at].store(last_word(rest), Ordering::Relaxed);
        }
        Ok((local.segment << SEGMENT_BITS | local.used) as Place)
    }

    #[inline]
    fn is_equal(&self, place: Place, state: &[u8]) -> bool {
        let (segment, at) = (self.segment(segment_of(place)), word_of(place));
        if segment[at].load(Ordering::Relaxed) >> 32 != state.len() as u64 {
            return false;
        }
        let (chunks, rest) = state.as_chunks::<8>();
        let words = &segment[at + 1..at + words_for(state.len())];
        chunks
            .iter()
            .zip(words)
            .all(|(chunk, word)| u64::from_le_bytes(*chunk) == word.load(Ordering::Relaxed))
            && (rest.is_empty()
                || words.last().is_some_and(|w| w.load(Ordering::Relaxed) == last_word(rest)))
    }

    /// Replaces `out` by the state at `place`.
    pub(crate) fn load(&self, place: Place, out: &mut Vec<u8>) {
        let (segment, at) = (self.segment(segment_of(place)), word_of(place));
        let length = (segment[at].load(Ordering::Relaxed) >> 32) as usize;
        out.clear();
        for word in &segment[at + 1..at + words_for(length)] {
            out.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        out.truncate(length);
    }

    /// The state from which the one at `place` was reached first.
    pub(crate) fn parent(&self, place: Place) -> Place {
        self.segment(segment_of(place))[word_of(place)].load(Ordering::Relaxed) as u32
    }

    /// Fetches the state that an insertion with this hash will compare with.
    #[inline]
    pub(crate) fn prefetch_state(&self, index: &Index, hash: u64) {
        let entry = index.slots[index.slot(hash)].load(Ordering::Acquire);
        if entry != 0 && entry >> 32 == hash >> 32 {
            let place = (entry as u32).wrapping_sub(1);
            pages::prefetch(self.segment(segment_of(place)), word_of(place));
        }
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

    #[inline(always)]
    fn slot(&self, hash: u64) -> usize {
        slot(hash >> 32, self.capacity())
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        pages::prefetch(&self.slots, self.slot(hash));
    }
}

impl Local {
    /// No segment yet.
    pub(crate) fn new() -> Self {
        Local { segment: usize::MAX, used: 0 }
    }
}

/// How many states an index of this capacity takes.
fn threshold(capacity: usize) -> usize {
    capacity / 4 * 3
}

fn atomic_words(count: usize) -> Vec<AtomicU64> {
    let mut words = Vec::with_capacity(count);
    pages::advise(&mut words);
    words.extend((0..count).map(|_| AtomicU64::new(0)));
    words
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
fn last_word(rest: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn segment_of(place: Place) -> usize {
    (place >> SEGMENT_BITS) as usize
}

#[inline(always)]
fn word_of(place: Place) -> usize {
    place as usize & (SEGMENT - 1)
}
