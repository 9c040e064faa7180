//! A numbered set of keys for several threads, the building block of tree compression.
//!
//! As [`Numbered`](crate::store::tree::pairs::Numbered): keys lie in the order of their numbers, and an index of four bytes per
//! entry, in cache lines of sixteen, leads to them. Threads take numbers in blocks, so that no two write keys to the same
//! line; a key is written before its entry, two of which share an atomic word. Keys of one word are pairs of numbers, which lie
//! [packed](Blocks). The index consists of the segments of an
//! [extendible table](super::directory); each spends on numbers the bits that they need while it is in use, and the rest of an
//! entry on a tag.
//!
//! Invariant: the entries of a line are its first ones, and between a key's own line and the one with its entry, at most
//! [`FURTHEST`] further, all lines are full. An entry is added only by exchanging the word that was seen with its place free: so
//! all entries before it were seen, and of several threads with the same key one succeeds and the others find its entry.

use super::super::StoreFull;
use super::blocks::{Blocks, Widths};
use super::directory::{Crowded, Directory, HEADER, Layout, Segment, Table, WORDS};
use super::segments::{SEGMENT, SEGMENT_BITS, Segments};
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::platform::{
    FURTHEST_LINE as FURTHEST, LEAST_BITS, NUMBER_BLOCK as BLOCK, RECENT_KEYS as RECENT,
};
use crate::store::memory::pages;
use crate::store::tree::lined::{LINE, lanes_equal};
use crate::store::tree::packed::bits_of;
use preempt_core::Contention;

/// Words of a line.
const LINE_WORDS: usize = LINE / 2;
/// Lines of a segment, the first of which is its header.
const LINES: usize = WORDS / LINE_WORDS;
/// Lines that can be a key's own.
const HOMES: usize = LINES - 1 - FURTHEST;
/// What takes the place of free entries when a segment is split: no entry has a number that large.
const SEALED: u32 = u32::MAX;
const MOST_BITS: u32 = 31;
/// Words of an index for as many entries as there are numbers.
const MOST: usize = 1 << 32;
/// Numbers stay below this: an entry has 32 bits, and a bit of it is left to the tag.
const NUMBERS: usize = (1 << 31) - (1 << 7);

/// A set of keys of `W` words each.
#[derive(Debug)]
pub(super) struct Numbers<const W: usize> {
    /// Keys of one word.
    pairs: Blocks,
    /// All others.
    keys: Segments,
    /// Numbers handed out to threads.
    given: AtomicUsize,
    /// The index, but for its directory.
    pub(super) table: Table,
    hash: fn([u64; W]) -> u64,
}

/// The lines of a segment, for one hash.
#[derive(Clone, Copy, Debug)]
struct Lines<'a> {
    segment: Segment<'a>,
    hash: u64,
}

/// What a thread keeps of a set.
#[derive(Debug)]
pub(super) struct LocalNumbers<const W: usize> {
    /// Numbers that the thread may use, and how wide pairs with these may be.
    next: usize,
    end: usize,
    widths: Widths,
    /// Keys that were looked up lately, and their number + 1: most parts of states that are explored one after the other
    /// are the same, and need no look at what all threads share.
    recent: Vec<([u64; W], u32)>,
}

/// What became of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Numbered {
    Known(u32),
    New(u32),
    /// A segment of the index must be split first.
    Crowded(Crowded),
}

impl<const W: usize> Numbers<W> {
    const ARE_PAIRS: bool = W == 1;

    /// An empty set of keys with this hash function, and the directory of its index.
    pub(super) fn new(hash: fn([u64; W]) -> u64) -> (Self, Directory) {
        let (table, directory) = Table::new(MOST, &Numberless);
        let (pairs, keys) = match Self::ARE_PAIRS {
            true => (Blocks::new(NUMBERS), Segments::new(0)),
            false => (Blocks::new(0), Segments::new(NUMBERS * W)),
        };
        (Numbers { pairs, keys, given: AtomicUsize::new(0), table, hash }, directory)
    }

