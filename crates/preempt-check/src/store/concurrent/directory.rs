//! A table that several threads fill and that grows segment by segment: extendible hashing.
//!
//! The first bits of a hash choose an entry of the *directory*, which leads to a *segment* of a few thousand places. A segment
//! that is crowded is split by the next bit into two new ones, while all others stay as they are: so no insertion ever waits for
//! more than the entries of one segment, and old and new table never exist beside each other. (Fagin, Nievergelt,
//! Pippenger and Strong; one thread alone grows by a
//! [boundary](crate::store::exact::ordered) instead, which takes less memory, but which several threads could not agree on.)
//!
//! **Splitting.** What is in a segment never changes, only free places do. The thread that splits it *seals* all free places, by exchanging each
//! for a value that no entry has: then no thread can add anything, all can still find what is there, and the
//! entries are copied to two new segments, which the directory then leads to. A thread that meets a sealed place without having found its
//! key waits for the lock of the one that is splitting, and looks again. When a segment is crowded is not counted, as a count would be
//! written to by all: it is when an entry would come to lie too far from its home. That happens at about five sixths of the
//! places, earlier or later, so that not all segments are split at the same time.
//!
//! **Memory.** A segment that was split is used again as soon as all threads have begun another batch since, as they may have met
//! it before ([`ManyReaders::snapshot`]); its memory is never freed, so that a late look at it does no harm. The
//! directory doubles now and then, in the one moment of exclusion; it is less than a thousandth of the table.
//!
//! **Crowds.** Keys that no bits tell apart would have their segment split for ever. Where a segment is much smaller than
//! the average it is *closed* instead: sealed without a successor, and what belongs there goes to the *attic*, a plain map
//! behind a lock.
//!
//! Invariants: a directory's entries for a segment are all those that begin with its bits. A segment that was sealed has either
//! successors or is closed.

use super::super::StoreFull;
use super::readers::ManyReaders;
use super::segments::{SEGMENT, SEGMENT_BITS, Segments};
use crate::platform::FIRST_DEPTH;
use crate::platform::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::platform::sync::{Mutex, MutexGuard, PoisonError};
use preempt_core::Contention;
use std::collections::HashMap;

pub(super) use crate::platform::TABLE_WORDS as WORDS;
pub(super) const HEADER: usize = 8;
const BYTES: usize = WORDS * 8;
/// A segment may be so many bits deeper than one of the average size.
const DEEPER: u32 = 6;
const DEEPEST: u32 = 30;

/// Which segment a hash belongs to.
#[derive(Debug)]
pub(super) struct Directory {
    /// The address of a segment; in its lowest bits a number of the layout.
    entries: Vec<AtomicPtr<AtomicU64>>,
    /// How many bits of a hash choose an entry.
    depth: u32,
}

/// A segment of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub(super) words: &'a [AtomicU64; WORDS],
    /// What the layout said when the segment was made, below 64.
    pub(super) layout: usize,
}

/// A segment that was found too crowded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Crowded {
    address: usize,
    /// The upper half of the hash that did not fit.
    hash: u32,
    /// Whether the key cannot be in the segment any more: there is no free place for it.
    is_final: bool,
}

impl Crowded {
    /// There is a free place, which another thread may use for the same key.
    pub(super) fn with_room(self) -> Self {
        Crowded { is_final: false, ..self }
    }
}

/// Where there is room for a hash that did not fit.
pub(super) enum Room<'a> {
    /// In another segment: it must be looked for again.
    Elsewhere,
    /// In the attic, if it is not there: what is there has the same upper half of the hash. The thread may not begin to read
    /// before it has let go of the attic, which others may wait for while they read.
    Attic(MutexGuard<'a, Attic>),
}

/// Where the directory is in what many threads read: to look at it, and to change it.
pub(super) type Access<T> = (fn(&T) -> &Directory, fn(&mut T) -> &mut Directory);

/// What belongs to closed segments, by the upper half of its hash.
pub(super) type Attic = HashMap<u32, Vec<u64>>;

/// What segments consist of.
pub(super) trait Layout {
    /// What new segments should be told, below 64.
    fn layout(&self) -> usize;

