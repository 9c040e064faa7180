//! The exact store that several threads fill together.
//!
//! The index has entries `tag << 32 | place + 1`. A thread writes a state into a segment of its own first, then publishes
//! its place: readers see either nothing or a finished state.
//!
//! Invariant: the words of a published state never change; before that only their owner touches them.

use super::super::exact::equal;
use super::super::hash::Quick;
use super::super::{Inserted, Pending, StateId, StoreFull};
use super::directory::{Crowded, Directory, Room};
use super::index::{FURTHEST, Index, SEALED};
use super::segments::{SEGMENT, SEGMENT_BITS, Segments};
use super::{ConcurrentStore, Place, Records, forget};
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::store::exact::sorted::Sorted;
use crate::store::memory::pages;
use preempt_core::Contention;
use std::hint::select_unpredictable;

/// All the words that places can tell apart, but for one segment: a place + 1 is a place.
const WORDS: usize = (1 << 32) - SEGMENT;
/// Words of a segment that are accounted for at once.
const GRANT: usize = 1 << 14;
/// How many words ahead of a state that is written memory is fetched for those to come.
const WRITE_AHEAD: usize = 64;
/// Words of a cache line.
const LINE: usize = 8;
/// Of a longer state only so many lines are fetched ahead, and the last.
const MOST_LINES: usize = 8;

/// An exact store for several threads.
#[derive(Debug)]
pub(crate) struct SharedExact {
    index: Index,
    segments: Segments,
    /// Segments handed out.
    taken: AtomicUsize,
    /// Bytes of segments that threads have asked for, which is a little more than they have used. The
    /// rest of a segment is address space that was never touched.
    segment_bytes: AtomicUsize,
    limit: usize,
    /// Words before the bytes of a state: its length and parent, and perhaps a [record](Records).
    header: usize,
    /// The words of the longest state.
    longest: AtomicUsize,
    hash: Quick,
}

/// The segment that one thread fills, and those it has filled.
#[derive(Debug)]
pub(crate) struct Local {
    thread: usize,
    segment: usize,
    used: usize,
    /// How much of it is accounted for.
    granted: usize,
    /// The words of the longest state that it has written.
    longest: usize,
    /// Segments and how many words of them were used.
    filled: Vec<(usize, usize)>,
    sorted: Sorted,
    contention: Contention,
}

/// What became of a state.
enum Arrived {
    At(Inserted),
    /// A segment of the index must be split first.
    Nowhere(Crowded),
}

impl SharedExact {
    /// A store of at most `limit` bytes for so many threads.
    pub(crate) fn new(limit: usize, threads: usize) -> Self {
        SharedExact {
            index: Index::new(threads),
            segments: Segments::new(WORDS),
            taken: AtomicUsize::new(0),
            segment_bytes: AtomicUsize::new(0),
            limit,
            header: 1,
            longest: AtomicUsize::new(0),
            hash: Quick::new(),
        }
    }

    /// The same with a record beside each state.
    pub(crate) fn with_records(limit: usize, threads: usize) -> Self {
        SharedExact { header: 2, ..SharedExact::new(limit, threads) }
    }

    /// Sets how much memory the store may use from now on.
    pub(crate) fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Sorts a batch that was hashed, and fetches the states to compare with, whose places are the candidates.
    #[inline(always)]
    fn sort(&self, directory: &Directory, batch: &[Pending], sorted: &mut Sorted) {
        sorted.sort(batch, |pending| {
            let tag = pending.hash >> 32;
            let slots = directory.slots(pending.hash);
            let entry = |distance: usize| slots.slot(distance).load(Ordering::Acquire);
            let is_other = |entry: u64| (entry != 0) & (entry >> 32 != tag);
            // Where a state is found, here or one further, no processor can guess: so no branch.
            let mut at = usize::from(is_other(entry(0)));
            let mut found = entry(at);
            while is_other(found) && at < FURTHEST {
                at += 1;
                found = entry(at);
            }
            // Another thread may fill the slot now, or split the segment: the insertion of the state will show.
            let is_known = (found != 0) & (found >> 32 == tag) & (found != SEALED);
            // Where there is nothing to compare with, what is fetched are the words behind the first place.
            let place = select_unpredictable(is_known, found as u32, 1).wrapping_sub(1);
            self.fetch(place, self.words_for(pending.end - pending.start));
            (place as usize, is_known)
        });
    }

    /// Asks the processor to fetch so many words of a state.
    #[inline(always)]
    fn fetch(&self, place: Place, words: usize) {
        let first = self.segments.segment(segment_of(place)).as_ptr().wrapping_add(word_of(place));
        pages::fetch(first);
        pages::fetch(first.wrapping_add(words - 1));
        for line in 1..=(words / LINE).min(MOST_LINES) {
            pages::fetch(first.wrapping_add(line * LINE));
        }
    }

