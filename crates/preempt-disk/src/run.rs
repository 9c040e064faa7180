//! Sorted files of states.
//!
//! A run holds distinct states in the order of their hashes, and of their bytes where hashes are equal, in blocks of some
//! ten thousand bytes with a checksum each. In memory there is one number per block: its first hash. Whoever looks for states in
//! this order reads only the blocks in which they could be.
//!
//! Beside a state there may be a note, a few bytes of the search's own. Where runs are merged, the notes of a state are
//! combined ([`Combine`]).

use preempt_check::store::hash;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a block that is written.
const BLOCK: usize = 1 << 15;
/// Length and checksum of a block.
const HEADER: usize = 4 + 8;
/// In the length of a state: a note follows it, behind its own length in two bytes.
const NOTED: u32 = 1 << 31;

/// Makes one note of two about the same state: what is in the second is added to the first.
pub(crate) type Combine = fn(&mut Vec<u8>, &[u8]);

/// For runs without notes.
pub(crate) fn no_notes(_: &mut Vec<u8>, _: &[u8]) {}

/// A file with its blocks.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    /// The first hash of each block, and where it begins.
    blocks: Vec<(u64, u64)>,
    pub(crate) states: u64,
    pub(crate) bytes: u64,
    /// Removed once nobody uses it; kept where the way back needs it.
    temporary: bool,
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.temporary {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Run {
    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.blocks.capacity() * 16
    }
}

/// Writes a run.
pub(crate) struct RunWriter {
    run: Run,
    file: BufWriter<File>,
    block: Vec<u8>,
    first: u64,
}

impl RunWriter {
    pub(crate) fn create(path: &Path, temporary: bool) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 17, File::create(path)?);
        let blocks = Vec::new();
        let run = Run { path: path.to_owned(), blocks, states: 0, bytes: 0, temporary };
        Ok(RunWriter { run, file, block: Vec::new(), first: 0 })
    }

    /// Adds the next state, with a note that may be empty.
    pub(crate) fn push(&mut self, hash: u64, state: &[u8], note: &[u8]) -> io::Result<()> {
        if self.block.is_empty() {
            self.first = hash;
        }
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "a state is too long");
        let length = u32::try_from(state.len()).map_err(|_| too_long())?;
        if length >= NOTED {
            return Err(too_long());
        }
        match note {
            [] => self.block.extend_from_slice(&length.to_le_bytes()),
            _ => {
                let noted = u16::try_from(note.len()).map_err(|_| too_long())?;
                self.block.extend_from_slice(&(length | NOTED).to_le_bytes());
                self.block.extend_from_slice(&noted.to_le_bytes());
            }
        }
        self.block.extend_from_slice(state);
        self.block.extend_from_slice(note);
        self.run.states += 1;
        if self.block.len() >= BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        self.run.blocks.push((self.first, self.run.bytes));
        self.file.write_all(&(self.block.len() as u32).to_le_bytes())?;
        self.file.write_all(&xxh3_64(&self.block).to_le_bytes())?;
        self.file.write_all(&self.block)?;
        self.run.bytes += (HEADER + self.block.len()) as u64;
        self.block.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<Rc<Run>> {
        self.end_block()?;
        self.file.flush()?;
        Ok(Rc::new(self.run))
    }
}

/// Reads a run from its beginning to its end, or jumps ahead.
pub(crate) struct RunReader {
    run: Rc<Run>,
    file: File,
    /// The next block.
    next: usize,
    block: Vec<u8>,
    at: usize,
    /// The state at hand: its hash, and where it is in the block.
    pub(crate) hash: u64,
    state: (usize, usize),
    /// Where its note ends, which begins behind it.
    note: usize,
    pub(crate) ended: bool,
}

pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a file of states is damaged")
}

