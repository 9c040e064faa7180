//! What is known of states: what came lately in memory, the rest in a few sorted runs.
//!
//! What is added stays in memory until its share is full (`recent.rs`), and is written as a run then. A run that is added
//! is merged with others of about its size, so that there are few of them and each state is written a number of times that
//! grows with the logarithm of their number. This is a log-structured merge tree (O'Neil et al. 1996): however few states come
//! at a time, the work of n of them is n log n.
//!
//! Questions about states in order read only blocks in which one of them could be, and those only if the filter says
//! that it may be in a run at all: a few questions cost little, however much is known.

use crate::entries::Entries;
use crate::filter::Filter;
use crate::folder::Folder;
use crate::recent::Recent;
use crate::run::{Combine, Merge, Run, RunReader};
use std::io;
use std::rc::Rc;

/// States with notes. A state may be in memory and in several runs: its note is all of theirs.
pub(crate) struct Known {
    recent: Recent,
    /// Memory for what came lately.
    limit: usize,
    /// What the runs have.
    filter: Filter,
    /// The last ones are the smallest.
    runs: Vec<Rc<Run>>,
    /// Of those runs that a question was about.
    readers: Vec<Option<RunReader>>,
    combine: Combine,
}

impl Known {
    /// Nothing yet, with so much memory.
    pub(crate) fn new(memory: usize, combine: Combine) -> Self {
        Known {
            recent: Recent::default(),
            limit: (memory / 3 * 2).min(Entries::MOST),
            filter: Filter::new(memory / 3),
            runs: Vec::new(),
            readers: Vec::new(),
            combine,
        }
    }

    /// Adds what is in a run.
    pub(crate) fn add(&mut self, folder: &mut Folder, run: &Rc<Run>) -> io::Result<()> {
        if run.bytes > self.limit as u64 / 8 {
            return self.add_run(folder, run.clone());
        }
        let mut reader = RunReader::open(run)?;
        while !reader.ended {
            self.recent.add(reader.hash, reader.state(), reader.note(), self.combine);
            // What has no more room doubles.
            if self.recent.memory() > self.limit / 2 {
                self.write_recent(folder)?;
            }
            reader.advance()?;
        }
        Ok(())
    }

    /// Makes a run of what is in memory.
    fn write_recent(&mut self, folder: &mut Folder) -> io::Result<()> {
        let mut writer = folder.run();
        self.recent.write_sorted(&mut writer, self.combine)?;
        let run = folder.finish(writer)?;
        self.add_run(folder, run)
    }

    fn add_run(&mut self, folder: &mut Folder, run: Rc<Run>) -> io::Result<()> {
        let mut reader = RunReader::open(&run)?;
        while !reader.ended {
            self.filter.add(reader.hash);
            reader.advance()?;
        }
        self.runs.push(run);
        while let [.., larger, smaller] = &self.runs[..]
            && larger.bytes < 2 * smaller.bytes
        {
            let pair = self.runs.split_off(self.runs.len() - 2);
            self.readers.truncate(self.runs.len());
            let merged = folder.merge(&pair, self.combine)?;
            self.runs.push(merged);
        }
        self.readers.resize_with(self.runs.len(), || None);
        Ok(())
    }

    /// For questions about states in order.
    pub(crate) fn questions(&mut self) -> Questions<'_> {
        self.readers.iter_mut().flatten().for_each(RunReader::rewind);
        let Known { recent, filter, runs, readers, combine, .. } = self;
        Questions { recent, filter, runs, readers, combine: *combine, note: Vec::new() }
    }

    /// Everything in order.
    pub(crate) fn all(&mut self, folder: &mut Folder) -> io::Result<Merge> {
        if !self.recent.is_empty() {
            self.write_recent(folder)?;
        }
        Merge::new(&self.runs, self.combine)
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        let runs: usize = self.runs.iter().map(|run| run.memory()).sum();
        let readers: usize = self.readers.iter().flatten().map(RunReader::memory).sum();
        self.recent.memory() + self.filter.memory() + runs + readers
    }
}

