//! Propositions without a value: a division by zero, an index out of bounds, a channel never made.
//!
//! Such a proposition counts as false. **Invariant:** its fault is a violation where the automaton
//! would move otherwise if it had another value, and only there: `n > 0 && x / n < 3` is no mistake
//! where `n` is 0.

use super::{Property, PropertyMove};
use smallvec::SmallVec;

/// The propositions of one state that have no value, with their faults.
#[derive(Default)]
pub(super) struct Faulty(SmallVec<[(usize, u32); 4]>);

/// Beyond this many propositions without a value, the rest stays false.
const TRIED: usize = 6;

impl Faulty {
    pub(super) fn note(&mut self, index: usize, fault: u32) {
        if self.0.iter().all(|&(known, _)| known != index) {
            self.0.push((index, fault));
        }
    }

    /// The first fault, if the moves of the automaton depend on values that are missing.
    pub(super) fn decides<P: Property + ?Sized>(
        &self,
        property: &P,
        automaton: u32,
        value: impl Fn(usize) -> bool,
    ) -> Option<u32> {
        let &(_, first) = self.0.first()?;
        let moves = |guess: u32| {
            let mut moves: SmallVec<[PropertyMove; 8]> = SmallVec::new();
            let mut holds = |index| match self.0.iter().position(|&(known, _)| known == index) {
                Some(at) => at < TRIED && guess & 1 << at != 0,
                None => value(index),
            };
            property.moves(automaton, &mut holds, &mut |found| moves.push(found));
            moves
        };
        let known = moves(0);
        (1..1 << self.0.len().min(TRIED)).any(|guess| moves(guess) != known).then_some(first)
    }
}