impl RunReader {
    /// Begins at the first state.
    pub(crate) fn open(run: &Rc<Run>) -> io::Result<Self> {
        let mut reader = RunReader {
            run: run.clone(),
            file: File::open(&run.path)?,
            next: 0,
            block: Vec::new(),
            at: 0,
            hash: 0,
            state: (0, 0),
            note: 0,
            ended: false,
        };
        reader.advance()?;
        Ok(reader)
    }

    /// The state at hand.
    pub(crate) fn state(&self) -> &[u8] {
        &self.block[self.state.0..self.state.1]
    }

    /// The note of the state at hand.
    pub(crate) fn note(&self) -> &[u8] {
        &self.block[self.state.1..self.note]
    }

    /// Goes on to the next state.
    pub(crate) fn advance(&mut self) -> io::Result<()> {
        if self.at == self.block.len() && !self.read_block()? {
            self.ended = true;
            return Ok(());
        }
        let header = self.block.get(self.at..self.at + 4).ok_or_else(damaged)?;
        let word = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let length = (word & !NOTED) as usize;
        let mut start = self.at + 4;
        let mut noted = 0;
        if word & NOTED != 0 {
            let bytes = self.block.get(start..start + 2).ok_or_else(damaged)?;
            noted = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
            start += 2;
        }
        let end = start + length;
        let state = self.block.get(start..end).ok_or_else(damaged)?;
        self.hash = hash(state);
        self.block.get(end..end + noted).ok_or_else(damaged)?;
        (self.state, self.note) = ((start, end), end + noted);
        self.at = end + noted;
        Ok(())
    }

    fn read_block(&mut self) -> io::Result<bool> {
        let Some(&(_, offset)) = self.run.blocks.get(self.next) else { return Ok(false) };
        self.next += 1;
        self.file.seek(SeekFrom::Start(offset))?;
        let mut header = [0; HEADER];
        self.file.read_exact(&mut header)?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        if offset + (HEADER + length) as u64 > self.run.bytes {
            return Err(damaged());
        }
        let mut sum = [0; 8];
        sum.copy_from_slice(&header[4..]);
        self.block.resize(length, 0);
        self.file.read_exact(&mut self.block)?;
        self.at = 0;
        match xxh3_64(&self.block) == u64::from_le_bytes(sum) {
            true => Ok(true),
            false => Err(damaged()),
        }
    }

    /// Whether the run has this state. States are asked for in order.
    pub(crate) fn has(&mut self, hash: u64, state: &[u8]) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        // Skip blocks that end before it: the last block that begins with a smaller hash may hold it.
        let ahead = &self.run.blocks[self.next..];
        let skipped = ahead.partition_point(|(first, _)| *first < hash);
        if skipped > 0 && self.is_before(hash, state) {
            self.next += skipped - 1;
            self.at = self.block.len();
            self.advance()?;
        }
        while !self.ended && self.is_before(hash, state) {
            self.advance()?;
        }
        Ok(!self.ended && self.hash == hash && self.state() == state)
    }

    fn is_before(&self, hash: u64, state: &[u8]) -> bool {
        (self.hash, self.state()) < (hash, state)
    }
}

/// The states of several runs in order, each once.
pub(crate) struct Merge {
    readers: Vec<RunReader>,
    combine: Combine,
    state: Vec<u8>,
    note: Vec<u8>,
}

impl Merge {
    pub(crate) fn new(runs: &[Rc<Run>], combine: Combine) -> io::Result<Self> {
        let readers = runs.iter().map(RunReader::open).collect::<io::Result<_>>()?;
        Ok(Merge { readers, combine, state: Vec::new(), note: Vec::new() })
    }

