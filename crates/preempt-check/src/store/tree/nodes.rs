//! The parts that states of a tree are made of, and how states are made of them.
//!
//! A state is a row of words. Four words are a quad, equal quads get equal numbers; two neighbouring numbers make a pair,
//! equal pairs get equal numbers again, until two numbers are left, the *root*. Some numbers go up as they are ([`Pairing`]). How
//! quads and pairs are numbered, for one thread or several, is not known here.

use crate::store::StoreFull;
use crate::store::tree::pairs::{self, Keys};
use crate::store::tree::quads::{self, Quad, Quads};
use crate::store::tree::tree_shape::{Pairing, word_count, words_before};

/// Numbered quads and pairs.
pub(crate) trait Nodes {
    /// The quad with this number.
    fn quad(&self, number: u32) -> Quad;
    /// The pair with this number.
    fn pair(&self, number: u32) -> u64;
}

/// Where quads and pairs get their numbers.
pub(crate) trait AddNodes {
    /// The number of a quad with this hash, which is added if it is not known.
    fn number_quad(&mut self, hash: u64, quad: Quad) -> Result<u32, StoreFull>;
    /// The number of a pair with this hash, which is added if it is not known.
    fn number_pair(&mut self, hash: u64, pair: u64) -> Result<u32, StoreFull>;
    /// Asks the processor to fetch what a look for a quad with this hash reads first.
    fn prefetch_quad(&self, hash: u64);
    /// The same for a pair.
    fn prefetch_pair(&self, hash: u64);
}

#[inline(always)]
pub(crate) fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// The root that [`fold`] leaves at the start of a row.
#[inline(always)]
pub(crate) fn root_key(words: &[u32]) -> u64 {
    pair_key(words[0], words[1])
}

/// Appends a state as words, with zeroes before and behind to make `stride` words.
#[inline(always)]
pub(crate) fn push_words(state: &[u8], stride: usize, out: &mut Vec<u32>) {
    let end = out.len() + stride;
    out.extend((0..words_before(state.len())).map(|_| 0));
    let (chunks, rest) = state.as_chunks::<4>();
    out.extend(chunks.iter().map(|chunk| u32::from_le_bytes(*chunk)));
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        out.push(u32::from_le_bytes(last));
    }
    out.resize(end, 0);
}

/// Replaces rows of `stride` words by their numbers, level by level so that the lookups of one level overlap, until two are
/// left at the start of each row.
pub(crate) fn fold(
    nodes: &mut impl AddNodes,
    words: &mut [u32],
    hashes: &mut Vec<u64>,
    stride: usize,
    states: usize,
) -> Result<(), StoreFull> {
    hashes.clear();
    hashes.resize(states * stride / 4, 0);
    let size = stride / 4;
    for (quad, hash) in words.as_chunks::<4>().0.iter().zip(&mut *hashes) {
        *hash = Quads::hash(quads::quad(quad));
        nodes.prefetch_quad(*hash);
    }
    for (state, hashes) in hashes.chunks_exact(size).take(states).enumerate() {
        let start = state * stride;
        for (at, hash) in hashes.iter().enumerate() {
            let from = start + 4 * at;
            let [a, b, c, d] = words[from..from + 4] else { unreachable!("four words") };
            words[start + at] = nodes.number_quad(*hash, quads::quad(&[a, b, c, d]))?;
        }
    }
    for pairing in Pairing::levels(size) {
        let size = pairing.above;
        for (state, hashes) in hashes.chunks_exact_mut(size).take(states).enumerate() {
            let words = &words[state * stride..];
            for (at, hash) in hashes.iter_mut().enumerate() {
                if let (first, true) = pairing.children(at) {
                    *hash = pairs::hash(pair_key(words[first], words[first + 1]));
                    nodes.prefetch_pair(*hash);
                }
            }
        }
        for state in 0..states {
            let words = &mut words[state * stride..];
            for at in 0..size {
                words[at] = match pairing.children(at) {
                    (first, true) => {
                        let key = pair_key(words[first], words[first + 1]);
                        nodes.number_pair(hashes[state * size + at], key)?
                    }
                    (first, false) => words[first],
                };
            }
        }
    }
    Ok(())
}

/// Replaces `out` by the state of `length` bytes with this root.
pub(crate) fn unfold(nodes: &impl Nodes, root: u64, length: usize, out: &mut Vec<u8>) {
    // The words of each level are written over those of the level above, from the end.
    let mut words = vec![0; word_count(length)];
    let quads = words.len() / 4;
    let levels: Vec<Pairing> = Pairing::levels(quads).collect();
    (words[0], words[1]) = ((root >> 32) as u32, root as u32);
    for pairing in levels.into_iter().rev() {
        for at in (0..pairing.above).rev() {
            match pairing.children(at) {
                (first, true) => {
                    let key = nodes.pair(words[at]);
                    (words[first], words[first + 1]) = ((key >> 32) as u32, key as u32);
                }
                (first, false) => words[first] = words[at],
            }
        }
    }
    for at in (0..quads).rev() {
        let quad = quads::words(nodes.quad(words[at]));
        words[4 * at..4 * at + 4].copy_from_slice(&quad);
    }
    out.clear();
    let words = &words[words_before(length)..];
    out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    out.truncate(length);
}
