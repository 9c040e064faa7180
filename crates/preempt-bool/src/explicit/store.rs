//! Distinct states side by side in one buffer, numbered in the order they were met.

use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Finds the number of a state, or gives it one.
#[derive(Default)]
pub(super) struct Store {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Open addressing: number of the state plus one; a power of two in size.
    slots: Vec<u32>,
}

impl Store {
    /// The number of the state, and whether it is new.
    pub(super) fn insert(&mut self, state: &[u8]) -> (u32, bool) {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(state) & mask;
        while self.slots[at] != 0 {
            let number = self.slots[at] - 1;
            if self.get(number) == state {
                return (number, false);
            }
            at = (at + 1) & mask;
        }
        let number = self.ends.len() as u32;
        self.slots[at] = number + 1;
        self.bytes.extend_from_slice(state);
        self.ends.push(self.bytes.len());
        (number, true)
    }

    pub(super) fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn memory(&self) -> u64 {
        (self.bytes.len() + self.ends.len() * 8 + self.slots.len() * 4) as u64
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1 << 10);
        self.slots = vec![0; size];
        for number in 0..self.ends.len() as u32 {
            let mut at = hash(self.get(number)) & (size - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = number + 1;
        }
    }
}

fn hash(state: &[u8]) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write(state);
    let h = hasher.finish();
    (h ^ (h >> 32)) as usize
}