/// Asks about states in order.
pub(crate) struct Questions<'k> {
    recent: &'k Recent,
    filter: &'k Filter,
    runs: &'k [Rc<Run>],
    readers: &'k mut [Option<RunReader>],
    combine: Combine,
    note: Vec<u8>,
}

impl Questions<'_> {
    /// Whether a run has a state, with its note.
    fn in_run(&mut self, at: usize, hash: u64, state: &[u8]) -> io::Result<Option<&[u8]>> {
        let reader = match &mut self.readers[at] {
            Some(reader) => reader,
            none => none.insert(RunReader::before_first(&self.runs[at])?),
        };
        Ok(reader.has(hash, state)?.then(|| reader.note()))
    }

    /// Whether a state is known, whatever is noted about it.
    pub(crate) fn is_known(&mut self, hash: u64, state: &[u8]) -> io::Result<bool> {
        if self.recent.get(hash, state).is_some() {
            return Ok(true);
        }
        if !self.filter.may_hold(hash) {
            return Ok(false);
        }
        for at in 0..self.readers.len() {
            if self.in_run(at, hash, state)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The note of a state, which may be empty; `None` if it is not known.
    pub(crate) fn ask(&mut self, hash: u64, state: &[u8]) -> io::Result<Option<&[u8]>> {
        let combine = self.combine;
        let mut all = std::mem::take(&mut self.note);
        all.clear();
        let mut known = false;
        let mut add = |note: &[u8]| {
            match known {
                false => all.extend_from_slice(note),
                true => combine(&mut all, note),
            }
            known = true;
        };
        if self.filter.may_hold(hash) {
            for at in 0..self.readers.len() {
                if let Some(note) = self.in_run(at, hash, state)? {
                    add(note);
                }
            }
        }
        if let Some(note) = self.recent.get(hash, state) {
            add(note);
        }
        self.note = all;
        Ok(known.then_some(&self.note[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_check::store::hash;
    use std::collections::BTreeMap;

    const ADD_UP: Combine = |note, more| note[0] = note[0].wrapping_add(more[0]);

    /// Levels of a few states and of many, with little memory: whatever is in runs and whatever is not, all is known.
    #[test]
    fn what_was_added_is_known_with_all_its_notes() {
        let place = tempfile::tempdir().expect("a folder");
        for (memory, kept) in [(0, 0), (3000, 500), (60_000, 500), (60_000, 8000)] {
            let mut folder = Folder::inside(place.path(), kept).expect("there is room");
            let mut known = Known::new(memory, ADD_UP);
            let mut expected: BTreeMap<(u64, Vec<u8>), u8> = BTreeMap::new();
            for level in 0..200_u32 {
                let mut states = BTreeMap::new();
                let size = if level % 20 == 0 { 2000 } else { level % 7 };
                for number in 0..size {
                    let state = (level * 31 + number * 3).to_le_bytes().repeat(3);
                    states.insert((hash(&state), state), level as u8);
                }
                for (hash, state) in states.keys() {
                    let before = expected.get(&(*hash, state.clone()));
                    let mut questions = known.questions();
                    let found = questions.ask(*hash, state).expect("it can be read");
                    assert_eq!(found, before.map(std::slice::from_ref), "{memory} {kept}");
                    let found = known.questions().is_known(*hash, state).expect("it can be read");
                    assert_eq!(found, before.is_some(), "{memory} {kept}");
                }
                let mut writer = folder.run();
                for ((hash, state), note) in &states {
                    writer.push(*hash, state, &[*note]).expect("there is room");
                    let sum = expected.entry((*hash, state.clone())).or_default();
                    *sum = sum.wrapping_add(*note);
                }
                let run = folder.finish(writer).expect("there is room");
                known.add(&mut folder, &run).expect("there is room");
            }
            let mut all = known.all(&mut folder).expect("it can be read");
            let mut found = BTreeMap::new();
            while let Some((hash, state, note)) = all.next().expect("it can be read") {
                found.insert((hash, state.to_vec()), note[0]);
            }
            assert_eq!(found, expected, "{memory} {kept}");
        }
    }
}