    /// Inserts a state that was reached from the state at `parent`, if it is not in the index.
    #[inline]
    fn insert_one(
        &self,
        directory: &Directory,
        local: &mut Local,
        hash: u64,
        state: &[u8],
        parent: Place,
    ) -> Result<Arrived, StoreFull> {
        let tag = hash >> 32;
        let mut written = None;
        let slots = directory.slots(hash);
        for slot in (0..=FURTHEST).map(|distance| slots.slot(distance)) {
            let mut entry = slot.load(Ordering::Acquire);
            if entry == 0 {
                let place = match written {
                    Some(place) => place,
                    None => self.write(local, state, parent)?,
                };
                written = Some(place);
                let mine = tag << 32 | (u64::from(place) + 1);
                local.contention.shared_bytes += 8;
                match slot.compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => {
                        local.used += self.words_for(state.len());
                        return Ok(Arrived::At(Inserted { id: StateId(place), new: true }));
                    }
                    // Another thread was faster; perhaps with the same state.
                    Err(other) => {
                        local.contention.failed_swaps += 1;
                        entry = other;
                    }
                }
            }
            if entry == SEALED {
                break;
            }
            let place = (entry as u32).wrapping_sub(1);
            if entry >> 32 == tag && equal(self.get(place), state) {
                return Ok(Arrived::At(Inserted { id: StateId(place), new: false }));
            }
        }
        Ok(Arrived::Nowhere(slots.crowded(hash)))
    }

    /// Makes room for a state. If that is in the attic the state is put there; then says what became of it.
    #[cold]
    fn make_room(
        &self,
        local: &mut Local,
        crowded: Crowded,
        hash: u64,
        state: &[u8],
        parent: Place,
    ) -> Result<Option<Inserted>, StoreFull> {
        let may_use = |bytes| self.bytes() + bytes <= self.limit;
        let room = self.index.make_room(local.thread, crowded, may_use, &mut local.contention)?;
        let Room::Attic(mut attic) = room else { return Ok(None) };
        let list = attic.entry((hash >> 32) as u32).or_default();
        let places = list.iter().map(|entry| (*entry as u32).wrapping_sub(1));
        if let Some(place) = places.into_iter().find(|place| equal(self.get(*place), state)) {
            return Ok(Some(Inserted { id: StateId(place), new: false }));
        }
        let place = self.write(local, state, parent)?;
        local.used += self.words_for(state.len());
        list.push(hash >> 32 << 32 | (u64::from(place) + 1));
        Ok(Some(Inserted { id: StateId(place), new: true }))
    }

    /// Writes a state behind the last one of the thread, without keeping it yet.
    fn write(&self, local: &mut Local, state: &[u8], parent: Place) -> Result<Place, StoreFull> {
        let words = self.words_for(state.len());
        if words > SEGMENT - LINE {
            return Err(StoreFull);
        }
        if local.segment == usize::MAX || local.used + words > SEGMENT {
            local.close();
            local.contention.shared_bytes += 8;
            let segment = self.taken.fetch_add(1, Ordering::Relaxed);
            let first = first_word(self.segments.take(segment).ok_or(StoreFull)?);
            (local.segment, local.used, local.granted) = (segment, first, first);
        }
        if words > local.longest {
            local.longest = words;
            local.contention.shared_bytes += 8;
            self.longest.fetch_max(words, Ordering::Relaxed);
        }
        if local.used + words > local.granted {
            let more = words.max(GRANT);
            if self.bytes() + more * 8 > self.limit {
                return Err(StoreFull);
            }
            local.contention.shared_bytes += 8;
            self.segment_bytes.fetch_add(more * 8, Ordering::Relaxed);
            local.granted += more;
        }
        let segment = self.segments.segment(local.segment);
        // Publishing waits until all is written, so memory must be at hand.
        pages::fetch_to_write(segment.as_ptr().wrapping_add(local.used + WRITE_AHEAD));
        let header = (state.len() as u64) << 32 | u64::from(parent);
        segment[local.used].store(header, Ordering::Relaxed);
        if self.header > 1 {
            segment[local.used + 1].store(0, Ordering::Relaxed);
        }
        let words = &segment[local.used + self.header..local.used + words];
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
    pub(crate) fn get(&self, place: Place) -> &[u8] {
        let (segment, at) = (self.segments.segment(segment_of(place)), word_of(place));
        let length = (segment[at].load(Ordering::Relaxed) >> 32) as usize;
        let words = &segment[at + self.header..at + self.words_for(length)];
        // SAFETY: so many bytes were written there before the place was published, and never change.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), length) }
    }

    /// Says something else about the state at `place` than its parent's place; when all threads are done.
    pub(crate) fn set_note(&self, place: Place, note: u32) {
        let header = &self.segments.segment(segment_of(place))[word_of(place)];
        header
            .store(header.load(Ordering::Relaxed) >> 32 << 32 | u64::from(note), Ordering::Relaxed);
    }

    /// The words of a state of this length, with its header.
    #[inline(always)]
    fn words_for(&self, length: usize) -> usize {
        self.header + length.div_ceil(8)
    }

    #[inline(always)]
    fn header(&self, place: Place) -> &AtomicU64 {
        &self.segments.segment(segment_of(place))[word_of(place)]
    }

    /// The places of all states of a segment that a thread [has filled](Local::filled).
    pub(crate) fn places(&self, (segment, used): (usize, usize)) -> impl Iterator<Item = Place> {
        let words = self.segments.segment(segment);
        let mut at = first_word(words);
        std::iter::from_fn(move || {
            let place = (segment << SEGMENT_BITS | at) as Place;
            (at < used).then(|| {
                at += self.words_for((words[at].load(Ordering::Relaxed) >> 32) as usize);
                place
            })
        })
    }
}

