//! Sorted runs of states, in files or, if they are small, in memory.
//!
//! A run holds distinct states in the order of their hashes, and of their bytes where hashes are equal, in blocks of some
//! thousand bytes with a checksum each. In memory there is one number per block: its first hash. A search for states in
//! this order reads only the blocks in which they could be.
//!
//! Beside a state there may be a note, a few bytes of the search's own. Where runs are merged, the notes of a state are
//! combined ([`Combine`]).

use preempt_check::store::hash;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;
use std::rc::Rc;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a block: of a small run less is read for a single state, of a large one less is kept in memory.
const BLOCK: RangeInclusive<u64> = 1 << 12..=1 << 15;
/// As many blocks have the least size.
const SMALL_BLOCKS: u64 = 1 << 10;
/// Bytes that are written to a file at once.
const AT_ONCE: usize = 1 << 17;
/// Length and checksum of a block.
const HEADER: usize = 4 + 8;
/// In the length of a state: a note follows it, behind its own length in four bytes.
const NOTED: u32 = 1 << 31;

/// Makes one note of two about the same state: what is in the second is added to the first.
pub(crate) type Combine = fn(&mut Vec<u8>, &[u8]);

/// For runs without notes.
pub(crate) fn no_notes(_: &mut Vec<u8>, _: &[u8]) {}

/// Where the blocks of a run are.
#[derive(Debug)]
enum Place {
    Memory(Vec<u8>),
    /// A file that is removed with the run.
    File(PathBuf),
}

/// Blocks of states.
#[derive(Debug)]
pub(crate) struct Run {
    place: Place,
    /// The first hash of each block, and where it begins.
    blocks: Vec<(u64, u64)>,
    pub(crate) states: u64,
    pub(crate) bytes: u64,
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Place::File(path) = &self.place {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Run {
    /// A run of so many states that was read back.
    pub(crate) fn from_bytes(bytes: Vec<u8>, states: u64) -> io::Result<Self> {
        let mut blocks = Vec::new();
        let mut offset = 0;
        while let Some((header, rest)) = bytes[offset..].split_first_chunk::<HEADER>() {
            let (length, _) = block_header(header);
            let block = rest.get(..length).ok_or_else(damaged)?;
            let first = state_at(block, 0)?;
            blocks.push((hash(&block[first.start..first.end]), offset as u64));
            offset += HEADER + length;
        }
        let length = bytes.len() as u64;
        if offset as u64 != length {
            return Err(damaged());
        }
        Ok(Run { place: Place::Memory(bytes), blocks, states, bytes: length })
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        let bytes = self.memory_bytes().map_or(0, <[u8]>::len);
        bytes + self.blocks.capacity() * size_of::<(u64, u64)>()
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.place, Place::Memory(_))
    }

    /// All of it, if it is in memory.
    pub(crate) fn memory_bytes(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Memory(bytes) => Some(bytes),
            Place::File(_) => None,
        }
    }
}

/// Length and checksum of a block.
fn block_header(header: &[u8; HEADER]) -> (usize, u64) {
    let [a, b, c, d, sum @ ..] = *header;
    (u32::from_le_bytes([a, b, c, d]) as usize, u64::from_le_bytes(sum))
}

/// Where a state is in its block.
#[derive(Clone, Copy, Default)]
struct Position {
    start: usize,
    /// Where its note begins.
    end: usize,
    /// Where its note ends, and the next state begins.
    next: usize,
}

/// The state that begins here.
fn state_at(block: &[u8], at: usize) -> io::Result<Position> {
    let number = |at: usize| -> io::Result<u32> {
        let bytes = block.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
        Ok(u32::from_le_bytes(*bytes))
    };
    let word = number(at)?;
    let (start, noted) = match word & NOTED {
        0 => (at + 4, 0),
        _ => (at + 8, number(at + 4)? as usize),
    };
    let end = start + (word & !NOTED) as usize;
    let next = end + noted;
    if next > block.len() {
        return Err(damaged());
    }
    Ok(Position { start, end, next })
}

/// Writes a run: to memory, and once it is too large for that to a file.
pub(crate) struct RunWriter {
    path: PathBuf,
    /// Bytes that may stay in memory.
    kept: usize,
    file: Option<File>,
    /// Blocks that are not in the file.
    pending: Vec<u8>,
    blocks: Vec<(u64, u64)>,
    states: u64,
    bytes: u64,
    /// Where the block at hand begins in what is pending; the end if there is none.
    block: usize,
}

