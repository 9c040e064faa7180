//! The log of visits that several threads write, at the same time the queue of what is to be expanded.
//!
//! A thread takes numbers in blocks and fills them in order. Visits of one block that no thread expands yet are handed on as a
//! range of numbers. A word and a half hold a visit.
//!
//! Invariant: a number is used by the thread that took its block, and read by others only after they were handed it through a
//! lock, or when all threads are done.

use super::visit_log::{Entry, MERGED, NO_PARENT};
use crate::platform::sync::Mutex;
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::search::shared::workers::lock;
use crate::store::StateId;
use crate::store::concurrent::segments::{SEGMENT_BITS, Segments};
use crate::store::memory::pages;
use preempt_core::Contention;
use std::collections::VecDeque;
use std::ops::Range;

/// Visits whose numbers a thread takes at once.
const BLOCK: u32 = 1 << 10;
/// Visits that are handed on together.
const RANGE: u32 = 256;
/// The same where a thread has nothing to do.
const SMALL_RANGE: u32 = 16;

/// The log.
pub(super) struct SharedLog {
    /// Per visit a word: its state, and the visit it came from.
    links: Segments,
    /// Per visit half a word: the last mover, flags, and that the visit was written.
    movers: Segments,
    /// Blocks handed out.
    blocks: AtomicUsize,
    queues: Vec<Queue>,
}

/// Ranges of visits of one thread.
#[derive(Default)]
#[repr(align(128))]
struct Queue {
    ranges: Mutex<VecDeque<Range<u32>>>,
    length: AtomicUsize,
}

impl SharedLog {
    pub(super) fn new(threads: usize) -> Self {
        SharedLog {
            links: Segments::new(1 << 32),
            movers: Segments::new(1 << 31),
            blocks: AtomicUsize::new(0),
            queues: (0..threads).map(|_| Queue::default()).collect(),
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.load(Ordering::Relaxed) * BLOCK as usize * 12
    }

    #[inline(always)]
    fn link(&self, visit: u32) -> &AtomicU64 {
        self.links.word(visit as usize)
    }

    /// The word with the movers of a visit, and where in it they are.
    #[inline(always)]
    fn movers(&self, visit: u32) -> (&AtomicU64, u32) {
        (self.movers.word(visit as usize / 2), visit % 2 * 32)
    }

    #[inline(always)]
    pub(super) fn entry(&self, visit: u32) -> Entry {
        let (link, (movers, shift)) = (self.link(visit), self.movers(visit));
        let link = link.load(Ordering::Relaxed);
        let movers = (movers.load(Ordering::Relaxed) >> shift) as u32;
        Entry {
            state: StateId(link as u32),
            parent: (link >> 32) as u32,
            mover: movers as u16,
            by: (movers >> 16) as u8,
            flags: (movers >> 24) as u8 & !WRITTEN,
        }
    }

    /// Writes a visit, behind those of the same block that were written before.
    #[inline(always)]
    fn write(&self, visit: u32, entry: Entry) {
        let link = u64::from(entry.state.0) | u64::from(entry.parent) << 32;
        self.link(visit).store(link, Ordering::Relaxed);
        // Whatever is exchanged next waits until this is written, so memory for what follows must be at hand.
        pages::fetch_to_write(std::ptr::from_ref(self.link(visit)).wrapping_add(WRITE_AHEAD));
        let flags = u32::from(entry.flags | WRITTEN);
        let movers = u32::from(entry.mover) | u32::from(entry.by) << 16 | flags << 24;
        let (word, shift) = self.movers(visit);
        // Both halves are of one block, so no other thread writes to the word.
        let other = if shift == 0 { 0 } else { word.load(Ordering::Relaxed) };
        word.store(other | u64::from(movers) << shift, Ordering::Relaxed);
    }

    /// The visit to a state with this last mover; when all threads are done.
    pub(super) fn find(&self, id: StateId, mover: u16) -> Option<u32> {
        let end = self.blocks.load(Ordering::Relaxed) as u32 * BLOCK;
        (0..end).find(|visit| {
            let (movers, shift) = self.movers(*visit);
            let is_written = (movers.load(Ordering::Relaxed) >> shift >> 24) as u8 & WRITTEN != 0;
            self.link(*visit).load(Ordering::Relaxed) as u32 == id.0
                && is_written
                && self.entry(*visit).mover == mover
        })
    }

    /// The next block; `None` when there are no more numbers or no memory.
    fn take_block(&self, contention: &mut Contention) -> Option<u32> {
        contention.shared_bytes += 8;
        let block = self.blocks.fetch_add(1, Ordering::Relaxed);
        let first = u32::try_from(block * BLOCK as usize).ok()?;
        first.checked_add(BLOCK).filter(|end| *end < NO_PARENT)?;
        self.links.take(first as usize >> SEGMENT_BITS)?;
        self.movers.take((first as usize / 2) >> SEGMENT_BITS)?;
        Some(first)
    }

    /// The oldest range of the thread's own queue, or of another's.
    fn take(&self, thread: usize, contention: &mut Contention) -> Option<Range<u32>> {
        let threads = self.queues.len();
        (0..threads).find_map(|distance| {
            let queue = &self.queues[(thread + distance) % threads];
            if queue.length.load(Ordering::SeqCst) == 0 {
                return None;
            }
            contention.locks += 1;
            contention.shared_bytes += 24;
            let mut ranges = lock(&queue.ranges);
            let range = ranges.pop_front();
            queue.length.store(ranges.len(), Ordering::SeqCst);
            range
        })
    }

    fn put(&self, thread: usize, range: Range<u32>, contention: &mut Contention) {
        contention.locks += 1;
        contention.shared_bytes += 24;
        let queue = &self.queues[thread];
        let mut ranges = lock(&queue.ranges);
        ranges.push_back(range);
        queue.length.store(ranges.len(), Ordering::SeqCst);
    }

    /// Ranges that wait.
    pub(super) fn waiting(&self) -> u64 {
        let lengths = self.queues.iter().map(|queue| queue.length.load(Ordering::Relaxed));
        lengths.sum::<usize>() as u64 * u64::from(RANGE)
    }
}

/// How many visits ahead of the one that is written memory is fetched for those to come.
const WRITE_AHEAD: usize = 32;
/// Tells a visit from memory that was never written to. No flag of visits has this value.
const WRITTEN: u8 = 1 << 7;

/// Where a thread writes.
pub(super) struct Cursor {
    thread: usize,
    /// The first visit that was not handed on.
    open: u32,
    /// The next number.
    next: u32,
    /// The end of the block.
    end: u32,
}

impl Cursor {
    pub(super) fn new(thread: usize) -> Self {
        Cursor { thread, open: 0, next: 0, end: 0 }
    }

