//! Which states are known to wait for their expansion, one bit each: with reduction, a step back to one of them leaves
//! nothing for later for ever.
//!
//! The bit is set by the thread that has stored a state, and cleared by the one that is about to expand it. Nothing is known of a state without a
//! bit: it may be expanded, or stored a moment ago.
//!
//! Invariant: all bits change in one order for all threads (`SeqCst`). If a thread clears the bit of a state and then
//! finds that of another one set, the other one is cleared later. So of states that were each explored by a selection because
//! another one of them was waiting, no cycle is made: the one that was cleared last found no other.

use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::store::concurrent::Place;
use crate::store::concurrent::segments::{SEGMENT, SEGMENT_BITS, Segments};

/// Bits of a word, as a power of two.
const BITS: u32 = u64::BITS.trailing_zeros();

/// A bit per place.
#[derive(Debug)]
pub(super) struct Unexpanded {
    words: Segments,
}

impl Unexpanded {
    pub(super) fn new() -> Self {
        Unexpanded { words: Segments::new(1 << (Place::BITS - BITS)) }
    }

    /// Memory in use beside a store of so many bytes, of which a place has at least eight.
    pub(super) fn bytes_beside(store: usize) -> usize {
        store / 64
    }

    fn word(&self, place: Place) -> Option<&AtomicU64> {
        let at = (place >> BITS) as usize;
        self.words.segment(at >> SEGMENT_BITS).get(at & (SEGMENT - 1))
    }

    fn bit(place: Place) -> u64 {
        1 << (place & (u64::BITS - 1))
    }

    /// A state was stored, and will be expanded.
    pub(super) fn add(&self, place: Place) {
        if let Some(word) = self.words.take_word((place >> BITS) as usize) {
            word.fetch_or(Self::bit(place), Ordering::SeqCst);
        }
    }

    /// A state is about to be expanded.
    pub(super) fn remove(&self, place: Place) {
        if let Some(word) = self.word(place) {
            word.fetch_and(!Self::bit(place), Ordering::SeqCst);
        }
    }

    /// Whether no thread has begun to expand this state, as far as is known.
    pub(super) fn contains(&self, place: Place) -> bool {
        self.word(place).is_some_and(|word| word.load(Ordering::SeqCst) & Self::bit(place) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_waits_from_its_addition_to_its_removal() {
        let states = Unexpanded::new();
        let places = [0, 1, 63, 64, 1 << 20, u32::MAX - 1, u32::MAX];
        for place in places {
            assert!(!states.contains(place));
            states.remove(place);
            states.add(place);
            assert!(states.contains(place));
        }
        for (at, place) in places.into_iter().enumerate() {
            states.remove(place);
            let left: Vec<bool> = places.iter().map(|place| states.contains(*place)).collect();
            assert_eq!(left, (0..places.len()).map(|other| other > at).collect::<Vec<_>>());
        }
    }
}
