//! A list of sixteen bytes each: the lowest parts of a [tree](crate::store::Tree), four words at a time.
//!
//! A tree of pairs all the way down would need two more numbers to be looked up for every four words.
//! There are few different ones, so that they need not be packed.

use crate::store::memory::pages;
use crate::store::tree::pairs::{Keys, hash};

/// Four words, the first in the lowest bits of the first number.
pub(crate) type Quad = [u64; 2];

/// A list of quads.
#[derive(Default, Debug)]
pub(crate) struct Quads {
    list: Vec<Quad>,
}

impl Keys for Quads {
    type Key = Quad;

    fn len(&self) -> usize {
        self.list.len()
    }

    fn bytes(&self) -> usize {
        // Capacity beyond the length is address space that was never touched.
        self.list.len() * size_of::<Quad>()
    }

    #[inline(always)]
    fn get(&self, number: usize) -> Quad {
        self.list[number]
    }

    #[inline(always)]
    fn push(&mut self, quad: Quad) {
        pages::push(&mut self.list, quad);
    }

    #[inline(always)]
    fn prefetch(&self, number: usize) {
        pages::prefetch(&self.list, number);
    }

    #[inline(always)]
    fn hash([low, high]: Quad) -> u64 {
        let product =
            u128::from(low ^ 0x8bb8_4b93_962e_acc9) * u128::from(high ^ 0x4b33_a62e_d433_d4a3);
        hash(product as u64 ^ (product >> 64) as u64 ^ low.rotate_left(32))
    }
}

/// The quad of these four words.
#[inline(always)]
pub(crate) fn quad(words: &[u32; 4]) -> Quad {
    let two = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
    [two(0), two(2)]
}

/// The words of a quad.
#[inline(always)]
pub(crate) fn words([low, high]: Quad) -> [u32; 4] {
    [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
}
