//! The successors of states, as lists of places that several threads write and read.
//!
//! A list is a half word that says how long it is, then places, two of them in a word. Threads take words in blocks, so that no two write to the same one.
//!
//! Invariant: a list never changes. A thread that learns by an acquiring load where one begins sees all of it.

use crate::platform::sync::atomic::{AtomicUsize, Ordering};
use crate::store::StoreFull;
use crate::store::concurrent::Place;
use crate::store::concurrent::segments::Segments;

/// Words that a thread takes at once.
const BLOCK: usize = 1 << 10;
/// Words of all lists: a place in a list is said by 56 bits or fewer, and no machine has that much memory.
const WORDS: usize = 1 << 36;

/// Lists of places.
pub(super) struct SuccessorLists {
    words: Segments,
    taken: AtomicUsize,
}

/// Words that a thread may write to.
#[derive(Default, Debug)]
pub(super) struct Block {
    next: usize,
    end: usize,
}

/// Where a list begins, and how long it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    at: usize,
    pub(super) len: usize,
}

impl SuccessorLists {
    pub(super) fn new() -> Self {
        SuccessorLists { words: Segments::new(WORDS), taken: AtomicUsize::new(0) }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.taken.load(Ordering::Relaxed) * size_of::<u64>()
    }

    /// Writes a list that begins with a half word; gives the word at which it begins.
    pub(super) fn add(
        &self,
        block: &mut Block,
        head: u32,
        places: impl ExactSizeIterator<Item = Place>,
    ) -> Result<usize, StoreFull> {
        let words = 1 + places.len() / 2;
        if block.next + words > block.end {
            let size = words.next_multiple_of(BLOCK);
            block.next = self.taken.fetch_add(size, Ordering::Relaxed);
            block.end = block.next + size;
        }
        let start = block.next;
        block.next += words;
        let mut word = u64::from(head);
        let mut at = start;
        let mut is_half = true;
        for place in places {
            if is_half {
                self.write(at, word | u64::from(place) << 32)?;
                (at, word) = (at + 1, 0);
            } else {
                word = u64::from(place);
            }
            is_half = !is_half;
        }
        if is_half {
            self.write(at, word)?;
        }
        Ok(start)
    }

    fn write(&self, at: usize, word: u64) -> Result<(), StoreFull> {
        self.words.take_word(at).ok_or(StoreFull)?.store(word, Ordering::Relaxed);
        Ok(())
    }

    /// The half word at the head of the list that begins here.
    #[inline]
    pub(super) fn head(&self, at: usize) -> u32 {
        self.words.load(at) as u32
    }

    /// Asks the processor to fetch the beginning of a list.
    #[inline]
    pub(super) fn prefetch(&self, at: usize) {
        self.words.prefetch(at);
    }

    /// A half word, counted from the first of all.
    #[inline]
    pub(super) fn half(&self, at: usize) -> Place {
        (self.words.load(at / 2) >> (32 * (at % 2))) as u32
    }

    /// The list that begins here, the head of which is its length.
    pub(super) fn list(&self, at: usize) -> List {
        List { at, len: self.head(at) as usize }
    }

    /// A place of a list.
    #[inline]
    pub(super) fn get(&self, list: List, number: usize) -> Place {
        self.half(2 * list.at + 1 + number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_all_lengths_are_what_was_written() {
        let lists = SuccessorLists::new();
        let mut blocks = [Block::default(), Block::default()];
        let place = |list: usize, at: usize| (list * 7919 + at * 31) as u32 | 1 << 31;
        let lengths = || (0..200).chain([2_000, 5_001, 3, 0]);
        let starts: Vec<usize> = lengths()
            .enumerate()
            .map(|(list, len)| {
                let places = (0..len).map(|at| place(list, at));
                lists.add(&mut blocks[list % 2], len as u32, places).expect("there is room")
            })
            .collect();
        for (list, len) in lengths().enumerate() {
            let found = lists.list(starts[list]);
            assert_eq!(found.len, len);
            assert!((0..len).all(|at| lists.get(found, at) == place(list, at)));
        }
        assert!(lists.bytes() >= 8 * 7_000 / 2);
    }
}