    pub(super) fn local(&self) -> LocalNumbers<W> {
        LocalNumbers { next: 0, end: 0, widths: Widths::default(), recent: Vec::new() }
    }

    /// Numbers handed out: at least as many as are used.
    pub(super) fn given(&self) -> usize {
        self.given.load(Ordering::Relaxed)
    }

    /// Memory in use, in bytes.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        let keys = match Self::ARE_PAIRS {
            true => self.pairs.bytes() + self.given() / BLOCK * 8,
            false => self.given() * W * 8,
        };
        keys + self.table.bytes()
    }

    #[inline(always)]
    pub(super) fn key(&self, number: u32) -> [u64; W] {
        if Self::ARE_PAIRS {
            return [self.pairs.get(number); W];
        }
        let at = number as usize * W;
        let words = &self.keys.segment(at >> SEGMENT_BITS)[at & (SEGMENT - 1)..][..W];
        std::array::from_fn(|word| words[word].load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub(super) fn prefetch_key(&self, number: u32) {
        match Self::ARE_PAIRS {
            true => self.pairs.prefetch(number),
            false => self.keys.prefetch(number as usize * W),
        }
    }

    /// Fetches the key that an insertion with this hash will compare, once the index has arrived.
    #[inline(always)]
    pub(super) fn prefetch_match(&self, directory: &Directory, hash: u64) {
        let lines = Lines { segment: directory.segment(hash), hash };
        let line = lines.load(lines.home());
        let found = lines.matches(&line);
        if found != 0 {
            self.prefetch_key(lines.number_of(line[found.trailing_zeros() as usize % LINE]));
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
        directory: &Directory,
        (local, contention): (&mut LocalNumbers<W>, &mut Contention),
        (hash, key): (u64, [u64; W]),
        accept: impl Fn(u32) -> bool,
        write: impl Fn(u32) -> Result<(), StoreFull>,
    ) -> Result<Numbered, StoreFull> {
        let lines = Lines { segment: directory.segment(hash), hash };
        let last = lines.home() + FURTHEST;
        let mut at = lines.home();
        let mut mine = None;
        loop {
            let line = lines.load(at);
            // What was published before an entry that was seen is there now.
            fence(Ordering::Acquire);
            let mut found = lines.matches(&line);
            while found != 0 {
                let number = lines.number_of(line[found.trailing_zeros() as usize % LINE]);
                if self.key(number) == key && accept(number) {
                    return Ok(Numbered::Known(number));
                }
                found &= found - 1;
            }
            let free = first_free(&line);
            if free == LINE {
                if at == last {
                    return Ok(Numbered::Crowded(lines.segment.crowded(hash)));
                }
                at += 1;
                continue;
            }
            if line[free] == SEALED {
                return Ok(Numbered::Crowded(lines.segment.crowded(hash)));
            }
            let number = match mine {
                Some(number) => number,
                None => {
                    let number = self.take_number(local, contention, key)? as u32;
                    if !lines.takes(number) {
                        return Ok(Numbered::Crowded(lines.segment.crowded(hash).with_room()));
                    }
                    self.write_key(number, key)?;
                    write(number)?;
                    mine = Some(number);
                    number
                }
            };
            contention.shared_bytes += 8;
            if lines.publish(at, free, &line, lines.entry(number)) {
                local.next += 1;
                return Ok(Numbered::New(number));
            }
            contention.failed_swaps += 1;
        }
    }

    /// As [`Numbers::number`], for a key whose segment was closed: `numbers` are those of keys like it.
    #[cold]
    pub(super) fn number_in_attic(
        &self,
        numbers: &mut Vec<u64>,
        (local, contention): (&mut LocalNumbers<W>, &mut Contention),
        key: [u64; W],
        accept: impl Fn(u32) -> bool,
        write: impl Fn(u32) -> Result<(), StoreFull>,
    ) -> Result<Numbered, StoreFull> {
        let mut known = numbers.iter().map(|number| *number as u32);
        if let Some(number) = known.find(|number| self.key(*number) == key && accept(*number)) {
            return Ok(Numbered::Known(number));
        }
        let number = self.take_number(local, contention, key)? as u32;
        self.write_key(number, key)?;
        write(number)?;
        numbers.push(number.into());
        local.next += 1;
        Ok(Numbered::New(number))
    }

    /// The next number of this thread, which it uses once it has published a key.
    #[inline(always)]
    fn take_number(
        &self,
        local: &mut LocalNumbers<W>,
        contention: &mut Contention,
        key: [u64; W],
    ) -> Result<usize, StoreFull> {
        if local.next == local.end || Self::ARE_PAIRS && !local.widths.fits(key[0]) {
            contention.shared_bytes += 8;
            local.next = self.given.fetch_add(BLOCK, Ordering::Relaxed);
            local.end = local.next + BLOCK;
            if local.end > NUMBERS {
                local.end = local.next;
                return Err(StoreFull);
            }
            if Self::ARE_PAIRS {
                local.widths = local.widths.with(key[0]);
                let begun = self.pairs.begin(local.next / BLOCK, local.widths);
                if begun.is_err() {
                    local.end = local.next;
                }
                begun?;
            }
        }
        Ok(local.next)
    }

    #[inline(always)]
    fn write_key(&self, number: u32, key: [u64; W]) -> Result<(), StoreFull> {
        if Self::ARE_PAIRS {
            self.pairs.set(number, key[0]);
            return Ok(());
        }
        let at = number as usize * W;
        let segment = self.keys.take(at >> SEGMENT_BITS).ok_or(StoreFull)?;
        for (place, word) in segment[at & (SEGMENT - 1)..].iter().zip(key) {
            place.store(word, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Asks the processor to fetch what a look for a key with this hash reads first.
    #[inline(always)]
    pub(super) fn prefetch(directory: &Directory, hash: u64) {
        let lines = Lines { segment: directory.segment(hash), hash };
        pages::fetch(&raw const lines.segment.words[lines.home() * LINE_WORDS]);
    }
}

impl<'a> Lines<'a> {
    /// The line of a key with this hash. Its bits are neither those of the directory nor those of the tag.
    #[inline(always)]
    fn home(self) -> usize {
        1 + (((self.hash & u64::from(u32::MAX)) * HOMES as u64) >> 32) as usize
    }

    /// The bits of an entry that say the number.
    #[inline(always)]
    fn bits(self) -> u32 {
        self.segment.layout as u32
    }

    #[inline(always)]
    fn words(self, line: usize) -> &'a [AtomicU64] {
        &self.segment.words[line * LINE_WORDS..(line + 1) * LINE_WORDS]
    }

    /// The entries of a line, as they are now or have just been.
    #[inline(always)]
    fn load(self, line: usize) -> [u32; LINE] {
        let mut entries = [0; LINE];
        for (pair, word) in entries.as_chunks_mut::<2>().0.iter_mut().zip(self.words(line)) {
            let word = word.load(Ordering::Relaxed);
            *pair = [word as u32, (word >> 32) as u32];
        }
        entries
    }

    /// Puts an entry into a free place of a line that was just seen so; says whether that still was true.
    #[inline(always)]
    fn publish(self, line: usize, free: usize, seen: &[u32; LINE], entry: u32) -> bool {
        let word = &self.words(line)[free / 2];
        let pair = [seen[free & !1], seen[free | 1]];
        let old = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        let new = old | u64::from(entry) << (32 * (free % 2));
        word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Adds a number whose key is not there, if a place for it is near enough.
    fn add(self, number: u32) -> bool {
        let home = self.home();
        for at in home..=home + FURTHEST {
            let line = self.load(at);
            let free = first_free(&line);
            if free < LINE {
                return line[free] == 0 && self.publish(at, free, &line, self.entry(number));
            }
        }
        false
    }

    /// Which entries of a line have the tag of the hash, as bits.
    #[inline(always)]
    fn matches(self, line: &[u32; LINE]) -> u32 {
        let tag = self.tag();
        let mut found = lanes_equal(line, self.bits(), tag);
        // Free entries have tag 0 but no number, sealed ones the greatest tag.
        if (tag == 0 || tag == SEALED >> self.bits()) && found != 0 {
            found &= (1 << first_free(line)) - 1;
        }
        found
    }

    #[inline(always)]
    fn number_of(self, entry: u32) -> u32 {
        number_of(entry, self.bits())
    }

    /// Whether an entry can say this number, and is not taken for a sealed one then.
    #[inline(always)]
    fn takes(self, number: u32) -> bool {
        number < (1 << self.bits()) - 2
    }

    #[inline(always)]
    fn entry(self, number: u32) -> u32 {
        self.tag() << self.bits() | (number + 1)
    }

    #[inline(always)]
    fn tag(self) -> u32 {
        self.hash as u32 & (u32::MAX >> self.bits())
    }
}

#[inline(always)]
fn number_of(entry: u32, bits: u32) -> u32 {
    (entry & ((1 << bits) - 1)).wrapping_sub(1)
}

/// Entries are numbers of keys, from which the hash is computed again.
impl<const W: usize> Layout for Numbers<W> {
    /// The bits of numbers. There will be twice as many before a segment is split again, or a little more.
    fn layout(&self) -> usize {
        bits_of(self.given() as u64 / 2 * 5).clamp(LEAST_BITS, MOST_BITS) as usize
    }

    fn seal(&self, segment: Segment<'_>) {
        seal(segment);
    }

    fn divide(
        &self,
        sealed: Segment<'_>,
        halves: [Segment<'_>; 2],
        choose: impl Fn(u32) -> usize,
        mut left_over: impl FnMut(usize, u32, u64),
    ) {
        let bits = sealed.layout as u32;
        let old = Lines { segment: sealed, hash: 0 };
        let numbers = |line: usize| {
            let used = old.load(line).into_iter().take_while(|entry| *entry != SEALED);
            used.map(move |entry| number_of(entry, bits))
        };
        for line in 1..LINES {
            if line + 1 < LINES {
                numbers(line + 1).for_each(|number| self.prefetch_key(number));
            }
            // What was published before an entry that was seen is there now.
            fence(Ordering::Acquire);
            for number in numbers(line) {
                let hash = (self.hash)(self.key(number));
                let half = choose((hash >> 32) as u32);
                let lines = Lines { segment: halves[half], hash };
                if !lines.takes(number) || !lines.add(number) {
                    left_over(half, (hash >> 32) as u32, number.into());
                }
            }
        }
    }
}

fn seal(segment: Segment<'_>) {
    for word in &segment.words[HEADER..] {
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let sealed = |half: u64| if half == 0 { u64::from(SEALED) } else { half };
            let both = sealed(seen & u64::from(SEALED)) | sealed(seen >> 32) << 32;
            match word.compare_exchange(seen, both, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(other) => seen = other,
            }
        }
    }
}

/// The layout of a set without a number.
struct Numberless;

impl Layout for Numberless {
    fn layout(&self) -> usize {
        LEAST_BITS as usize
    }

    fn seal(&self, segment: Segment<'_>) {
        seal(segment);
    }

    fn divide(
        &self,
        _sealed: Segment<'_>,
        _halves: [Segment<'_>; 2],
        _choose: impl Fn(u32) -> usize,
        _left_over: impl FnMut(usize, u32, u64),
    ) {
    }
}

/// The first place of a line that is free or sealed, or its length. The words of a line are not loaded at one moment: others may
/// have filled some behind a place that was seen free. There an exchange fails, and the line is looked at again.
#[inline(always)]
fn first_free(line: &[u32; LINE]) -> usize {
    line.iter().position(|entry| *entry == 0 || *entry == SEALED).unwrap_or(LINE)
}

#[cfg(test)]
mod tests;
