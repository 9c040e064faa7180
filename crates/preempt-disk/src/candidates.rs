//! Successors that were found and not compared with what is known yet: in memory as they come, then sorted in runs.

use crate::entries::Entries;
use crate::folder::Folder;
use crate::run::{Combine, Merge, Run};
use preempt_check::store::hash;
use std::io;
use std::rc::Rc;

/// Runs that are merged at once.
const MOST_RUNS: usize = 64;
/// Slots of the filter of what was found lately.
const LATELY: usize = 1 << 14;

/// States with notes, each of which may be there many times.
pub(crate) struct Candidates {
    limit: usize,
    entries: Entries,
    /// Numbers of entries that were added lately, by hash. What is left here of entries that were written does no harm:
    /// nothing is taken for the same that is not.
    lately: Vec<u32>,
    runs: Vec<Rc<Run>>,
    combine: Combine,
}

impl Candidates {
    /// In so much memory, until they are written.
    pub(crate) fn new(limit: usize, combine: Combine) -> Self {
        Candidates {
            limit: limit.min(Entries::MOST),
            entries: Entries::default(),
            lately: vec![u32::MAX; LATELY],
            runs: Vec::new(),
            combine,
        }
    }

    /// Adds a state. Where `twice_is_once`, the same state with the same note need not be noted again.
    #[inline]
    pub(crate) fn push(&mut self, state: &[u8], note: &[u8], twice_is_once: bool) {
        let hash = hash(state);
        let slot = &mut self.lately[(hash >> 20) as usize % LATELY];
        let other = *slot as usize;
        if twice_is_once
            && self.entries.is_about(other, hash, state)
            && self.entries.note(other) == note
        {
            return;
        }
        *slot = self.entries.len() as u32;
        self.entries.push(hash, state, note);
    }

    /// From now on notes are combined in another way; nothing is here at the moment.
    pub(crate) fn combine_with(&mut self, combine: Combine) {
        self.combine = combine;
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        let runs: usize = self.runs.iter().map(|run| run.memory()).sum();
        self.entries.memory() + LATELY * 4 + runs
    }

    /// Writes what is in memory, if there is no room for more.
    pub(crate) fn make_room(&mut self, folder: &mut Folder) -> io::Result<()> {
        // What has no more room doubles.
        if self.entries.memory() < self.limit / 2 {
            return Ok(());
        }
        self.spill(folder)?;
        if self.runs.len() == MOST_RUNS {
            let merged = folder.merge(&self.runs, self.combine)?;
            self.runs = vec![merged];
        }
        Ok(())
    }

    /// Writes what is in memory, in order.
    fn spill(&mut self, folder: &mut Folder) -> io::Result<()> {
        let mut writer = folder.run();
        self.entries.write_sorted(&mut writer, self.combine)?;
        self.runs.push(folder.finish(writer)?);
        Ok(())
    }

    /// All of them in order, each once, with its notes combined. Nothing is left here.
    pub(crate) fn take(&mut self, folder: &mut Folder) -> io::Result<Merge> {
        if !self.entries.is_empty() {
            self.spill(folder)?;
        }
        Merge::new(&std::mem::take(&mut self.runs), self.combine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// With room for a few, so that there are many runs, and runs of runs.
    #[test]
    fn what_was_pushed_comes_out_in_order_with_all_its_notes() {
        let place = tempfile::tempdir().expect("a folder");
        let mut folder = Folder::inside(place.path(), 100).expect("there is room");
        let add = |note: &mut Vec<u8>, more: &[u8]| note[0] = note[0].wrapping_add(more[0]);
        let mut candidates = Candidates::new(8000, add);
        let mut expected = BTreeMap::new();
        for number in 0..30_000_u32 {
            let state = (number.wrapping_mul(2_654_435_761) >> 20).to_le_bytes();
            candidates.push(&state, &[3], false);
            candidates.make_room(&mut folder).expect("there is room");
            let count = expected.entry((hash(&state), state)).or_insert(0_u8);
            *count = count.wrapping_add(3);
        }
        assert!(candidates.runs.len() > 1);
        let mut merge = candidates.take(&mut folder).expect("it can be read");
        let mut found = BTreeMap::new();
        while let Some((hash, state, note)) = merge.next().expect("it can be read") {
            let state: [u8; 4] = state.try_into().expect("four bytes");
            assert!(found.last_key_value().is_none_or(|(last, _)| *last < (hash, state)));
            found.insert((hash, state), note[0]);
        }
        assert_eq!(found, expected);
        assert!(folder.written > 0 && candidates.entries.is_empty());
    }

    #[test]
    fn what_was_found_lately_is_noted_once() {
        let mut candidates = Candidates::new(0, |_, _| {});
        for _ in 0..9 {
            candidates.push(b"state", b"a", true);
            candidates.push(b"other", b"a", true);
        }
        assert_eq!(candidates.entries.len(), 2);
        candidates.push(b"state", b"b", true);
        assert_eq!(candidates.entries.len(), 3);
    }
}
