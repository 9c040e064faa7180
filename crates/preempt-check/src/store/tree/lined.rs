//! A table of cache lines with sixteen entries each, the index of a [numbered set](crate::store::tree::pairs::Numbered).
//!
//! A key's entry is in the line that its hash says, or if that is full in the next that is not. An entry has four bytes: as
//! many bits for the number as numbers need at this size, and the rest for a tag, so that hardly any key is compared in vain.
//!
//! Invariant: the entries of a line are its first ones, and between a key's own line and the one with its entry all lines
//! are full; the last line is empty.

use crate::store::memory::lines::Lines;

/// Entries of a line.
pub(in crate::store) const LINE: usize = 16;
/// Lines behind the last that keys hash to, so that looking on need not wrap around.
const MARGIN: usize = 1 << 6;

/// The table.
#[derive(Debug)]
pub(in crate::store) struct Lined {
    /// 0 = free, otherwise `tag << bits | number + 1`.
    lines: Lines<u32, LINE>,
    /// Lines that keys hash to.
    count: usize,
    bits: u32,
}

impl Lined {
    /// With so many lines for keys.
    pub(in crate::store) fn new(count: usize) -> Self {
        let most = count * LINE / 16 * 15;
        Lined { lines: Lines::zeroed(count + MARGIN), count, bits: bits_for(most) }
    }

    /// Without a line.
    pub(in crate::store) fn none() -> Self {
        Lined { lines: Lines::zeroed(0), count: 0, bits: 1 }
    }

    pub(in crate::store) fn bytes_of(count: usize) -> usize {
        (count + MARGIN + 1) * 64
    }

    /// Memory in use, in bytes.
    #[inline(always)]
    pub(in crate::store) fn bytes(&self) -> usize {
        self.lines.bytes()
    }

    /// Lines that keys hash to.
    #[inline(always)]
    pub(in crate::store) fn count(&self) -> usize {
        self.count
    }

    /// All lines.
    pub(in crate::store) fn len(&self) -> usize {
        self.lines.len()
    }

    /// With so many numbers the table is crowded. A few more fit while they are moved to another.
    pub(in crate::store) fn crowded_at(&self) -> usize {
        self.count * LINE / 16 * 14
    }

    /// Whether an entry has enough bits for this number.
    #[inline(always)]
    pub(in crate::store) fn takes(&self, number: usize) -> bool {
        number + 1 < 1 << self.bits
    }

    /// The line that a key with this hash belongs to.
    #[inline(always)]
    pub(in crate::store) fn home(&self, hash: u64) -> usize {
        (((hash >> 32) * self.count as u64) >> 32) as usize
    }

    /// The lowest upper half of a hash that belongs to this line or one behind it.
    pub(in crate::store) fn lowest_hash(&self, line: usize) -> u64 {
        ((line as u128) << 32).div_ceil(self.count.max(1) as u128).min(1 << 32) as u64
    }

    #[inline(always)]
    pub(in crate::store) fn prefetch(&self, hash: u64) {
        self.lines.prefetch(self.home(hash));
    }

    #[inline(always)]
    pub(in crate::store) fn line(&self, at: usize) -> &[u32; LINE] {
        self.lines.line(at)
    }

    /// Which entries of a line have the tag of this hash, as bits.
    #[inline(always)]
    pub(in crate::store) fn matches(&self, line: &[u32; LINE], hash: u64) -> u32 {
        let tag = self.tag(hash);
        // Free entries have tag 0 but no number.
        let mut found = lanes_equal(line, self.bits, tag);
        if tag == 0 && found != 0 {
            found &= (1 << used(line)) - 1;
        }
        found
    }

    /// The number that an entry says.
    #[inline(always)]
    pub(in crate::store) fn number_of(&self, entry: u32) -> usize {
        (entry & ((1 << self.bits) - 1)) as usize - 1
    }

    /// The numbers in a line.
    #[inline(always)]
    pub(in crate::store) fn numbers(&self, line: usize) -> impl Iterator<Item = usize> {
        self.line(line).iter().take_while(|entry| **entry != 0).map(|entry| self.number_of(*entry))
    }

    /// Puts in an entry at a free place, the first of its line.
    #[inline(always)]
    pub(in crate::store) fn put(&mut self, at: usize, hash: u64, number: usize) {
        let entry = self.tag(hash) << self.bits | (number as u32 + 1);
        self.lines.line_mut(at / LINE)[at % LINE] = entry;
    }

    /// Puts in an entry where it belongs.
    #[inline(always)]
    pub(in crate::store) fn add(&mut self, hash: u64, number: usize) {
        let mut line = self.home(hash);
        let used = loop {
            match used(self.line(line)) {
                LINE => line += 1,
                used => break used,
            }
        };
        if self.is_last(line) {
            self.lengthen();
        }
        self.put(line * LINE + used, hash, number);
    }

    /// Whether nothing may be put into this line before the table is [longer](Self::lengthen).
    #[inline(always)]
    pub(in crate::store) fn is_last(&self, line: usize) -> bool {
        line + 2 >= self.lines.len()
    }

    /// Adds lines behind the last: more keys than fit have the highest hashes.
    #[cold]
    pub(in crate::store) fn lengthen(&mut self) {
        let all = self.lines.len();
        let mut longer = Lines::zeroed(all + MARGIN.max(all / 8));
        for line in 0..all {
            *longer.line_mut(line) = *self.lines.line(line);
        }
        self.lines = longer;
    }

    /// Gives back the memory of the lines before this one. That was done for `released` bytes before; says for how many it is
    /// now.
    pub(in crate::store) fn release(&mut self, line: usize, released: usize) -> usize {
        self.lines.release(line, released)
    }

    #[inline(always)]
    fn tag(&self, hash: u64) -> u32 {
        hash as u32 & (u32::MAX >> self.bits)
    }
}

/// How many entries of a line are used.
#[inline(always)]
pub(in crate::store) fn used(line: &[u32; LINE]) -> usize {
    (lanes_equal(line, 0, 0) | 1 << LINE).trailing_zeros() as usize
}

/// The bits of numbers up to this one, plus 1.
fn bits_for(most: usize) -> u32 {
    usize::BITS - (most + 1).leading_zeros()
}

/// Which of the numbers, shifted right, are `wanted`, as bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(in crate::store) fn lanes_equal(line: &[u32; LINE], shift: u32, wanted: u32) -> u32 {
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
pub(in crate::store) fn lanes_equal(line: &[u32; LINE], shift: u32, wanted: u32) -> u32 {
    let bit = |(at, entry): (usize, &u32)| u32::from(entry >> shift == wanted) << at;
    line.iter().enumerate().map(bit).sum()
}