impl Local {
    /// The segments with states of this thread, and how many of their words are used.
    pub(crate) fn filled(mut self) -> Vec<(usize, usize)> {
        self.close();
        self.filled
    }

    fn close(&mut self) {
        if self.segment != usize::MAX && self.used > 0 {
            self.filled.push((self.segment, self.used));
            self.used = 0;
        }
    }
}

impl ConcurrentStore for SharedExact {
    type Local = Local;

    fn local(&self, thread: usize) -> Local {
        Local {
            thread,
            segment: usize::MAX,
            used: 0,
            granted: 0,
            longest: 0,
            filled: Vec::new(),
            sorted: Sorted::default(),
            contention: Contention::default(),
        }
    }

    fn insert(
        &self,
        local: &mut Local,
        bytes: &[u8],
        batch: &mut [Pending],
        parents: &[Place],
    ) -> Result<(), StoreFull> {
        forget(batch);
        let mut sorted = std::mem::take(&mut local.sorted);
        let (mut first, mut next) = (true, 0);
        let mut result = Ok(());
        while result.is_ok() && (first || next < sorted.new.len()) {
            let (mut added, mut crowded) = (0, None);
            {
                // Once for the whole batch.
                let directory = self.index.read(local.thread);
                if first {
                    self.hash.hash_all(bytes, batch, |hash| directory.slots(hash).prefetch());
                    self.sort(&directory, batch, &mut sorted);
                }
                let Sorted { candidates, known, new } = &mut sorted;
                for number in known.drain(..) {
                    let pending = &mut batch[number as usize];
                    let place = candidates[number as usize] as Place;
                    match equal(self.get(place), &bytes[pending.start..pending.end]) {
                        true => pending.inserted = Inserted { id: StateId(place), new: false },
                        false => new.push(number),
                    }
                }
                for &number in &new[next..] {
                    let pending = &mut batch[number as usize];
                    let state = &bytes[pending.start..pending.end];
                    let parent = parents[number as usize];
                    match self.insert_one(&directory, local, pending.hash, state, parent) {
                        Ok(Arrived::At(inserted)) => {
                            added += usize::from(inserted.new);
                            pending.inserted = inserted;
                        }
                        Ok(Arrived::Nowhere(segment)) => {
                            crowded = Some((number as usize, segment));
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
            first = false;
            if let Some((number, segment)) = crowded {
                let pending = &mut batch[number];
                let state = &bytes[pending.start..pending.end];
                match self.make_room(local, segment, pending.hash, state, parents[number]) {
                    Ok(None) => {}
                    Ok(Some(inserted)) => {
                        added += usize::from(inserted.new);
                        pending.inserted = inserted;
                        next += 1;
                    }
                    Err(full) => result = Err(full),
                }
            }
            self.index.count(added, &mut local.contention);
        }
        local.sorted = sorted;
        result
    }

    fn load(&self, _local: &mut Local, place: Place, out: &mut Vec<u8>) {
        let state = self.get(place);
        out.resize(state.len(), 0);
        pages::copy(out, state);
    }

    #[inline(always)]
    fn prefetch(&self, place: Place) {
        self.fetch(place, self.longest.load(Ordering::Relaxed).max(1));
    }

    fn parent(&self, place: Place) -> Place {
        self.header(place).load(Ordering::Relaxed) as u32
    }

    fn len(&self) -> usize {
        self.index.len()
    }

    fn bytes(&self) -> usize {
        self.segment_bytes.load(Ordering::Relaxed) + self.index.bytes()
    }

    fn contention(local: &Local) -> Contention {
        local.contention
    }
}

impl Records for SharedExact {
    #[inline(always)]
    fn record(&self, place: Place) -> &AtomicU64 {
        &self.segments.segment(segment_of(place))[word_of(place) + 1]
    }

    #[inline(always)]
    fn prefetch_record(&self, place: Place) {
        self.segments.prefetch(place as usize + 1);
    }
}

/// The first word of a segment that is used: states begin with cache lines where they can.
fn first_word(segment: &[AtomicU64]) -> usize {
    segment.as_ptr().align_offset(64).min(LINE)
}

#[inline(always)]
fn segment_of(place: Place) -> usize {
    (place >> SEGMENT_BITS) as usize
}

#[inline(always)]
fn word_of(place: Place) -> usize {
    place as usize & (SEGMENT - 1)
}
