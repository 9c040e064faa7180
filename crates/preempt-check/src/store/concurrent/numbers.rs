//! A numbered set of keys for several threads, the building block of tree compression.
//!
//! As [`Numbered`](super::super::pairs::Numbered): keys lie in the order of their numbers, and an index of four bytes per
//! entry, in cache lines of sixteen, leads to them. Threads take numbers in blocks, so that no two write keys to the same
//! line; a key is written before its entry, two of which share an atomic word.
//!
//! Invariant: the entries of a line are its first ones, and between a key's own line and the one with its entry all
//! lines are full. An entry is added only by exchanging the word that was seen with its place free: so all entries before
//! it were seen, and of several threads with the same key one succeeds and the others find its entry.

use super::super::StoreFull;
use super::super::pages;
use super::super::pairs::{LINE, lanes_equal};
use super::growth::in_parts;
use super::segments::{SEGMENT, SEGMENT_BITS, Segments, atomic_words};
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::platform::{
    FIRST_LINES, LINE_BYTES, LINE_MARGIN as MARGIN, NUMBER_BLOCK as BLOCK, RECENT_KEYS as RECENT,
};
use preempt_core::Contention;

/// Words of a line.
const LINE_WORDS: usize = LINE / 2;
/// Below this the index doubles; then it grows by half.
const SMALL_LINES: usize = 1 << 16;
/// From here on entries are moved by several threads.
const LARGE_LINES: usize = 1 << 14;
/// Numbers stay below this: an entry has 32 bits, and a bit of it is left to the tag.
const NUMBERS: usize = (1 << 31) - (1 << 7);

/// A set of keys of `W` words each.
#[derive(Debug)]
pub(super) struct Numbers<const W: usize> {
    keys: Segments,
    /// Numbers handed out to threads.
    given: AtomicUsize,
}

/// Where the keys of a set are.
#[derive(Debug)]
pub(super) struct NumberIndex {
    words: Vec<AtomicU64>,
    /// Words before the first whole line.
    skipped: usize,
    /// Lines that keys hash to.
    lines: usize,
    /// Bits of an entry that say the number.
    bits: u32,
    /// Numbers in the index stay below this.
    most: usize,
}

/// What a thread keeps of a set.
#[derive(Debug)]
pub(super) struct LocalNumbers<const W: usize> {
    /// Numbers that the thread may use.
    next: usize,
    end: usize,
    /// Keys that were looked up lately, and their number + 1: most parts of states that are explored one after the other
    /// are the same, and need no look at what all threads share.
    recent: Vec<([u64; W], u32)>,
}

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Numbered {
    Known(u32),
    New(u32),
    /// The index must grow first.
    Crowded,
}

impl<const W: usize> Numbers<W> {
    pub(super) fn new() -> Self {
        Numbers { keys: Segments::new(NUMBERS * W), given: AtomicUsize::new(0) }
    }

    pub(super) fn local(&self) -> LocalNumbers<W> {
        LocalNumbers { next: 0, end: 0, recent: Vec::new() }
    }

    /// Numbers handed out: at least as many as are used.
    pub(super) fn given(&self) -> usize {
        self.given.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.given() * W * 8
    }

