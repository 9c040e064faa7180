//! One state of a [tree](crate::store::Tree) with the numbers of all its pairs, so that a successor is found
//! by looking up only the pairs above the words that differ.
//!
//! Level 0 are the words of the state, level 1 the numbers of its quads; each further level has the
//! numbers of the pairs of the level below, and those that are [not paired](Pairing). The topmost level has two numbers.
//!
//! Invariant: between calls the levels are those of the state `id`.

use crate::store::tree::nodes::{AddNodes, Nodes, pair_key};
use crate::store::tree::pairs::{self, Keys};
use crate::store::tree::quads::{self, Quad, Quads};
use crate::store::tree::tree_shape::{Pairing, word_count, words_before};
use crate::store::{Pending, StateId, StoreFull};

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
    /// How the levels from the quads on make the ones above.
    pairings: Vec<Pairing>,
    /// What the successors change on the present level, by successor and place.
    changes: Vec<Change>,
    /// The same of the level above.
    above: Vec<Change>,
    /// Where the present level and the one below differ from the state that was unfolded before.
    open: Vec<u32>,
    open_below: Vec<u32>,
}

/// A word that is not what it is in the unfolded state.
#[derive(Clone, Copy, Debug)]
struct Change {
    successor: u32,
    at: u32,
    word: u32,
}

impl Unfolded {
    /// Takes apart the state with this root, of `length` bytes.
    pub(crate) fn unfold(&mut self, id: StateId, root: u64, length: usize, nodes: &impl Nodes) {
        let is_new = self.length != length || self.levels.is_empty() || self.id.is_none();
        self.id = None;
        if is_new {
            self.shape(length);
        }
        let Some(&(top, _)) = self.levels.last() else { return };
        // States that are asked for one after the other share most of their parts: only below what
        // differs anything is looked up.
        self.open.clear();
        for (side, number) in [(root >> 32) as u32, root as u32].into_iter().enumerate() {
            if is_new || self.words[top + side] != number {
                self.words[top + side] = number;
                self.open.push(side as u32);
            }
        }
        for level in (2..self.levels.len()).rev() {
            let (start, _) = self.levels[level - 1];
            let pairing = self.pairings[level - 2];
            let (lower, upper) = self.words.split_at_mut(self.levels[level].0);
            let lower = &mut lower[start..];
            self.open_below.clear();
            for &at in &self.open {
                let number = upper[at as usize];
                let (first, is_pair) = pairing.children(at as usize);
                let mut set = |place: usize, word: u32| {
                    if is_new || lower[place] != word {
                        lower[place] = word;
                        self.open_below.push(place as u32);
                    }
                };
                if is_pair {
                    let key = nodes.pair(number);
                    set(first, (key >> 32) as u32);
                    set(first + 1, key as u32);
                } else {
                    set(first, number);
                }
            }
            std::mem::swap(&mut self.open, &mut self.open_below);
        }
        let (words, upper) = self.words.split_at_mut(self.levels[1].0);
        for &at in &self.open {
            let quad = quads::words(nodes.quad(upper[at as usize]));
            words[4 * at as usize..4 * at as usize + 4].copy_from_slice(&quad);
        }
        self.id = Some(id);
    }

    fn shape(&mut self, length: usize) {
        self.length = length;
        self.levels.clear();
        let words = word_count(length);
        self.levels.push((0, words));
        self.levels.push((words, words / 4));
        let mut start = words + words / 4;
        self.pairings.clear();
        self.pairings.extend(Pairing::levels(words / 4));
        for pairing in &self.pairings {
            self.levels.push((start, pairing.above));
            start += pairing.above;
        }
        self.words.clear();
        self.words.resize(start, 0);
    }

    /// Replaces `out` by the bytes of the state.
    #[inline]
    pub(crate) fn bytes(&self, out: &mut Vec<u8>) {
        out.clear();
        let size = self.levels.first().map_or(0, |(_, size)| *size);
        let words = &self.words[words_before(self.length)..size];
        out.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        out.truncate(self.length);
    }

