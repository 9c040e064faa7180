//! The levels of a search, for the way back: all that are small in one file, one behind the other.
//!
//! A search of a hundred thousand levels has neither a file nor an entry in memory for each: of every sixteenth level it is
//! kept where it begins, and from there on each says how long it is.

use crate::folder::Folder;
use crate::run::{Run, damaged};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

/// Of how many levels the beginning of one is kept.
const STRIDE: usize = 16;
/// Before each level: its bytes and states; no bytes if it has a file of its own.
const HEADER: usize = 8;

/// Runs in the order in which they were added.
#[derive(Default)]
pub(crate) struct Levels {
    count: usize,
    /// Those that are files of their own.
    large: BTreeMap<usize, Rc<Run>>,
    large_memory: usize,
    /// Where every sixteenth begins.
    starts: Vec<u64>,
    log: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// What was not written yet.
    pending: Vec<u8>,
}

impl Levels {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.starts.len() * 8 + self.pending.len() + self.large_memory
    }

    pub(crate) fn push(&mut self, folder: &mut Folder, run: &Rc<Run>) -> io::Result<()> {
        if self.count.is_multiple_of(STRIDE) {
            self.starts.push(self.written + self.pending.len() as u64);
        }
        let bytes = match run.memory_bytes() {
            Some(bytes) => bytes,
            None => {
                self.large_memory += run.memory() + 64;
                self.large.insert(self.count, run.clone());
                &[]
            }
        };
        self.count += 1;
        self.pending.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.pending.extend_from_slice(&(run.states as u32).to_le_bytes());
        self.pending.extend_from_slice(bytes);
        if self.pending.len() > folder.kept {
            let log = match &mut self.log {
                Some(log) => log,
                none => none.insert(folder.file()?),
            };
            log.seek(SeekFrom::Start(self.written))?;
            log.write_all(&self.pending)?;
            self.written += self.pending.len() as u64;
            folder.written += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }

    /// The level with this number.
    pub(crate) fn get(&self, number: usize) -> io::Result<Rc<Run>> {
        if let Some(run) = self.large.get(&number) {
            return Ok(run.clone());
        }
        let start = *self.starts.get(number / STRIDE).ok_or_else(damaged)?;
        match (start.checked_sub(self.written), &self.log) {
            (Some(at), _) => {
                let pending = self.pending.get(at as usize..).unwrap_or_default();
                read_level(io::Cursor::new(pending), number % STRIDE)
            }
            (None, Some(log)) => {
                let mut log = log;
                log.seek(SeekFrom::Start(start))?;
                let rest = BufReader::new(log.take(self.written - start));
                // The last of the sixteen may not be written yet.
                read_level(rest.chain(&self.pending[..]), number % STRIDE)
            }
            (None, None) => Err(damaged()),
        }
    }
}

/// Reads the level that is so many levels behind this place.
fn read_level(mut from: impl Read, mut behind: usize) -> io::Result<Rc<Run>> {
    loop {
        let mut header = [0; HEADER];
        from.read_exact(&mut header)?;
        let [a, b, c, d, states @ ..] = header;
        let length = u64::from(u32::from_le_bytes([a, b, c, d]));
        if behind == 0 {
            let mut bytes = vec![0; length as usize];
            from.read_exact(&mut bytes)?;
            return Ok(Rc::new(Run::from_bytes(bytes, u32::from_le_bytes(states).into())?));
        }
        behind -= 1;
        io::copy(&mut (&mut from).take(length), &mut io::sink())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunReader;
    use preempt_check::store::hash;

    #[test]
    fn all_levels_are_found_back() {
        let place = tempfile::tempdir().expect("a folder");
        for kept in [0, 100, 40_000, 1 << 20] {
            let mut folder = Folder::inside(place.path(), kept).expect("there is room");
            let mut levels = Levels::default();
            let level = |number: usize| {
                let size = if number % 50 == 3 { 3000 } else { number % 5 };
                let mut states: Vec<_> = (0..size)
                    .map(|at| [number, at].map(usize::to_le_bytes).concat())
                    .map(|state| (hash(&state), state))
                    .collect();
                states.sort();
                states
            };
            for number in 0..300 {
                let mut writer = folder.run();
                for (hash, state) in &level(number) {
                    writer.push(*hash, state, &[number as u8]).expect("there is room");
                }
                let run = folder.finish(writer).expect("there is room");
                levels.push(&mut folder, &run).expect("there is room");
            }
            assert_eq!(levels.len(), 300);
            for number in (0..300).rev() {
                let run = levels.get(number).expect("it is there");
                let mut reader = RunReader::open(&run).expect("it is there");
                let mut found = Vec::new();
                while !reader.ended {
                    assert_eq!(reader.note(), [number as u8]);
                    found.push((reader.hash, reader.state().to_vec()));
                    reader.advance().expect("it can be read");
                }
                assert_eq!(found, level(number), "level {number} with {kept} bytes in memory");
                assert_eq!(run.states, found.len() as u64);
            }
            assert!(levels.get(10_000).is_err());
            if kept == 40_000 {
                assert!(folder.files < 20, "{} files", folder.files);
            }
        }
    }
}
