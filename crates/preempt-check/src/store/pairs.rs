//! A numbered set of pairs, the building block of tree compression.
//!
//! Keys lie in the order of their numbers; an open-addressing index of four bytes per entry leads
//! to them. An index entry spends on the number only the bits that numbers need at the present
//! size, and the rest on a tag, so that hardly any key is compared in vain.
//!
//! Invariant: an entry lies at its key's slot or behind it with no free slot in between.

use super::{StoreFull, pages};

/// A set of 64-bit keys numbered 0, 1, 2, …
#[derive(Debug)]
pub(crate) struct Pairs {
    keys: Vec<u64>,
    /// 0 = free, otherwise `tag << bits | number + 1`.
    index: Vec<u32>,
    bits: u32,
    grow_at: usize,
}

/// Free slots behind the last computed one, so that probing need not wrap around.
const MARGIN: usize = 1 << 10;
const FIRST_CAPACITY: usize = 1 << 12;

impl Pairs {
    pub(crate) fn new() -> Self {
        let mut pairs = Pairs { keys: Vec::new(), index: Vec::new(), bits: 0, grow_at: 0 };
        pairs.set_capacity(FIRST_CAPACITY);
        pairs
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        // Capacity beyond the length is address space that was never touched.
        self.keys.len() * 8 + self.index.len() * 4
    }

    #[inline(always)]
    pub(crate) fn key(&self, number: u32) -> u64 {
        self.keys[number as usize]
    }

    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        pages::prefetch(&self.index, self.slot(hash));
    }

    /// Fetches the key that an insertion with this hash will compare, once the index has arrived.
    #[inline(always)]
    pub(crate) fn prefetch_key(&self, hash: u64) {
        let entry = self.index[self.slot(hash)];
        if entry != 0 && self.tag_of(entry) == self.tag(hash) {
            pages::prefetch(&self.keys, self.number_of(entry));
        }
    }

    /// The number of a key, if it is known; otherwise the slot where it belongs.
    #[inline(always)]
    pub(crate) fn find(
        &self,
        hash: u64,
        key: u64,
        accept: impl Fn(usize) -> bool,
    ) -> Result<u32, usize> {
        let tag = self.tag(hash);
        let mut at = self.slot(hash);
        loop {
            let entry = self.index[at];
            if entry == 0 {
                return Err(at);
            }
            if self.tag_of(entry) == tag {
                let number = self.number_of(entry);
                if self.keys[number] == key && accept(number) {
                    return Ok(number as u32);
                }
            }
            at += 1;
        }
    }

    /// Adds a key that is not in the set, at the slot that [`Pairs::find`] named. `room` is how
    /// many bytes the set may still grow by.
    #[inline(always)]
    pub(crate) fn add(
        &mut self,
        at: usize,
        hash: u64,
        key: u64,
        room: usize,
    ) -> Result<u32, StoreFull> {
        let number = self.keys.len();
        if number >= self.grow_at || at + 2 >= self.index.len() {
            let capacity = self.index.len() - MARGIN;
            let larger = if capacity < 1 << 20 { capacity * 2 } else { capacity / 2 * 3 };
            if larger * 4 > room || number >= u32::MAX as usize - 2 {
                return Err(StoreFull);
            }
            self.set_capacity(larger);
            return match self.find(hash, key, |_| false) {
                Err(at) => self.add(at, hash, key, room),
                Ok(_) => Err(StoreFull),
            };
        }
        if number == self.keys.capacity() {
            self.keys.reserve(number.max(1 << 12));
            pages::advise(&mut self.keys);
        }
        self.keys.push(key);
        self.index[at] = self.entry(hash, number);
        Ok(number as u32)
    }

    fn set_capacity(&mut self, capacity: usize) {
        // The old index goes first: it can be computed again from the keys.
        self.index = Vec::new();
        self.index = pages::zeroed(capacity + MARGIN);
        self.grow_at = capacity / 20 * 17;
        self.bits = usize::BITS - (self.grow_at + 1).leading_zeros();
        for number in 0..self.keys.len() {
            if let Some(ahead) = self.keys.get(number + 16) {
                self.prefetch(hash(*ahead));
            }
            let hash = hash(self.keys[number]);
            let mut at = self.slot(hash);
            while self.index[at] != 0 {
                at += 1;
            }
            self.index[at] = self.entry(hash, number);
        }
    }

    #[inline(always)]
    fn slot(&self, hash: u64) -> usize {
        let capacity = (self.index.len() - MARGIN) as u64;
        (((hash >> 32) * capacity) >> 32) as usize
    }

    #[inline(always)]
    fn tag(&self, hash: u64) -> u64 {
        hash & (0xffff_ffff >> self.bits)
    }

    #[inline(always)]
    fn tag_of(&self, entry: u32) -> u64 {
        u64::from(entry) >> self.bits
    }

    #[inline(always)]
    fn number_of(&self, entry: u32) -> usize {
        (u64::from(entry) & ((1 << self.bits) - 1)) as usize - 1
    }

    #[inline(always)]
    fn entry(&self, hash: u64, number: usize) -> u32 {
        (self.tag(hash) << self.bits) as u32 | (number as u32 + 1)
    }
}

/// The hash of a pair.
#[inline(always)]
pub(crate) fn hash(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
    let folded = (product as u64) ^ (product >> 64) as u64;
    folded.wrapping_mul(0xa076_1d64_78bd_642f) ^ folded >> 29
}