impl RunWriter {
    /// With a name for the file, if one is needed.
    pub(crate) fn new(path: PathBuf, kept: usize) -> Self {
        let (file, pending, blocks) = (None, Vec::new(), Vec::new());
        RunWriter { path, kept, file, pending, blocks, states: 0, bytes: 0, block: 0 }
    }

    /// Adds the next state, with a note that may be empty.
    pub(crate) fn push(&mut self, hash: u64, state: &[u8], note: &[u8]) -> io::Result<()> {
        if self.block == self.pending.len() {
            self.blocks.push((hash, self.bytes));
            self.pending.extend_from_slice(&[0; HEADER]);
        }
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "a state is too long");
        let length = u32::try_from(state.len()).map_err(|_| too_long())?;
        if length >= NOTED {
            return Err(too_long());
        }
        match note {
            [] => self.pending.extend_from_slice(&length.to_le_bytes()),
            _ => {
                let noted = u32::try_from(note.len()).map_err(|_| too_long())?;
                self.pending.extend_from_slice(&(length | NOTED).to_le_bytes());
                self.pending.extend_from_slice(&noted.to_le_bytes());
            }
        }
        self.pending.extend_from_slice(state);
        self.pending.extend_from_slice(note);
        self.states += 1;
        let most = (self.bytes / SMALL_BLOCKS).clamp(*BLOCK.start(), *BLOCK.end());
        if (self.pending.len() - self.block) as u64 >= most { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        let Some((header, block)) = self.pending[self.block..].split_first_chunk_mut::<HEADER>()
        else {
            return Ok(());
        };
        header[..4].copy_from_slice(&(block.len() as u32).to_le_bytes());
        header[4..].copy_from_slice(&xxh3_64(block).to_le_bytes());
        self.bytes += (HEADER + block.len()) as u64;
        self.block = self.pending.len();
        let most = if self.file.is_some() { AT_ONCE } else { self.kept };
        if self.pending.len() > most { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(&self.path)?),
        };
        file.write_all(&self.pending)?;
        self.pending.clear();
        self.block = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> io::Result<Rc<Run>> {
        self.end_block()?;
        let place = match self.file {
            Some(_) => {
                self.write_out()?;
                Place::File(self.path)
            }
            None => Place::Memory(self.pending),
        };
        let RunWriter { blocks, states, bytes, .. } = self;
        Ok(Rc::new(Run { place, blocks, states, bytes }))
    }
}

/// Reads a run from its beginning to its end, or jumps ahead.
pub(crate) struct RunReader {
    run: Rc<Run>,
    file: Option<File>,
    /// The next block.
    next: usize,
    block: Vec<u8>,
    /// The state at hand: its hash, and where it is in the block.
    pub(crate) hash: u64,
    at: Position,
    /// Whether there was a state at hand.
    has_begun: bool,
    pub(crate) ended: bool,
}

pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a file of states is damaged")
}

impl RunReader {
    /// Begins at the first state.
    pub(crate) fn open(run: &Rc<Run>) -> io::Result<Self> {
        let mut reader = Self::before_first(run)?;
        reader.advance()?;
        Ok(reader)
    }

    /// Has no state at hand yet: for questions.
    pub(crate) fn before_first(run: &Rc<Run>) -> io::Result<Self> {
        let file = match &run.place {
            Place::Memory(_) => None,
            Place::File(path) => Some(File::open(path)?),
        };
        Ok(RunReader {
            run: run.clone(),
            file,
            next: 0,
            block: Vec::new(),
            hash: 0,
            at: Position::default(),
            has_begun: false,
            ended: false,
        })
    }

    /// Goes back, to before the first state.
    pub(crate) fn rewind(&mut self) {
        (self.next, self.at.next) = (0, self.block.len());
        (self.has_begun, self.ended) = (false, false);
    }

