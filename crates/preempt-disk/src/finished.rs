//! What searches of a run found that have come to their ends.
//!
//! A command may make several searches, one for each property and more. Beside the checkpoint of the one that was under way
//! there is a file `finished-<n>` for each that was over, so that a command which is resumed makes none of them again. A file
//! that is not there, or is not as it was written, costs time: the search is made again.

use crate::sections::{SectionReader, Sections};
use preempt_partitioned::{Damaged, Outcome, Reader, Writer};
use std::io;
use std::path::{Path, PathBuf};

const FINISHED: u32 = 3;
const PREFIX: &str = "finished-";

fn path(folder: &Path, search: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{search}"))
}

/// Keeps what a search of a job found, unless it had to stop: with more time or memory it would find more.
pub fn write(folder: &Path, search: u64, job: &[u8], found: &Outcome) -> io::Result<()> {
    if found.all.stop.is_some() {
        return Ok(());
    }
    let mut writer = Writer::default();
    writer.bytes(job);
    found.write(&mut writer);
    let mut file = Sections::create(&path(folder, search))?;
    file.write(FINISHED, search, &writer.bytes)?;
    file.finish().map(|_| ())
}

/// What a search of a job found, if it is known.
pub fn read(folder: &Path, search: u64, job: &[u8]) -> Option<Outcome> {
    let mut reader = SectionReader::open(&path(folder, search)).ok()?;
    let section = reader.next_section().ok()??;
    // The end says that it is whole.
    reader.next_section().ok()?;
    decode(&section.bytes, job).ok()?
}

fn decode(bytes: &[u8], job: &[u8]) -> Result<Option<Outcome>, Damaged> {
    let mut reader = Reader::new(bytes);
    if reader.bytes()? != job {
        return Ok(None);
    }
    Outcome::read(&mut reader).map(Some)
}

/// A new run begins: removes what is left of another one.
pub fn forget(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use preempt_core::{ProcessId, Step, Stop};
    use preempt_partitioned::PartitionResult;

    #[test]
    fn only_what_is_whole_and_of_the_same_job_is_read() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path();
        let all = PartitionResult { states: 7, errors: 1, ..PartitionResult::default() };
        let steps = Some(vec![Step::new(ProcessId(1), 2)]);
        let found = Outcome { all, steps, cycle_start: Some(1) };
        write(folder, 4, b"job", &found).expect("there is room");
        let again = read(folder, 4, b"job").expect("it is there");
        assert_eq!(
            (again.all, again.steps, again.cycle_start),
            (found.all.clone(), found.steps.clone(), Some(1))
        );
        assert!(read(folder, 4, b"another").is_none() && read(folder, 5, b"job").is_none());
        let file = path(folder, 4);
        let bytes = std::fs::read(&file).expect("it is there");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            std::fs::write(&file, &damaged).expect("there is room");
            assert!(read(folder, 4, b"job").is_none(), "byte {at}");
            std::fs::write(&file, &bytes[..at]).expect("there is room");
            assert!(read(folder, 4, b"job").is_none(), "{at} bytes");
        }
        forget(folder);
        assert!(!file.exists());
        let stopped = PartitionResult { stop: Some(Stop::Time), ..PartitionResult::default() };
        write(folder, 1, b"job", &Outcome { all: stopped, ..found }).expect("nothing is written");
        assert!(read(folder, 1, b"job").is_none());
    }
}
