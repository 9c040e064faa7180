//! A set of places that is emptied often.
//!
//! Invariant: an entry belongs to the set if it carries the present round.

use crate::store::concurrent::Place;

/// Places by open addressing; emptying begins a new round.
#[derive(Debug, Default)]
pub(crate) struct PlaceSet {
    /// `round << 32 | place`.
    slots: Vec<u64>,
    count: usize,
    round: u32,
}

impl PlaceSet {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.fill(0);
        }
        self.round = self.round.max(1);
    }

    /// Adds a place; says whether it is new.
    pub(crate) fn insert(&mut self, place: Place) -> bool {
        if 2 * self.count >= self.slots.len() {
            self.grow();
        }
        let entry = u64::from(self.round) << 32 | u64::from(place);
        let mut at = self.slot(place);
        while self.slots[at] >> 32 == u64::from(self.round) {
            if self.slots[at] == entry {
                return false;
            }
            at = (at + 1) % self.slots.len();
        }
        self.slots[at] = entry;
        self.count += 1;
        true
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * 8
    }

    fn slot(&self, place: Place) -> usize {
        let mixed = u64::from(place).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        mixed as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        let old = std::mem::replace(&mut self.slots, vec![0; size]);
        self.round = self.round.max(1);
        self.count = 0;
        let round = u64::from(self.round);
        for entry in old.into_iter().filter(|entry| entry >> 32 == round) {
            self.insert(entry as Place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_kept_apart() {
        let mut set = PlaceSet::default();
        for round in 0..20 {
            set.clear();
            for place in 0..round * 40 {
                assert!(set.insert(place * 7), "{place} in round {round}");
            }
            for place in 0..round * 40 {
                assert!(!set.insert(place * 7), "{place} in round {round}");
            }
        }
    }
}