    /// Memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.block.capacity()
    }

    /// The state at hand.
    pub(crate) fn state(&self) -> &[u8] {
        &self.block[self.at.start..self.at.end]
    }

    /// The note of the state at hand.
    pub(crate) fn note(&self) -> &[u8] {
        &self.block[self.at.end..self.at.next]
    }

    /// Goes on to the next state.
    pub(crate) fn advance(&mut self) -> io::Result<()> {
        self.has_begun = true;
        if self.at.next == self.block.len() && !self.read_block()? {
            self.ended = true;
            return Ok(());
        }
        self.at = state_at(&self.block, self.at.next)?;
        self.hash = hash(self.state());
        Ok(())
    }

    fn read_block(&mut self) -> io::Result<bool> {
        let Some(&(_, offset)) = self.run.blocks.get(self.next) else { return Ok(false) };
        self.next += 1;
        self.at = Position::default();
        let mut header = [0; HEADER];
        let sum = match (&mut self.file, &self.run.place) {
            (Some(file), _) => {
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(&mut header)?;
                let (length, sum) = block_header(&header);
                if offset + (HEADER + length) as u64 > self.run.bytes {
                    return Err(damaged());
                }
                self.block.resize(length, 0);
                file.read_exact(&mut self.block)?;
                sum
            }
            (None, Place::Memory(bytes)) => {
                let rest = bytes.get(offset as usize..).and_then(|rest| rest.split_first_chunk());
                let (header, rest) = rest.ok_or_else(damaged)?;
                let (length, sum) = block_header(header);
                self.block.clear();
                self.block.extend_from_slice(rest.get(..length).ok_or_else(damaged)?);
                sum
            }
            (None, Place::File(_)) => return Err(damaged()),
        };
        match xxh3_64(&self.block) == sum {
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
            self.at.next = self.block.len();
            self.advance()?;
        }
        while !self.ended && self.is_before(hash, state) {
            self.advance()?;
        }
        Ok(!self.ended && self.hash == hash && self.state() == state)
    }

    fn is_before(&self, hash: u64, state: &[u8]) -> bool {
        !self.has_begun || (self.hash, self.state()) < (hash, state)
    }
}

/// Shows all states of a run, each with the number of those behind it, until it is told to stop.
pub(crate) fn for_each_state(
    run: &Rc<Run>,
    mut visit: impl FnMut(&RunReader, u64) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let mut reader = RunReader::open(run)?;
    let mut waiting = run.states;
    while !reader.ended {
        waiting = waiting.saturating_sub(1);
        if visit(&reader, waiting)?.is_break() {
            return Ok(());
        }
        reader.advance()?;
    }
    Ok(())
}

/// A state with its hash, and the note beside it.
type Noted<'a> = (u64, &'a [u8], &'a [u8]);

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
    pub(crate) fn next(&mut self) -> io::Result<Option<Noted<'_>>> {
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
    use std::path::Path;

    fn states(from: u32, to: u32, step: usize) -> BTreeSet<(u64, Vec<u8>)> {
        let state =
            |number: u32| -> Vec<u8> { number.to_le_bytes().repeat(1 + number as usize % 9) };
        (from..to).step_by(step).map(|number| (hash(&state(number)), state(number))).collect()
    }

    fn write(path: &Path, states: &BTreeSet<(u64, Vec<u8>)>) -> Rc<Run> {
        let mut writer = RunWriter::new(path.to_owned(), 0);
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
            let mut writer = RunWriter::new(path, 0);
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
    fn a_reader_begins_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = states(0, 9000, 3);
        let run = write(&folder.path().join("run"), &all);
        let mut reader = RunReader::before_first(&run).expect("it is there");
        for (hash, state) in states(0, 9000, 1).iter().rev().step_by(7) {
            reader.rewind();
            let found = reader.has(*hash, state).expect("it can be read");
            assert_eq!(found, all.contains(&(*hash, state.clone())));
        }
    }

    /// What stays in memory reads like a file, and like itself when it is read back.
    #[test]
    fn runs_in_memory_are_like_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = states(0, 9000, 1);
        let mut writer = RunWriter::new(folder.path().join("run"), usize::MAX);
        all.iter()
            .for_each(|(hash, state)| writer.push(*hash, state, b"x").expect("there is room"));
        let run = writer.finish().expect("there is room");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
        let bytes = run.memory_bytes().expect("it is in memory").to_vec();
        let again = Rc::new(Run::from_bytes(bytes.clone(), run.states).expect("it is whole"));
        assert_eq!(again.blocks, run.blocks);
        for run in [run, again] {
            let mut reader = RunReader::before_first(&run).expect("it is there");
            for (hash, state) in &states(0, 10_000, 7) {
                let found = reader.has(*hash, state).expect("it can be read");
                assert_eq!(found, all.contains(&(*hash, state.clone())));
            }
        }
        for end in (0..bytes.len()).step_by(97) {
            let cut = Run::from_bytes(bytes[..end].to_vec(), 1);
            assert!(cut.is_err() || cut.is_ok_and(|cut| cut.bytes == end as u64));
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