    /// Writes a visit; `None` where no more can be numbered.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        log: &SharedLog,
        entry: Entry,
        contention: &mut Contention,
    ) -> Option<()> {
        if self.next == self.end {
            self.hand_on(log, contention);
            let first = log.take_block(contention)?;
            (self.open, self.next, self.end) = (first, first, first + BLOCK);
        }
        // What is merged into another visit is not expanded: a range that begins with it need not hold it.
        if entry.is(MERGED) && self.open == self.next {
            self.open += 1;
        }
        log.write(self.next, entry);
        self.next += 1;
        Some(())
    }

    /// Hands on what is enough to be worth it.
    pub(super) fn share(&mut self, log: &SharedLog, is_wanted: bool, contention: &mut Contention) {
        let waiting = self.next - self.open;
        if waiting >= RANGE || is_wanted && waiting >= SMALL_RANGE {
            self.hand_on(log, contention);
        }
    }

    fn hand_on(&mut self, log: &SharedLog, contention: &mut Contention) {
        if self.open < self.next {
            log.put(self.thread, self.open..self.next, contention);
            self.open = self.next;
        }
    }

    /// What to expand next.
    pub(super) fn take(
        &mut self,
        log: &SharedLog,
        contention: &mut Contention,
    ) -> Option<Range<u32>> {
        if self.open < self.next && log.queues[self.thread].length.load(Ordering::SeqCst) == 0 {
            let range = self.open..self.next;
            self.open = self.next;
            return Some(range);
        }
        log.take(self.thread, contention)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(thread: u32, number: u32) -> Entry {
        Entry {
            state: StateId(number.wrapping_mul(0x9e37_79b1)),
            parent: number ^ thread << 31,
            mover: (number % 7 + 7 * thread) as u16,
            by: number as u8,
            flags: number as u8 & 15 & !MERGED,
        }
    }

    /// Whatever two threads log in turns can be read, is handed on once, and takes twelve bytes.
    #[test]
    fn visits_of_two_threads() {
        let log = SharedLog::new(2);
        let mut contention = Contention::default();
        let mut cursors = [Cursor::new(0), Cursor::new(1)];
        let mut places = Vec::new();
        for number in 0..5_001 {
            for (thread, cursor) in (0..).zip(&mut cursors) {
                let entry = entry(thread, number);
                cursor.push(&log, entry, &mut contention).expect("there are numbers");
                places.push((cursor.next - 1, entry));
            }
        }
        let fields = |entry: Entry| (entry.state, entry.parent, entry.mover, entry.by, entry.flags);
        for (place, expected) in &places {
            assert_eq!(fields(log.entry(*place)), fields(*expected), "visit {place}");
        }
        for (place, expected) in places.iter().step_by(997) {
            assert_eq!(log.find(expected.state, expected.mover), Some(*place));
            assert_eq!(log.find(expected.state, expected.mover + 14), None);
        }
        assert_eq!(log.find(StateId(0), 0), Some(places[0].0), "unwritten visits are not found");
        assert_eq!(log.bytes(), 2 * 5 * 1024 * 12);
        let mut taken: Vec<u32> = Vec::new();
        for cursor in &mut cursors {
            while let Some(range) = cursor.take(&log, &mut contention) {
                taken.extend(range);
            }
        }
        taken.sort_unstable();
        places.sort_unstable_by_key(|(place, _)| *place);
        assert_eq!(taken, places.iter().map(|(place, _)| *place).collect::<Vec<_>>());
    }
}
