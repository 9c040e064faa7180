//! One state of a [tree](super::Tree) with the numbers of all its pairs, so that a successor is found
//! by looking up only the pairs above the words that differ.
//!
//! Level 0 are the words of the state; each further level has the numbers of the pairs of the level
//! below, and the number left over if there is an odd one. The topmost level has two numbers.
//!
//! Invariant: between calls the levels are those of the state `id`.

use super::pairs::{self, Pairs};
use super::tree::{word_count, words_before};
use super::{Pending, StateId, StoreFull};

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
    /// Takes apart the state with this root, of `length` bytes. `nodes` are the pairs of words, and
    /// those of numbers.
    pub(crate) fn unfold(&mut self, id: StateId, root: u64, length: usize, nodes: [&Pairs; 2]) {
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
        for level in (1..self.levels.len()).rev() {
            let (start, size) = self.levels[level - 1];
            let (lower, upper) = self.words.split_at_mut(self.levels[level].0);
            let lower = &mut lower[start..];
            let nodes = nodes[usize::from(level > 1)];
            self.open_below.clear();
            for &at in &self.open {
                let number = upper[at as usize];
                let first = 2 * at as usize;
                let mut set = |place: usize, word: u32| {
                    if is_new || lower[place] != word {
                        lower[place] = word;
                        self.open_below.push(place as u32);
                    }
                };
                if first + 1 < size {
                    let key = nodes.key(number);
                    set(first, (key >> 32) as u32);
                    set(first + 1, key as u32);
                } else {
                    set(first, number);
                }
            }
            std::mem::swap(&mut self.open, &mut self.open_below);
        }
        self.id = Some(id);
    }

    fn shape(&mut self, length: usize) {
        self.length = length;
        self.levels.clear();
        let (mut start, mut size) = (0, word_count(length));
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
        nodes: [&mut Pairs; 2],
        room: usize,
    ) -> Result<(), StoreFull> {
        let Some(&(top, _)) = self.levels.last() else { return Ok(()) };
        let own = pair_key(self.words[top], self.words[top + 1]);
        self.changes.clear();
        let begins_here = words_before(self.length) == 0;
        for (successor, pending) in batch.iter_mut().enumerate() {
            let state = &bytes[pending.start..pending.end];
            if state.len() == self.length && begins_here {
                self.find_changes(successor as u32, state);
                pending.hash = own << 1 | 1;
            } else {
                pending.hash = 0;
            }
        }
        let before = nodes[0].bytes() + nodes[1].bytes();
        let [leaves, inner] = nodes;
        for level in 0..self.levels.len() - 1 {
            let (nodes, others) =
                if level == 0 { (&mut *leaves, &*inner) } else { (&mut *inner, &*leaves) };
            let elsewhere = others.bytes();
            self.pair_up(level, |key| {
                nodes.number(pairs::hash(key), key, |nodes| {
                    room.saturating_sub((nodes.bytes() + elsewhere).saturating_sub(before))
                })
            })?;
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

    /// Makes the changes of a level into those of the level above; `number` tells the number of a pair.
    #[inline(always)]
    fn pair_up(
        &mut self,
        level: usize,
        mut number: impl FnMut(u64) -> Result<u32, StoreFull>,
    ) -> Result<(), StoreFull> {
        let (start, size) = self.levels[level];
        let words = &self.words[start..start + size];
        self.above.clear();
        let mut changes = self.changes.iter().copied().peekable();
        while let Some(change) = changes.next() {
            let at = change.at as usize;
            let word = if at % 2 == 1 {
                number(pair_key(words[at - 1], change.word))?
            } else if at + 1 < size {
                let next = changes
                    .next_if(|next| next.successor == change.successor && next.at == change.at + 1);
                let right = next.map_or(words[at + 1], |next| next.word);
                number(pair_key(change.word, right))?
            } else {
                change.word
            };
            self.above.push(Change { at: change.at / 2, word, ..change });
        }
        Ok(())
    }

    /// Lists the words of a state that differ.
    #[inline(always)]
    fn find_changes(&mut self, successor: u32, state: &[u8]) {
        let (eights, rest) = state.as_chunks::<8>();
        let (twos, _) = self.words.as_chunks::<2>();
        for (pair, (bytes, two)) in eights.iter().zip(twos).enumerate() {
            let new = u64::from_le_bytes(*bytes);
            if new != u64::from(two[1]) << 32 | u64::from(two[0]) {
                for (side, word) in [(0, new as u32), (1, (new >> 32) as u32)] {
                    if word != two[side] {
                        let at = (2 * pair + side) as u32;
                        self.changes.push(Change { successor, at, word });
                    }
                }
            }
        }
        // What is left over is read together with what is before it: a copy of a few bytes would have
        // to be waited for.
        let new = match state.last_chunk::<8>() {
            Some(last) if !rest.is_empty() => {
                u64::from_le_bytes(*last) >> (8 * (8 - rest.len() as u32))
            }
            Some(_) => 0,
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        let (pair, size) = (eights.len(), self.levels[0].1);
        for (at, word) in [(2 * pair, new as u32), (2 * pair + 1, (new >> 32) as u32)] {
            if at < size && self.words[at] != word {
                self.changes.push(Change { successor, at: at as u32, word });
            }
        }
    }
}

#[inline(always)]
fn pair_key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