    /// The next state, with its hash and its note.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, &[u8], &[u8])>> {
        let open = self.readers.iter().enumerate().filter(|(_, reader)| !reader.ended);
        let least = open.min_by(|(_, a), (_, b)| (a.hash, a.state()).cmp(&(b.hash, b.state())));
        let Some((at, least)) = least else { return Ok(None) };
        let hash = least.hash;
        self.state.clear();
        self.state.extend_from_slice(least.state());
        self.note.clear();
        self.note.extend_from_slice(least.note());
        self.readers[at].advance()?;
        for reader in &mut self.readers {
            while !reader.ended && reader.hash == hash && reader.state() == self.state {
                (self.combine)(&mut self.note, reader.note());
                reader.advance()?;
            }
        }
        Ok(Some((hash, &self.state, &self.note)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn states(from: u32, to: u32, step: usize) -> BTreeSet<(u64, Vec<u8>)> {
        let state =
            |number: u32| -> Vec<u8> { number.to_le_bytes().repeat(1 + number as usize % 9) };
        (from..to).step_by(step).map(|number| (hash(&state(number)), state(number))).collect()
    }

    fn write(path: &Path, states: &BTreeSet<(u64, Vec<u8>)>) -> Rc<Run> {
        let mut writer = RunWriter::create(path, true).expect("there is room");
        states
            .iter()
            .for_each(|(hash, state)| writer.push(*hash, state, &[]).expect("there is room"));
        writer.finish().expect("there is room")
    }

    #[test]
    fn what_was_written_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = states(0, 30_000, 3);
        let run = write(&folder.path().join("run"), &all);
        assert!(run.blocks.len() > 5 && run.states == all.len() as u64);
        for step in [1, 2, 50, 3000] {
            let mut reader = RunReader::open(&run).expect("it is there");
            for (hash, state) in &states(0, 40_000, step) {
                let found = reader.has(*hash, state).expect("it can be read");
                assert_eq!(found, all.contains(&(*hash, state.clone())));
            }
        }
    }

    #[test]
    fn runs_are_merged_in_order_and_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let parts = [states(0, 9000, 2), states(0, 9000, 3), states(100, 200, 1), states(0, 0, 1)];
        let runs: Vec<_> = (0..)
            .zip(&parts)
            .map(|(at, part)| write(&folder.path().join(format!("{at}")), part))
            .collect();
        let mut merge = Merge::new(&runs, no_notes).expect("they are there");
        let mut found = Vec::new();
        while let Some((hash, state, _)) = merge.next().expect("it can be read") {
            found.push((hash, state.to_vec()));
        }
        let expected: BTreeSet<_> = parts.into_iter().flatten().collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        drop((merge, runs));
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }

    #[test]
    fn notes_stay_with_their_states_and_are_combined() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, step: usize, note: &[u8]| {
            let path = folder.path().join(name);
            let mut writer = RunWriter::create(&path, true).expect("there is room");
            for (hash, state) in &states(0, 9000, step) {
                writer.push(*hash, state, note).expect("there is room");
            }
            writer.finish().expect("there is room")
        };
        let runs = [write("a", 2, b"two"), write("b", 3, b"3"), write("c", 1, b"")];
        let mut merge = Merge::new(&runs, |note, more| note.extend_from_slice(more)).expect("runs");
        let (twos, threes) = (states(0, 9000, 2), states(0, 9000, 3));
        let mut count = 0;
        while let Some((hash, state, note)) = merge.next().expect("it can be read") {
            let key = (hash, state.to_vec());
            let expected =
                3 * usize::from(twos.contains(&key)) + usize::from(threes.contains(&key));
            assert_eq!(note.len(), expected);
            count += 1;
        }
        assert_eq!(count, 9000);
        let mut reader = RunReader::open(&runs[0]).expect("it is there");
        for (hash, state) in &twos {
            assert!(reader.has(*hash, state).expect("it can be read"));
            assert_eq!((reader.state(), reader.note()), (&state[..], &b"two"[..]));
        }
    }

    #[test]
    fn damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("run");
        let run = write(&path, &states(0, 3000, 1));
        let mut bytes = std::fs::read(&path).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).expect("there is room");
        let mut reader = RunReader::open(&run).expect("its beginning is whole");
        let result = (0..4000).try_for_each(|_| reader.advance());
        assert!(result.is_err());
    }
}
