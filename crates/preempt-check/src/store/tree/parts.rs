//! What the states of a [tree](crate::store::Tree) are made of: quads and pairs, each numbered once, for one thread.

use crate::store::StoreFull;
use crate::store::tree::nodes::{AddNodes, Nodes, pair_key, push_words, root_key};
use crate::store::tree::packed::Pairs;
use crate::store::tree::pairs::{self, Keys, Numbered};
use crate::store::tree::quads::{self, Quad, Quads};
use crate::store::tree::tree_shape::{Pairing, word_count};

/// What the states are made of.
#[derive(Debug)]
pub(in crate::store) struct Parts {
    leaves: Numbered<Quads>,
    /// Pairs of numbers of quads or pairs.
    inner: Pairs,
    /// The memory of both.
    pub(in crate::store) limit: usize,
}

impl Parts {
    pub(in crate::store) fn new(limit: usize) -> Self {
        Parts { leaves: Numbered::new(), inner: Pairs::new(), limit }
    }

    #[inline(always)]
    pub(in crate::store) fn bytes(&self) -> usize {
        self.leaves.bytes() + self.inner.bytes()
    }

    #[inline(always)]
    pub(in crate::store) fn find_quad(&self, hash: u64, quad: Quad) -> Option<u32> {
        self.leaves.find(hash, quad, |_| true).ok()
    }

    #[inline(always)]
    pub(in crate::store) fn find_pair(&self, hash: u64, pair: u64) -> Option<u32> {
        self.inner.find(hash, pair, |_| true).ok()
    }

    /// The root of a state, if all its parts are known.
    pub(in crate::store) fn find_root(&self, state: &[u8]) -> Option<u64> {
        let mut words = Vec::new();
        push_words(state, word_count(state.len()), &mut words);
        let quads = words.len() / 4;
        for at in 0..quads {
            let [a, b, c, d] = words[4 * at..4 * at + 4] else { return None };
            let quad = quads::quad(&[a, b, c, d]);
            words[at] = self.find_quad(Quads::hash(quad), quad)?;
        }
        for pairing in Pairing::levels(quads) {
            for at in 0..pairing.above {
                words[at] = match pairing.children(at) {
                    (first, true) => {
                        let key = pair_key(words[first], words[first + 1]);
                        self.find_pair(pairs::hash(key), key)?
                    }
                    (first, false) => words[first],
                };
            }
        }
        Some(root_key(&words))
    }
}

impl Nodes for Parts {
    #[inline(always)]
    fn quad(&self, number: u32) -> Quad {
        self.leaves.key(number)
    }

    #[inline(always)]
    fn pair(&self, number: u32) -> u64 {
        self.inner.key(number)
    }
}

impl AddNodes for Parts {
    #[inline(always)]
    fn number_quad(&mut self, hash: u64, quad: Quad) -> Result<u32, StoreFull> {
        let (limit, inner) = (self.limit, &self.inner);
        let room = |leaves: &Numbered<Quads>| limit.saturating_sub(leaves.bytes() + inner.bytes());
        self.leaves.number(hash, quad, room)
    }

    #[inline(always)]
    fn number_pair(&mut self, hash: u64, pair: u64) -> Result<u32, StoreFull> {
        let (limit, leaves) = (self.limit, &self.leaves);
        let room = |inner: &Pairs| limit.saturating_sub(leaves.bytes() + inner.bytes());
        self.inner.number(hash, pair, room)
    }

    #[inline(always)]
    fn prefetch_quad(&self, hash: u64) {
        self.leaves.prefetch(hash);
    }

    #[inline(always)]
    fn prefetch_pair(&self, hash: u64) {
        self.inner.prefetch(hash);
    }
}
