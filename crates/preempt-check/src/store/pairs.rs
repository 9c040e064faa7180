//! A numbered set of keys, the building block of tree compression: pairs of numbers, or the lowest
//! parts of states.
//!
//! Keys lie [packed](Packed), or as they are, in the order of their numbers; an index of four bytes per entry leads to
//! them. The index is made of cache lines of sixteen entries: a key's entry is in the line that its
//! hash says, or if that is full in the next that is not. An entry spends on the number only the bits
//! that numbers need at the present size, and the rest on a tag, so that hardly any key is compared in
//! vain.
//!
//! Invariant: the entries of a line are its first ones, and between a key's own line and the one with
//! its entry all lines are full.

use super::StoreFull;
use super::lines::Lines;
use super::packed::Packed;

/// A list of keys.
pub(crate) trait Keys: Default {
    type Key: Copy + PartialEq + Default;
    fn len(&self) -> usize;
    /// Memory in use, in bytes.
    fn bytes(&self) -> usize;
    fn get(&self, number: usize) -> Self::Key;
    fn push(&mut self, key: Self::Key);
    /// Asks the processor to fetch a key.
    fn prefetch(&self, number: usize);
    fn hash(key: Self::Key) -> u64;
}

impl Keys for Packed {
    type Key = u64;

    fn len(&self) -> usize {
        Packed::len(self)
    }

    fn bytes(&self) -> usize {
        Packed::bytes(self)
    }

    #[inline(always)]
    fn get(&self, number: usize) -> u64 {
        Packed::get(self, number)
    }

    #[inline(always)]
    fn push(&mut self, key: u64) {
        Packed::push(self, key);
    }

    #[inline(always)]
    fn prefetch(&self, number: usize) {
        Packed::prefetch(self, number);
    }

    #[inline(always)]
    fn hash(key: u64) -> u64 {
        hash(key)
    }
}

/// A set of pairs.
pub(crate) type Pairs = Numbered<Packed>;

/// A set of keys numbered 0, 1, 2, …
#[derive(Debug)]
pub(crate) struct Numbered<K: Keys> {
    keys: K,
    /// 0 = free, otherwise `tag << bits | number + 1`.
    index: Lines<u32, LINE>,
    /// Lines that keys hash to.
    lines: usize,
    bits: u32,
    grow_at: usize,
    /// Keys that were looked up lately, by hash: the parts of states that are explored one after the
    /// other are mostly the same.
    recent: Vec<Recent<K::Key>>,
}

/// A key and its number + 1, or zeroes.
#[derive(Clone, Copy, Default, Debug)]
struct Recent<T> {
    key: T,
    number: u32,
}

/// Recent keys are so many, depending on how many keys there are.
const LEAST_RECENT: usize = 1 << 8;
const MOST_RECENT: usize = 1 << 14;
/// Entries of a line.
pub(super) const LINE: usize = 16;
/// Lines behind the last that keys hash to, so that looking on need not wrap around.
const MARGIN: usize = 1 << 6;
const FIRST_LINES: usize = 1 << 7;

impl<K: Keys> Numbered<K> {
    pub(crate) fn new() -> Self {
        let mut set = Numbered {
            keys: K::default(),
            index: Lines::zeroed(0),
            lines: 0,
            bits: 0,
            grow_at: 0,
            recent: Vec::new(),
        };
        set.set_capacity(FIRST_LINES);
        set
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The keys alone.
    pub(crate) fn into_keys(self) -> K {
        self.keys
    }

    pub(crate) fn bytes(&self) -> usize {
        self.keys.bytes() + self.index.bytes() + self.recent.len() * size_of::<Recent<K::Key>>()
    }

    #[inline(always)]
    pub(crate) fn key(&self, number: u32) -> K::Key {
        self.keys.get(number as usize)
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.index.prefetch(self.line(hash));
    }

    /// Fetches the key that an insertion with this hash will compare, once the index has arrived.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, hash: u64) {
        let line = self.index.line(self.line(hash));
        let found = self.matches(line, hash);
        if found != 0 {
            self.keys.prefetch(self.number_of(line[found.trailing_zeros() as usize % LINE]));
        }
    }