    /// Finds the roots of successors, level by level: lookups of one level do not wait for each other. The
    /// root of a state of the same length goes into its hash, shifted and made odd; the hash of
    /// another becomes 0.
    pub(crate) fn find_roots(
        &mut self,
        bytes: &[u8],
        batch: &mut [Pending],
        nodes: &mut impl AddNodes,
    ) -> Result<(), StoreFull> {
        let Some(&(top, _)) = self.levels.last() else { return Ok(()) };
        let own = pair_key(self.words[top], self.words[top + 1]);
        self.changes.clear();
        let begins_here = words_before(self.length) == 0;
        for (successor, pending) in batch.iter_mut().enumerate() {
            let state = &bytes[pending.start..pending.end];
            if state.len() == self.length && begins_here {
                self.find_changes(successor as u32, state, |quad| {
                    nodes.number_quad(Quads::hash(quad), quad)
                })?;
                pending.hash = own << 1 | 1;
            } else {
                pending.hash = 0;
            }
        }
        for level in 1..self.levels.len() - 1 {
            self.pair_up(level, |key| nodes.number_pair(pairs::hash(key), key))?;
            std::mem::swap(&mut self.changes, &mut self.above);
        }
        for change in &self.changes {
            let hash = &mut batch[change.successor as usize].hash;
            let root = *hash >> 1;
            let root = match change.at {
                0 => pair_key(change.word, root as u32),
                _ => pair_key((root >> 32) as u32, change.word),
            };
            *hash = root << 1 | 1;
        }
        Ok(())
    }

    /// Makes the changes of a level into those of the level above; `number` says the number of a pair.
    #[inline(always)]
    fn pair_up(
        &mut self,
        level: usize,
        mut number: impl FnMut(u64) -> Result<u32, StoreFull>,
    ) -> Result<(), StoreFull> {
        let (start, size) = self.levels[level];
        let words = &self.words[start..start + size];
        let pairing = self.pairings[level - 1];
        self.above.clear();
        let mut changes = self.changes.iter().copied().peekable();
        while let Some(change) = changes.next() {
            let at = change.at as usize;
            let parent = pairing.parent(at);
            let (first, is_pair) = pairing.children(parent);
            let word = if first != at {
                number(pair_key(words[first], change.word))?
            } else if is_pair {
                let next = changes
                    .next_if(|next| next.successor == change.successor && next.at == change.at + 1);
                let right = next.map_or(words[at + 1], |next| next.word);
                number(pair_key(change.word, right))?
            } else {
                change.word
            };
            self.above.push(Change { at: parent as u32, word, ..change });
        }
        Ok(())
    }

    /// Lists the quads of a state that differ; `number` says the number of a quad.
    #[inline(always)]
    fn find_changes(
        &mut self,
        successor: u32,
        state: &[u8],
        mut number: impl FnMut(Quad) -> Result<u32, StoreFull>,
    ) -> Result<(), StoreFull> {
        let (own, _) = self.words.as_chunks::<4>();
        let (whole, rest) = state.as_chunks::<16>();
        let mut compare = |at: usize, new: u128| {
            let new = [new as u64, (new >> 64) as u64];
            if new != quads::quad(&own[at]) {
                self.changes.push(Change { successor, at: at as u32, word: number(new)? });
            }
            Ok(())
        };
        for (at, bytes) in whole.iter().enumerate() {
            compare(at, u128::from_le_bytes(*bytes))?;
        }
        // What is left over is read together with what is before it: a copy of a few bytes would have
        // to be waited for.
        match state.last_chunk::<16>() {
            Some(_) if rest.is_empty() => Ok(()),
            Some(last) => {
                let new = u128::from_le_bytes(*last) >> (8 * (16 - rest.len() as u32));
                compare(whole.len(), new)
            }
            None => {
                let new = rest.iter().rev().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
                compare(0, new)
            }
        }
    }
}