    /// Replaces all free places by sealed ones.
    fn seal(&self, segment: Segment<'_>);

    /// Copies all entries of a sealed segment to those of `halves` that `choose` says for the upper half of a hash. Entries that
    /// do not fit are given to `left_over`, with that half.
    fn divide(
        &self,
        sealed: Segment<'_>,
        halves: [Segment<'_>; 2],
        choose: impl Fn(u32) -> usize,
        left_over: impl FnMut(usize, u32, u64),
    );
}

/// Memory and locks of a table; its directory is [kept apart](ManyReaders).
#[derive(Debug)]
pub(super) struct Table {
    memory: Segments,
    /// Segments taken from memory.
    taken: AtomicUsize,
    /// Segments of the directory.
    live: AtomicUsize,
    directory_bytes: AtomicUsize,
    splits: Vec<Mutex<()>>,
    pool: Mutex<Pool>,
    attic: Mutex<Attic>,
    /// How many entries one insertion moved at most, and how many were moved in all.
    #[cfg(test)]
    pub(super) moves: (AtomicUsize, AtomicUsize),
}

/// Segments that were split.
#[derive(Default, Debug)]
struct Pool {
    /// No thread looks at these any more.
    free: Vec<usize>,
    /// These will be free when the threads that were counted reading have gone on.
    waiting: Vec<usize>,
    reading: Vec<u64>,
    /// And these some time later.
    split: Vec<usize>,
}

impl Directory {
    #[inline(always)]
    fn entry(&self, hash: u64) -> &AtomicPtr<AtomicU64> {
        &self.entries[(hash >> (64 - self.depth)) as usize]
    }

    /// The segment of a hash.
    #[inline(always)]
    pub(super) fn segment(&self, hash: u64) -> Segment<'_> {
        // In one order for all: a thread that begins to read after a segment was replaced sees its successors.
        let address = self.entry(hash).load(Ordering::SeqCst);
        let layout = address.addr() & 63;
        // SAFETY: entries are addresses of segments, with a number in the bits that are zero in aligned ones. Segments are never
        // freed while there is a directory, which the table outlives.
        let words = unsafe { &*address.map_addr(|a| a & !63).cast::<[AtomicU64; WORDS]>() };
        Segment { words, layout }
    }

    /// Twice as many entries for the same segments.
    fn double(&mut self) {
        let twice = |entry: &AtomicPtr<AtomicU64>| {
            let address = entry.load(Ordering::Relaxed);
            [AtomicPtr::new(address), AtomicPtr::new(address)]
        };
        self.entries = self.entries.iter().flat_map(twice).collect();
        self.depth += 1;
    }

    fn bytes(&self) -> usize {
        self.entries.len() * size_of::<AtomicPtr<AtomicU64>>()
    }
}

impl Segment<'_> {
    fn address(&self) -> usize {
        self.words.as_ptr().addr()
    }

    /// For [`Table::make_room`].
    pub(super) fn crowded(&self, hash: u64) -> Crowded {
        Crowded { address: self.address(), hash: (hash >> 32) as u32, is_final: true }
    }

    /// How many bits its hashes have in common.
    fn depth(&self) -> u32 {
        self.words[0].load(Ordering::Relaxed) as u32
    }

    fn set_depth(&self, depth: u32) {
        self.words[0].store(depth.into(), Ordering::Relaxed);
    }

    /// The number of its memory.
    fn number(&self) -> usize {
        self.words[1].load(Ordering::Relaxed) as usize
    }

    fn is_closed(&self) -> bool {
        self.words[2].load(Ordering::Relaxed) != 0
    }

    fn close(&self, layout: &impl Layout) {
        self.words[2].store(1, Ordering::Relaxed);
        layout.seal(*self);
    }
}

impl Table {
    /// An empty table of at most so many words, and its directory.
    pub(super) fn new(words: usize, layout: &impl Layout) -> (Self, Directory) {
        let table = Table {
            memory: Segments::new(words),
            taken: AtomicUsize::new(0),
            live: AtomicUsize::new(1 << FIRST_DEPTH),
            directory_bytes: AtomicUsize::new(0),
            splits: (0..1 << FIRST_DEPTH).map(|_| Mutex::default()).collect(),
            pool: Mutex::default(),
            attic: Mutex::default(),
            #[cfg(test)]
            moves: Default::default(),
        };
        let first = |_| {
            let segment = table.fresh().expect("the first segments fit into any memory");
            segment.set_depth(FIRST_DEPTH);
            AtomicPtr::new(tagged(segment, layout.layout()))
        };
        let entries = (0..1 << FIRST_DEPTH).map(first).collect();
        let directory = Directory { entries, depth: FIRST_DEPTH };
        table.directory_bytes.store(directory.bytes(), Ordering::Relaxed);
        (table, directory)
    }

