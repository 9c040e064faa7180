//! What is known of states, in a few sorted runs.
//!
//! A run that is added is merged with others of about its size, so that there are few of them and each state is written
//! a number of times that grows with the logarithm of their number. Whoever asks about states in order reads only blocks
//! in which one of them could be: a few questions cost little, however much is known.

use crate::folder::Folder;
use crate::run::{Combine, Merge, Run, RunReader};
use std::io;
use std::rc::Rc;

/// States with notes. A state may be in several runs: its note is all of theirs.
pub(crate) struct Known {
    /// The last ones are the smallest.
    runs: Vec<Rc<Run>>,
    combine: Combine,
}

impl Known {
    pub(crate) fn new(combine: Combine) -> Self {
        Known { runs: Vec::new(), combine }
    }

    /// Adds what is in a run.
    pub(crate) fn add(&mut self, folder: &mut Folder, run: Rc<Run>) -> io::Result<()> {
        self.runs.push(run);
        while let [.., larger, smaller] = &self.runs[..]
            && larger.bytes < 2 * smaller.bytes
        {
            let pair = self.runs.split_off(self.runs.len() - 2);
            let merged = folder.merge(&pair, self.combine)?;
            self.runs.push(merged);
        }
        Ok(())
    }

    /// For questions about states in order.
    pub(crate) fn questions(&self) -> io::Result<Questions> {
        let readers = self.runs.iter().map(RunReader::open).collect::<io::Result<_>>()?;
        Ok(Questions { readers, combine: self.combine, note: Vec::new() })
    }

    /// Everything in order.
    pub(crate) fn all(&self) -> io::Result<Merge> {
        Merge::new(&self.runs, self.combine)
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.runs.iter().map(|run| run.memory()).sum()
    }
}

/// Asks about states in order.
pub(crate) struct Questions {
    readers: Vec<RunReader>,
    combine: Combine,
    note: Vec<u8>,
}

impl Questions {
    /// Whether a state is known, whatever is noted about it.
    pub(crate) fn is_known(&mut self, hash: u64, state: &[u8]) -> io::Result<bool> {
        for reader in &mut self.readers {
            if reader.has(hash, state)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The note of a state, which may be empty; `None` if it is not known.
    pub(crate) fn ask(&mut self, hash: u64, state: &[u8]) -> io::Result<Option<&[u8]>> {
        self.note.clear();
        let mut known = false;
        for reader in &mut self.readers {
            if reader.has(hash, state)? {
                match known {
                    false => self.note.extend_from_slice(reader.note()),
                    true => (self.combine)(&mut self.note, reader.note()),
                }
                known = true;
            }
        }
        Ok(known.then_some(&self.note[..]))
    }
}