    /// The number of a key, if it is known; otherwise where its entry belongs.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        hash: u64,
        key: K::Key,
        accept: impl Fn(usize) -> bool,
    ) -> Result<u32, usize> {
        let mut at = self.line(hash);
        loop {
            let line = self.index.line(at);
            let mut found = self.matches(line, hash);
            while found != 0 {
                let number = self.number_of(line[found.trailing_zeros() as usize % LINE]);
                if self.keys.get(number) == key && accept(number) {
                    return Ok(number as u32);
                }
                found &= found - 1;
            }
            if line[LINE - 1] == 0 {
                let used = line.iter().filter(|entry| **entry != 0).count();
                return Err(at * LINE + used);
            }
            at += 1;
        }
    }

    /// The number of a key, which is added if it is not known. `room` is how many bytes the set may
    /// still grow by.
    #[inline(always)]
    pub(crate) fn number(
        &mut self,
        hash: u64,
        key: K::Key,
        room: impl FnOnce(&Self) -> usize,
    ) -> Result<u32, StoreFull> {
        let place = |recent: &[Recent<K::Key>]| hash as usize & recent.len().wrapping_sub(1);
        if let Some(recent) = self.recent.get(place(&self.recent))
            && recent.key == key
            && recent.number != 0
        {
            return Ok(recent.number - 1);
        }
        let number = match self.find(hash, key, |_| true) {
            Ok(number) => number,
            Err(at) => {
                let room = room(self);
                let number = self.add(at, hash, key, room)?;
                if self.keys.len() > self.recent.len() * 2 && self.recent.len() < MOST_RECENT {
                    let size = (self.recent.len() * 2).max(LEAST_RECENT);
                    self.recent = vec![Recent::default(); size];
                }
                number
            }
        };
        let at = place(&self.recent);
        self.recent[at] = Recent { key, number: number + 1 };
        Ok(number)
    }

    /// Which entries of a line have the tag of this hash, as bits.
    #[inline(always)]
    fn matches(&self, line: &[u32; LINE], hash: u64) -> u32 {
        let tag = self.tag(hash);
        // Free entries have tag 0 but no number.
        let mut found = lanes_equal(line, self.bits, tag);
        if tag == 0 && found != 0 {
            let used = line.iter().filter(|entry| **entry != 0).count();
            found &= (1 << used) - 1;
        }
        found
    }

    /// Adds a key that is not in the set, where [`Numbered::find`] said. `room` is how many bytes the
    /// set may still grow by.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        at: usize,
        hash: u64,
        key: K::Key,
        room: usize,
    ) -> Result<u32, StoreFull> {
        let number = self.keys.len();
        if number >= self.grow_at || at / LINE + 2 >= self.index.len() {
            return self.add_after_growth(hash, key, room);
        }
        self.keys.push(key);
        self.index.line_mut(at / LINE)[at % LINE] = self.entry(hash, number);
        Ok(number as u32)
    }

    #[cold]
    fn add_after_growth(&mut self, hash: u64, key: K::Key, room: usize) -> Result<u32, StoreFull> {
        // Small steps: memory that is not used would be most of what a state costs.
        let larger = self.lines + (self.lines / 4).max(FIRST_LINES);
        if larger * 64 > room || larger * LINE >= 1 << 31 {
            return Err(StoreFull);
        }
        self.set_capacity(larger);
        match self.find(hash, key, |_| false) {
            Err(at) => self.add(at, hash, key, room),
            Ok(_) => Err(StoreFull),
        }
    }

    fn set_capacity(&mut self, lines: usize) {
        // The old index goes first: it can be computed again from the keys.
        self.index = Lines::zeroed(0);
        self.index = Lines::zeroed(lines + MARGIN);
        self.lines = lines;
        self.grow_at = lines * LINE / 16 * 14;
        self.bits = usize::BITS - (self.grow_at + 1).leading_zeros();
        let mut used = vec![0u8; lines + MARGIN];
        for number in 0..self.keys.len() {
            if number + 16 < self.keys.len() {
                self.prefetch(K::hash(self.keys.get(number + 16)));
            }
            let hash = K::hash(self.keys.get(number));
            let entry = self.entry(hash, number);
            let mut at = self.line(hash);
            while usize::from(used[at]) == LINE {
                at += 1;
            }
            self.index.line_mut(at)[usize::from(used[at]) % LINE] = entry;
            used[at] += 1;
        }
    }

    #[inline(always)]
    fn line(&self, hash: u64) -> usize {
        (((hash >> 32) * self.lines as u64) >> 32) as usize
    }

    #[inline(always)]
    fn number_of(&self, entry: u32) -> usize {
        (entry & ((1 << self.bits) - 1)) as usize - 1
    }

    #[inline(always)]
    fn entry(&self, hash: u64, number: usize) -> u32 {
        self.tag(hash) << self.bits | (number as u32 + 1)
    }

    #[inline(always)]
    fn tag(&self, hash: u64) -> u32 {
        hash as u32 & (u32::MAX >> self.bits)
    }
}

/// Which of the numbers, shifted right, are `wanted`, as bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn lanes_equal(line: &[u32; LINE], shift: u32, wanted: u32) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi32, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_movemask_epi8,
        _mm_packs_epi16, _mm_packs_epi32, _mm_set1_epi32, _mm_srl_epi32,
    };
    // SAFETY: every x86-64 processor has these instructions, and the loads stay inside the line.
    unsafe {
        let (count, wanted) = (_mm_cvtsi32_si128(shift as i32), _mm_set1_epi32(wanted as i32));
        let quarter = |at: usize| {
            let four = _mm_loadu_si128(line.as_ptr().add(at).cast::<__m128i>());
            _mm_cmpeq_epi32(_mm_srl_epi32(four, count), wanted)
        };
        let low = _mm_packs_epi32(quarter(0), quarter(4));
        let high = _mm_packs_epi32(quarter(8), quarter(12));
        _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn lanes_equal(line: &[u32; LINE], shift: u32, wanted: u32) -> u32 {
    let bit = |(at, entry): (usize, &u32)| u32::from(entry >> shift == wanted) << at;
    line.iter().enumerate().map(bit).sum()
}

/// The hash of a pair.
#[inline(always)]
pub(crate) fn hash(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
    let folded = (product as u64) ^ (product >> 64) as u64;
    folded.wrapping_mul(0xa076_1d64_78bd_642f) ^ folded >> 29
}