    /// Memory in use, in bytes.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.taken.load(Ordering::Relaxed) * BYTES + self.directory_bytes.load(Ordering::Relaxed)
    }

    /// Makes room for a hash in a crowded segment, if so many bytes more may be used: splits it, or waits until another thread has
    /// done that. The thread may not be reading.
    pub(super) fn make_room<'a, T>(
        &'a self,
        (readers, thread): (&ManyReaders<T>, usize),
        (view, change): Access<T>,
        crowded: Crowded,
        layout: &impl Layout,
        may_use: impl Fn(usize) -> bool,
        contention: &mut Contention,
    ) -> Result<Room<'a>, StoreFull> {
        contention.locks += 1;
        let hash = u64::from(crowded.hash) << 32;
        let lock = &self.splits[(hash >> (64 - FIRST_DEPTH)) as usize];
        let _alone = lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let reading = readers.read(thread);
            let current = view(&reading);
            let segment = current.segment(hash);
            if segment.address() != crowded.address {
                return Ok(Room::Elsewhere);
            }
            if segment.is_closed() {
                drop(reading);
                return Ok(self.behind(crowded));
            }
            let depth = segment.depth();
            let average = self.live.load(Ordering::Relaxed).ilog2();
            if depth >= (average + DEEPER).min(DEEPEST) {
                segment.close(layout);
                drop(reading);
                return Ok(self.behind(crowded));
            }
            if depth == current.depth {
                let more = current.bytes();
                drop(reading);
                if !may_use(more) {
                    return Err(StoreFull);
                }
                readers.write(|all| {
                    let directory = change(all);
                    if directory.depth == depth {
                        directory.double();
                        self.directory_bytes.store(directory.bytes(), Ordering::Relaxed);
                    }
                });
                continue;
            }
            let halves = self.take_two(readers, may_use)?;
            self.split(current, hash, segment, halves, layout);
            self.retire(segment);
            contention.shared_bytes += 16;
            return Ok(Room::Elsewhere);
        }
    }

    /// Where to look for a hash whose segment is closed: there once more, if it may have been added meanwhile.
    fn behind(&self, crowded: Crowded) -> Room<'_> {
        if crowded.is_final { Room::Attic(self.attic()) } else { Room::Elsewhere }
    }

    fn attic(&self) -> MutexGuard<'_, Attic> {
        self.attic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn attic_len(&self) -> usize {
        self.attic().values().map(Vec::len).sum()
    }

    /// Replaces a segment by two.
    fn split(
        &self,
        directory: &Directory,
        hash: u64,
        segment: Segment<'_>,
        halves: [Segment<'_>; 2],
        layout: &impl Layout,
    ) {
        layout.seal(segment);
        let depth = segment.depth();
        halves.iter().for_each(|half| half.set_depth(depth + 1));
        let number = layout.layout();
        let halves = halves.map(|half| Segment { layout: number, ..half });
        let mut crowd = Vec::new();
        #[cfg(test)]
        let count = std::cell::Cell::new(0);
        let choose = |hash: u32| {
            #[cfg(test)]
            count.set(count.get() + 1);
            (hash >> (31 - depth) & 1) as usize
        };
        layout.divide(segment, halves, choose, |half, hash, entry| crowd.push((half, hash, entry)));
        #[cfg(test)]
        {
            self.moves.0.fetch_max(count.get(), Ordering::Relaxed);
            self.moves.1.fetch_add(count.get(), Ordering::Relaxed);
        }
        for (half, hash, entry) in crowd {
            halves[half].close(layout);
            self.attic().entry(hash).or_default().push(entry);
        }
        // All entries that begin with the bits of the segment, and then with 0 or 1.
        let below = directory.depth - depth;
        let first = (hash >> (64 - depth)) as usize * (1 << below);
        for at in 0..1 << below {
            let half = halves[at >> (below - 1)];
            directory.entries[first + at].store(tagged(half, number), Ordering::SeqCst);
        }
        self.live.fetch_add(1, Ordering::Relaxed);
    }

    /// Two empty segments, if so many bytes may be used.
    fn take_two<T>(
        &self,
        readers: &ManyReaders<T>,
        may_use: impl Fn(usize) -> bool,
    ) -> Result<[Segment<'_>; 2], StoreFull> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.free.len() < 2 && readers.have_gone_on(&pool.reading) {
            let waiting = std::mem::take(&mut pool.waiting);
            pool.free.extend(waiting);
            pool.waiting = std::mem::take(&mut pool.split);
            readers.snapshot(&mut pool.reading);
        }
        let missing = 2_usize.saturating_sub(pool.free.len());
        if !may_use(missing * BYTES) {
            return Err(StoreFull);
        }
        let mut take = || match pool.free.pop() {
            Some(number) => {
                let segment = self.at(number);
                for word in &segment.words[..] {
                    word.store(0, Ordering::Relaxed);
                }
                segment.words[1].store(number as u64, Ordering::Relaxed);
                Ok(segment)
            }
            None => self.fresh().ok_or(StoreFull),
        };
        Ok([take()?, take()?])
    }

    /// A segment of memory that was never used; `None` when there is no more.
    fn fresh(&self) -> Option<Segment<'_>> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        // One segment less than there is room for in each block of memory, so that all begin with a cache line.
        self.memory.take(number / PER_BLOCK)?;
        let segment = self.at(number);
        segment.words[1].store(number as u64, Ordering::Relaxed);
        Some(segment)
    }

    fn at(&self, number: usize) -> Segment<'_> {
        let block = self.memory.segment(number / PER_BLOCK);
        let skipped = block.as_ptr().align_offset(64).min(HEADER);
        let words = block[skipped + number % PER_BLOCK * WORDS..].first_chunk();
        Segment { words: words.expect("blocks have room for their segments"), layout: 0 }
    }

    /// A segment that was split, and is used again some time later.
    fn retire(&self, segment: Segment<'_>) {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.split.push(segment.number());
    }
}

/// Segments of a block of memory.
const PER_BLOCK: usize = (SEGMENT >> (WORDS.ilog2())) - 1;
const _: () = assert!(SEGMENT == 1 << SEGMENT_BITS);

/// The address of a segment with a number of its layout.
fn tagged(segment: Segment<'_>, layout: usize) -> *mut AtomicU64 {
    debug_assert!(layout < 64 && segment.address().is_multiple_of(64));
    segment.words.as_ptr().cast_mut().map_addr(|address| address | layout)
}