    #[inline(always)]
    pub(super) fn key(&self, number: u32) -> [u64; W] {
        let at = number as usize * W;
        let words = &self.keys.segment(at >> SEGMENT_BITS)[at & (SEGMENT - 1)..][..W];
        std::array::from_fn(|word| words[word].load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub(super) fn prefetch_key(&self, number: u32) {
        self.keys.prefetch(number as usize * W);
    }

    /// Fetches the key that an insertion with this hash will compare, once the index has arrived.
    #[inline(always)]
    pub(super) fn prefetch_match(&self, index: &NumberIndex, hash: u64) {
        let line = index.load(index.line(hash));
        let found = index.matches(&line, hash);
        if found != 0 {
            self.prefetch_key(index.number_of(line[found.trailing_zeros() as usize % LINE]));
        }
    }

    /// The number of a key that the thread looked up lately.
    #[inline(always)]
    pub(super) fn recent(&self, local: &LocalNumbers<W>, hash: u64, key: [u64; W]) -> Option<u32> {
        let (known, number) = local.recent.get(hash as usize % RECENT)?;
        (*known == key && *number != 0).then(|| *number - 1)
    }

    /// Remembers the number of a key for [`Numbers::recent`].
    #[inline(always)]
    pub(super) fn remember(
        &self,
        local: &mut LocalNumbers<W>,
        hash: u64,
        key: [u64; W],
        number: u32,
    ) {
        if local.recent.is_empty() {
            local.recent = vec![([0; W], 0); RECENT];
        }
        local.recent[hash as usize % RECENT] = (key, number + 1);
    }

    /// The number of a key, which is added if it is not known. `accept` says whether a number with this key is meant;
    /// `write` is told the number of a key that is about to be published.
    #[inline(always)]
    pub(super) fn number(
        &self,
        index: &NumberIndex,
        (local, contention): (&mut LocalNumbers<W>, &mut Contention),
        (hash, key): (u64, [u64; W]),
        accept: impl Fn(u32) -> bool,
        mut write: impl FnMut(u32) -> Result<(), StoreFull>,
    ) -> Result<Numbered, StoreFull> {
        let mut at = index.line(hash);
        let mut mine = None;
        loop {
            let line = index.load(at);
            // What was published before an entry that was seen is there now.
            fence(Ordering::Acquire);
            let mut found = index.matches(&line, hash);
            while found != 0 {
                let number = index.number_of(line[found.trailing_zeros() as usize % LINE]);
                if self.key(number) == key && accept(number) {
                    return Ok(Numbered::Known(number));
                }
                found &= found - 1;
            }
            let free = first_free(&line);
            if free == LINE {
                at += 1;
                if at + 1 >= index.lines + MARGIN {
                    return Ok(Numbered::Crowded);
                }
                continue;
            }
            let number = match mine {
                Some(number) => number,
                None => {
                    let number = self.take_number(local, contention)?;
                    if number >= index.most {
                        return Ok(Numbered::Crowded);
                    }
                    let number = number as u32;
                    self.write_key(number, key)?;
                    write(number)?;
                    mine = Some(number);
                    number
                }
            };
            contention.shared_bytes += 8;
            if index.publish(at, free, &line, index.entry(hash, number)) {
                local.next += 1;
                return Ok(Numbered::New(number));
            }
            contention.failed_swaps += 1;
        }
    }

    /// The next number of this thread, which it uses once it has published a key.
    #[inline(always)]
    fn take_number(
        &self,
        local: &mut LocalNumbers<W>,
        contention: &mut Contention,
    ) -> Result<usize, StoreFull> {
        if local.next == local.end {
            contention.shared_bytes += 8;
            local.next = self.given.fetch_add(BLOCK, Ordering::Relaxed);
            local.end = local.next + BLOCK;
            if local.end > NUMBERS {
                local.end = local.next;
                return Err(StoreFull);
            }
        }
        Ok(local.next)
    }

    #[inline(always)]
    fn write_key(&self, number: u32, key: [u64; W]) -> Result<(), StoreFull> {
        let at = number as usize * W;
        let segment = self.keys.take(at >> SEGMENT_BITS).ok_or(StoreFull)?;
        for (place, word) in segment[at & (SEGMENT - 1)..].iter().zip(key) {
            place.store(word, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The index that follows on this one; all that is in it is moved by as many threads as there are.
    pub(super) fn enlarged(
        &self,
        old: &NumberIndex,
        lines: usize,
        threads: usize,
        hash: impl Fn([u64; W]) -> u64 + Sync,
    ) -> NumberIndex {
        let new = NumberIndex::new(lines);
        let parts = if old.lines < LARGE_LINES { 1 } else { threads.max(1) };
        let all = old.lines + MARGIN;
        in_parts(parts, |part| {
            let range = all * part / parts..all * (part + 1) / parts;
            let numbers = |line: usize| {
                old.load(line).into_iter().take_while(|e| *e != 0).map(|e| old.number_of(e))
            };
            for line in range.clone() {
                if line + 1 < range.end {
                    numbers(line + 1).for_each(|number| self.prefetch_key(number));
                }
                for number in numbers(line) {
                    new.add(hash(self.key(number)), number);
                }
            }
        });
        new
    }
}

impl NumberIndex {
    pub(super) fn first() -> Self {
        NumberIndex::new(FIRST_LINES)
    }

    fn new(lines: usize) -> Self {
        let words = atomic_words((lines + MARGIN + 1) * LINE_WORDS);
        let skipped = words.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS);
        let most = (lines * LINE / 16 * 13).min(NUMBERS);
        let bits = usize::BITS - (most + 1).leading_zeros();
        NumberIndex { words, skipped, lines, bits, most }
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// How many lines to grow to, and how many bytes an index with them takes.
    pub(super) fn larger(&self) -> (usize, usize) {
        let lines = match self.lines {
            0..SMALL_LINES => self.lines * 2,
            lines => lines / 2 * 3,
        };
        (lines, (lines + MARGIN + 1) * 64)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        let at = self.skipped + self.line(hash) * LINE_WORDS;
        pages::fetch(self.words.as_ptr().wrapping_add(at));
    }

    /// The entries of a line, as they are now or have just been.
    #[inline(always)]
    fn load(&self, line: usize) -> [u32; LINE] {
        let start = self.skipped + line * LINE_WORDS;
        let words = &self.words[start..start + LINE_WORDS];
        let mut entries = [0; LINE];
        for (pair, word) in entries.as_chunks_mut::<2>().0.iter_mut().zip(words) {
            let word = word.load(Ordering::Relaxed);
            *pair = [word as u32, (word >> 32) as u32];
        }
        entries
    }

    /// Puts an entry into a free place of a line that was just seen so; says whether that still was true.
    #[inline(always)]
    fn publish(&self, line: usize, free: usize, seen: &[u32; LINE], entry: u32) -> bool {
        let word = &self.words[self.skipped + line * LINE_WORDS + free / 2];
        let pair = [seen[free & !1], seen[free | 1]];
        let old = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        let new = old | u64::from(entry) << (32 * (free % 2));
        word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Adds a number whose key is not in the index.
    fn add(&self, hash: u64, number: u32) {
        let mut at = self.line(hash);
        loop {
            let line = self.load(at);
            let free = first_free(&line);
            if free == LINE {
                at += 1;
                continue;
            }
            if self.publish(at, free, &line, self.entry(hash, number)) {
                return;
            }
        }
    }

    /// Which entries of a line have the tag of this hash, as bits.
    #[inline(always)]
    fn matches(&self, line: &[u32; LINE], hash: u64) -> u32 {
        let tag = self.tag(hash);
        // Free entries have tag 0 but no number.
        let mut found = lanes_equal(line, self.bits, tag);
        if tag == 0 && found != 0 {
            found &= (1 << first_free(line)) - 1;
        }
        found
    }

    #[inline(always)]
    fn line(&self, hash: u64) -> usize {
        (((hash >> 32) * self.lines as u64) >> 32) as usize
    }

    #[inline(always)]
    fn number_of(&self, entry: u32) -> u32 {
        (entry & ((1 << self.bits) - 1)).wrapping_sub(1)
    }

    #[inline(always)]
    fn entry(&self, hash: u64, number: u32) -> u32 {
        self.tag(hash) << self.bits | (number + 1)
    }

    #[inline(always)]
    fn tag(&self, hash: u64) -> u32 {
        hash as u32 & (u32::MAX >> self.bits)
    }
}

/// The first free place of a line, or its length. The words of a line are not loaded at one moment: others may have filled
/// some behind a place that was seen free. There an exchange fails, and the line is looked at again.
#[inline(always)]
fn first_free(line: &[u32; LINE]) -> usize {
    line.iter().position(|entry| *entry == 0).unwrap_or(LINE)
}

#[cfg(test)]
mod tests {
    use super::super::readers::ManyReaders;
    use super::*;
    use crate::platform::MOST_SEGMENTS;

    fn hash([key]: [u64; 1]) -> u64 {
        super::super::super::pairs::hash(key)
    }

    /// A line whose first words were loaded before others filled it: neither may an entry be put over one of those seen
    /// behind the gap, nor may the line be passed by as a full one.
    #[test]
    fn a_line_that_fills_while_it_is_loaded_is_not_trusted() {
        let index = NumberIndex::first();
        for number in 0..LINE as u32 {
            index.add(7, number);
        }
        let mut torn = index.load(index.line(7));
        assert_eq!(first_free(&torn), LINE);
        (torn[4], torn[5]) = (0, 0);
        let free = first_free(&torn);
        assert_eq!(free, 4);
        assert!(!index.publish(index.line(7), free, &torn, index.entry(7, 99)));
        assert_eq!(index.matches(&torn, 0) >> 4, 0, "what is behind the gap was not seen");
    }

    /// Threads add the same keys in different orders: every key gets one number, told to one thread as new.
    #[test]
    fn every_key_gets_one_number() {
        const THREADS: usize = 4;
        const WORDS: usize = MOST_SEGMENTS.saturating_mul(SEGMENT);
        const KEYS: u64 = if WORDS < 1 << 20 { 500 } else { 60_000 };
        let numbers = Numbers::<1>::new();
        let index = ManyReaders::new(NumberIndex::first(), THREADS);
        let results = in_parts(THREADS, |thread| {
            let (mut local, mut contention) = (numbers.local(), Contention::default());
            let mut found = vec![0; KEYS as usize];
            let mut new = 0;
            for at in 0..KEYS {
                let key = (at * 7 + thread as u64 * 1001 * (at % 3)) % KEYS;
                loop {
                    let numbered = numbers.number(
                        &index.read(thread),
                        (&mut local, &mut contention),
                        (hash([key]), [key]),
                        |_| true,
                        |_| Ok(()),
                    );
                    let (number, is_new) = match numbered.expect("there is room") {
                        Numbered::Known(number) => (number, 0),
                        Numbered::New(number) => (number, 1),
                        Numbered::Crowded => {
                            index.write(|index| {
                                if numbers.given() >= index.most {
                                    *index = numbers.enlarged(index, index.larger().0, 2, hash);
                                }
                            });
                            continue;
                        }
                    };
                    found[key as usize] = number + 1;
                    new += is_new;
                    break;
                }
            }
            (found, new)
        });
        let index = index.read(0);
        let mut keys: Vec<u64> = Vec::new();
        for key in 0..KEYS {
            let given: Vec<u32> =
                results.iter().map(|(found, _)| found[key as usize]).filter(|n| *n != 0).collect();
            let Some(first) = given.first() else { continue };
            assert!(given.iter().all(|number| number == first), "key {key}: {given:?}");
            assert_eq!(numbers.key(first - 1), [key]);
            let mine = (&mut numbers.local(), &mut Contention::default());
            let again = numbers.number(&index, mine, (hash([key]), [key]), |_| true, |_| Ok(()));
            assert_eq!(again, Ok(Numbered::Known(first - 1)));
            keys.push(key);
        }
        assert_eq!(results.iter().map(|(_, new)| new).sum::<usize>(), keys.len());
    }
}
