//! States with notes in memory, one behind the other: what is found is collected here before it is sorted and written.

use crate::run::{Combine, RunWriter};
use std::io;

/// States with notes; a state may be there many times.
#[derive(Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    list: Vec<Entry>,
}

/// Where a state and its note are.
#[derive(Clone, Copy)]
struct Entry {
    hash: u64,
    start: u32,
    length: u32,
    note: u32,
}

impl Entry {
    fn state(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..][..self.length as usize]
    }

    fn note(self, bytes: &[u8]) -> &[u8] {
        &bytes[(self.start + self.length) as usize..][..self.note as usize]
    }
}

impl Entries {
    /// The most bytes there may be: positions are kept in 32 bits, and what has no more room doubles.
    pub(crate) const MOST: usize = 1 << 31;

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + self.list.len() * size_of::<Entry>()
    }

    pub(crate) fn push(&mut self, hash: u64, state: &[u8], note: &[u8]) {
        let entry = self.append(hash, state, note);
        self.list.push(entry);
    }

    fn append(&mut self, hash: u64, state: &[u8], note: &[u8]) -> Entry {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(state);
        self.bytes.extend_from_slice(note);
        Entry { hash, start, length: state.len() as u32, note: note.len() as u32 }
    }

    /// Whether the entry with this number is about this state.
    pub(crate) fn is_about(&self, at: usize, hash: u64, state: &[u8]) -> bool {
        let entry = self.list.get(at);
        entry.is_some_and(|entry| entry.hash == hash && entry.state(&self.bytes) == state)
    }

    pub(crate) fn hash(&self, at: usize) -> u64 {
        self.list[at].hash
    }

    pub(crate) fn note(&self, at: usize) -> &[u8] {
        self.list[at].note(&self.bytes)
    }

    /// Gives an entry another note.
    pub(crate) fn set_note(&mut self, at: usize, note: &[u8]) {
        let entry = self.list[at];
        let state = entry.start as usize..(entry.start + entry.length) as usize;
        if entry.note as usize == note.len() {
            self.bytes[state.end..][..note.len()].copy_from_slice(note);
            return;
        }
        // The old ones stay until everything is written.
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_within(state);
        self.bytes.extend_from_slice(note);
        self.list[at] = Entry { start, note: note.len() as u32, ..entry };
    }

    /// Writes them in order, each state once with its notes combined as they came, and forgets them.
    pub(crate) fn write_sorted(
        &mut self,
        writer: &mut RunWriter,
        combine: Combine,
    ) -> io::Result<()> {
        let bytes = &self.bytes;
        let key = |entry: &Entry| (entry.hash, entry.state(bytes));
        self.list.sort_unstable_by(|a, b| key(a).cmp(&key(b)).then(a.start.cmp(&b.start)));
        let mut note = Vec::new();
        for same in self.list.chunk_by(|a, b| key(a) == key(b)) {
            let Some((first, rest)) = same.split_first() else { continue };
            if rest.is_empty() {
                writer.push(first.hash, first.state(bytes), first.note(bytes))?;
                continue;
            }
            note.clear();
            note.extend_from_slice(first.note(bytes));
            rest.iter().for_each(|entry| combine(&mut note, entry.note(bytes)));
            writer.push(first.hash, first.state(bytes), &note)?;
        }
        self.bytes.clear();
        self.list.clear();
        Ok(())
    }
}
