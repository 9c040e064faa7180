//! What became known of states lately, in a hash table in memory: levels of few states make no files, until together they
//! have enough for one.

use crate::entries::Entries;
use crate::run::{Combine, RunWriter};
use std::io;

/// In a slot without an entry.
const NONE: u32 = u32::MAX;

/// States with notes, each once.
#[derive(Default)]
pub(crate) struct Recent {
    entries: Entries,
    /// Numbers of entries by hash; at least every second slot is free.
    slots: Vec<u32>,
    note: Vec<u8>,
}

impl Recent {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.entries.memory() + self.slots.len() * 4
    }

    /// The note of a state.
    pub(crate) fn get(&self, hash: u64, state: &[u8]) -> Option<&[u8]> {
        let at = self.find(hash, state).ok()?;
        Some(self.entries.note(at))
    }

    /// Adds a state, or what is noted about it to what was.
    pub(crate) fn add(&mut self, hash: u64, state: &[u8], note: &[u8], combine: Combine) {
        if 2 * (self.entries.len() + 1) > self.slots.len() {
            self.grow();
        }
        match self.find(hash, state) {
            Ok(at) => {
                self.note.clear();
                self.note.extend_from_slice(self.entries.note(at));
                combine(&mut self.note, note);
                self.entries.set_note(at, &self.note);
            }
            Err(free) => {
                if let Some(slot) = self.slots.get_mut(free) {
                    *slot = self.entries.len() as u32;
                }
                self.entries.push(hash, state, note);
            }
        }
    }

    /// The entry of a state, or the slot for it.
    fn find(&self, hash: u64, state: &[u8]) -> Result<usize, usize> {
        let Some(mask) = self.slots.len().checked_sub(1) else { return Err(0) };
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                NONE => return Err(slot),
                at if self.entries.is_about(at as usize, hash, state) => return Ok(at as usize),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn grow(&mut self) {
        let length = (2 * self.slots.len()).max(64);
        self.slots.clear();
        self.slots.resize(length, NONE);
        for at in 0..self.entries.len() {
            let mut slot = self.entries.hash(at) as usize & (length - 1);
            while self.slots[slot] != NONE {
                slot = (slot + 1) & (length - 1);
            }
            self.slots[slot] = at as u32;
        }
    }

    /// Writes everything in order, and forgets it.
    pub(crate) fn write_sorted(
        &mut self,
        writer: &mut RunWriter,
        combine: Combine,
    ) -> io::Result<()> {
        self.slots.fill(NONE);
        self.entries.write_sorted(writer, combine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_check::store::hash;
    use std::collections::HashMap;

    #[test]
    fn notes_are_combined_whatever_their_lengths() {
        let mut recent = Recent::default();
        let mut expected: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        for number in 0..20_000_u32 {
            let state = (number.wrapping_mul(2_654_435_761) >> 19).to_le_bytes();
            let note = vec![number as u8; number as usize % 3];
            recent.add(hash(&state), &state, &note, |note, more| note.extend_from_slice(more));
            expected.entry(state.to_vec()).or_default().extend_from_slice(&note);
            // States that collide in the table, but not in their hashes.
            let other = hash(&state) ^ 1 << 60;
            assert_eq!(recent.get(other, &state), None);
        }
        assert!(expected.len() < 9000);
        for (state, note) in &expected {
            assert_eq!(recent.get(hash(state), state), Some(&note[..]));
        }
        assert_eq!(recent.get(hash(b"none"), b"none"), None);
    }
}
