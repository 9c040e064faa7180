//! One state of a [tree](super::Tree) with the numbers of all its pairs, so that a neighbour is
//! found by looking up only the pairs above the words that differ.
//!
//! Level 0 are the words of the state; each further level has the numbers of the pairs of the level
//! below, and the word left over if there is an odd one. The topmost level has two words.
//!
//! Invariant: between calls the levels are those of the state `id`.

use super::pairs::{self, Pairs};
use super::{StateId, StoreFull};

/// A state in its parts.
#[derive(Default, Debug)]
pub(crate) struct Unfolded {
    /// Whose parts these are.
    pub(crate) id: Option<StateId>,
    length: usize,
    /// All levels, one behind the other.
    words: Vec<u32>,
    /// Where each level begins, and its size.
    levels: Vec<(usize, usize)>,
    /// What a neighbour changes, to be undone: place and word.
    changes: Vec<(usize, u32)>,
    dirty: Vec<usize>,
    above: Vec<usize>,
}

impl Unfolded {
    /// Takes apart the state with this root, of `length` bytes.
    pub(crate) fn unfold(&mut self, id: StateId, root: u64, length: usize, nodes: &Pairs) {
        self.id = None;
        if self.length != length || self.levels.is_empty() {
            self.shape(length);
        }
        let Some(&(top, _)) = self.levels.last() else { return };
        (self.words[top], self.words[top + 1]) = ((root >> 32) as u32, root as u32);
        for level in (1..self.levels.len()).rev() {
            let (start, size) = self.levels[level - 1];
            let (lower, upper) = self.words.split_at_mut(self.levels[level].0);
            let lower = &mut lower[start..];
            let (two, rest) = lower.as_chunks_mut::<2>();
            for (two, number) in two.iter_mut().zip(upper.iter()).take(size / 2) {
                let key = nodes.key(*number);
                *two = [(key >> 32) as u32, key as u32];
            }
            if let [odd] = rest {
                *odd = upper[size / 2];
            }
        }
        self.id = Some(id);
    }

    fn shape(&mut self, length: usize) {
        self.length = length;
        self.levels.clear();
        let (mut start, mut size) = (0, length.div_ceil(4).max(2));
        loop {
            self.levels.push((start, size));
            start += size;
            if size == 2 {
                break;
            }
            size = size.div_ceil(2);
        }
        self.words.clear();
        self.words.resize(start, 0);
    }

    /// Replaces `out` by the bytes of the state.
    pub(crate) fn bytes(&self, out: &mut Vec<u8>) {
        out.clear();
        let size = self.levels.first().map_or(0, |(_, size)| *size);
        out.extend(self.words[..size].iter().flat_map(|word| word.to_le_bytes()));
        out.truncate(self.length);
    }

    /// Whether `state` can be found from here.
    pub(crate) fn is_alike(&self, state: &[u8]) -> bool {
        self.id.is_some() && state.len() == self.length
    }

    /// The root of a state of the same length. `node` gives the number of a pair.
    pub(crate) fn root_of(
        &mut self,
        state: &[u8],
        mut node: impl FnMut(u64, u64) -> Result<u32, StoreFull>,
    ) -> Result<u64, StoreFull> {
        self.changes.clear();
        self.find_changes(state);
        let mut result = Ok(());
        for level in 0..self.levels.len() - 1 {
            let ((start, size), (upper, _)) = (self.levels[level], self.levels[level + 1]);
            self.above.clear();
            for at in 0..self.dirty.len() {
                let pair = self.dirty[at];
                let left = start + 2 * pair;
                let word = if 2 * pair + 1 < size {
                    let key = pair_key(self.words[left], self.words[left + 1]);
                    match node(pairs::hash(key), key) {
                        Ok(number) => number,
                        Err(full) => {
                            result = Err(full);
                            break;
                        }
                    }
                } else {
                    self.words[left]
                };
                self.change(upper + pair, word);
                if self.above.last() != Some(&(pair / 2)) {
                    self.above.push(pair / 2);
                }
            }
            std::mem::swap(&mut self.dirty, &mut self.above);
        }
        let top = self.levels.last().map_or(0, |(start, _)| *start);
        let root = pair_key(self.words[top], self.words[top + 1]);
        for &(at, word) in self.changes.iter().rev() {
            self.words[at] = word;
        }
        result.map(|()| root)
    }

    /// Writes the words that differ, and lists the pairs that they are in.
    #[inline(always)]
    fn find_changes(&mut self, state: &[u8]) {
        self.dirty.clear();
        let (eights, rest) = state.as_chunks::<8>();
        for (pair, bytes) in eights.iter().enumerate() {
            let two = u64::from_le_bytes(*bytes);
            let known = u64::from(self.words[2 * pair + 1]) << 32 | u64::from(self.words[2 * pair]);
            if two != known {
                self.change(2 * pair, two as u32);
                self.change(2 * pair + 1, (two >> 32) as u32);
                self.dirty.push(pair);
            }
        }
        let size = self.levels.first().map_or(0, |(_, size)| *size);
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        let two = u64::from_le_bytes(padded);
        let pair = eights.len();
        let mut differs = false;
        for (at, word) in [(2 * pair, two as u32), (2 * pair + 1, (two >> 32) as u32)] {
            if at < size && self.words[at] != word {
                self.change(at, word);
                differs = true;
            }
        }
        if differs {
            self.dirty.push(pair);
        }
    }

    #[inline(always)]
    fn change(&mut self, at: usize, word: u32) {
        self.changes.push((at, self.words[at]));
        self.words[at] = word;
    }
}

#[inline(always)]
fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
