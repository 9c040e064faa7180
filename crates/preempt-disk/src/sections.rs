//! Files of sections, written whole or not at all.
//!
//! A file begins with a word that says what it is and a version. Each section has a kind, a time, its length and a
//! checksum of all of these and of its bytes; the last one says how many there were. A file is written beside its
//! place, brought to the disk and then moved there, so that under its name there is a whole file or none.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

const WORD: &[u8; 16] = b"preempt sections";
/// The version of everything that is written this way.
const VERSION: u32 = 2;
/// Kind, time, length, checksum.
const HEADER: usize = 4 + 8 + 8 + 8;
/// No section is longer.
const LONGEST: u64 = 1 << 30;
const END: u32 = u32::MAX;

/// Why a file cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// The system says so.
    Io(io::Error),
    /// It is none of ours.
    Foreign,
    /// It is of another version.
    Version(u32),
    /// It is ours, but not as it was written.
    Damaged,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::Io(error) => error.fmt(f),
            Unreadable::Foreign => f.write_str("it is not a checkpoint file"),
            Unreadable::Version(theirs) => {
                write!(f, "it was written by another version of preempt ({theirs}, not {VERSION})")
            }
            Unreadable::Damaged => f.write_str("it is damaged"),
        }
    }
}

impl std::error::Error for Unreadable {}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Unreadable::Damaged,
            _ => Unreadable::Io(error),
        }
    }
}

fn checksum(header: &[u8], bytes: &[u8]) -> u64 {
    let mut sum = Xxh3::new();
    sum.update(header);
    sum.update(bytes);
    sum.digest()
}

/// Writes a file.
pub struct Sections {
    file: BufWriter<File>,
    path: PathBuf,
    beside: PathBuf,
    count: u64,
    /// Bytes written.
    pub written: u64,
}

impl Sections {
    /// Begins a file that will be at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let beside = PathBuf::from(beside);
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&beside)?);
        file.write_all(WORD)?;
        file.write_all(&VERSION.to_le_bytes())?;
        Ok(Sections { file, path: path.to_owned(), beside, count: 0, written: 20 })
    }

    /// Adds a section.
    pub fn write(&mut self, kind: u32, time: u64, bytes: &[u8]) -> io::Result<()> {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&kind.to_le_bytes());
        header[4..12].copy_from_slice(&time.to_le_bytes());
        header[12..20].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let sum = checksum(&header[..20], bytes);
        header[20..].copy_from_slice(&sum.to_le_bytes());
        self.file.write_all(&header)?;
        self.file.write_all(bytes)?;
        self.count += 1;
        self.written += (HEADER + bytes.len()) as u64;
        Ok(())
    }

    /// Ends the file and moves it to its place. What is left of one that fails is removed.
    pub fn finish(mut self) -> io::Result<u64> {
        let count = self.count;
        self.write(END, count, &[])?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        std::fs::rename(&self.beside, &self.path)?;
        Ok(self.written)
    }
}

impl Drop for Sections {
    fn drop(&mut self) {
        // Gone if it was moved to its place.
        let _ = std::fs::remove_file(&self.beside);
    }
}

/// A section that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is.
    pub kind: u32,
    /// The time it belongs to.
    pub time: u64,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// Reads a file, section by section.
#[derive(Debug)]
pub struct SectionReader {
    file: BufReader<File>,
    count: u64,
    ended: bool,
}

impl SectionReader {
    /// Opens a file.
    pub fn open(path: &Path) -> Result<Self, Unreadable> {
        let mut file = BufReader::with_capacity(1 << 18, File::open(path)?);
        let mut word = [0; 16];
        match file.read_exact(&mut word) {
            Ok(()) if word == *WORD => {}
            Ok(()) => return Err(Unreadable::Foreign),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(Unreadable::Foreign);
            }
            Err(error) => return Err(error.into()),
        }
        let mut version = [0; 4];
        file.read_exact(&mut version)?;
        match u32::from_le_bytes(version) {
            VERSION => Ok(SectionReader { file, count: 0, ended: false }),
            other => Err(Unreadable::Version(other)),
        }
    }

    /// The next section; `None` behind the last one.
    pub fn next_section(&mut self) -> Result<Option<Section>, Unreadable> {
        if self.ended {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        self.file.read_exact(&mut header)?;
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let (time, length, sum) = (number(4), number(12), number(20));
        if length > LONGEST {
            return Err(Unreadable::Damaged);
        }
        let mut bytes = Vec::new();
        (&mut self.file).take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length || checksum(&header[..20], &bytes) != sum {
            return Err(Unreadable::Damaged);
        }
        if kind == END {
            self.ended = true;
            return if time == self.count { Ok(None) } else { Err(Unreadable::Damaged) };
        }
        self.count += 1;
        Ok(Some(Section { kind, time, bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> Result<Vec<Section>, Unreadable> {
        let mut reader = SectionReader::open(path)?;
        let mut sections = Vec::new();
        while let Some(section) = reader.next_section()? {
            sections.push(section);
        }
        Ok(sections)
    }

    #[test]
    fn a_file_is_whole_or_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let mut file = Sections::create(&path).expect("it can be written");
        file.write(1, 7, b"first").expect("there is room");
        file.write(2, 8, &[9; 5000]).expect("there is room");
        assert!(!path.exists(), "not before it is whole");
        let written = file.finish().expect("there is room");
        let whole = std::fs::read(&path).expect("it is there");
        assert_eq!(written, whole.len() as u64);
        let sections = read(&path).expect("it is whole");
        assert_eq!(sections.len(), 2);
        assert_eq!(
            (sections[0].kind, sections[0].time, &sections[0].bytes[..]),
            (1, 7, &b"first"[..])
        );
        for end in (0..whole.len()).step_by(7) {
            std::fs::write(&path, &whole[..end]).expect("there is room");
            assert!(read(&path).is_err(), "cut at {end}");
        }
        for at in (0..whole.len()).step_by(11) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&path, &damaged).expect("there is room");
            assert!(read(&path).is_err(), "changed at {at}");
        }
        std::fs::write(&path, b"%PDF-1.7 and so on, for a while").expect("there is room");
        assert!(matches!(read(&path), Err(Unreadable::Foreign)));
        let mut newer = whole;
        newer[16] = 200;
        std::fs::write(&path, &newer).expect("there is room");
        assert!(matches!(read(&path), Err(Unreadable::Version(200))));
    }

    #[test]
    fn nothing_is_left_of_a_file_that_was_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let mut file = Sections::create(&path).expect("it can be written");
        file.write(1, 7, b"first").expect("there is room");
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
    }
}
