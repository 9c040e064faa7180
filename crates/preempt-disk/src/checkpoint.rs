//! Checkpoints: a search written down between two times, from which it goes on.
//!
//! A folder holds one checkpoint: `manifest`, and `part-<n>-<i>` for each owner of states. A new checkpoint writes parts
//! with a new number `n` beside the old ones; when all are on the disk, a manifest that names them takes the place of the old
//! one, and the old parts are removed. So the manifest always names parts that are there, whatever happens in between.

use crate::sections::{SectionReader, Sections, Unreadable};
use preempt_core::Stop;
use preempt_partitioned::{Damaged, Partition, PartitionResult, Reader, Saver, Time, Writer};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const MANIFEST: u32 = 1;
const STATES: u32 = 2;

/// What is known of a search that was written down.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Manifest {
    /// Which checkpoint of the run it is.
    pub number: u64,
    /// How many parts it has.
    pub parts: u64,
    /// Which search of the run it is.
    pub search: u64,
    /// A hash of the model and the options.
    pub job: Vec<u8>,
    /// The command, word by word.
    pub words: Vec<String>,
    /// The folder that it was given in.
    pub folder: String,
    /// How long the search had taken, in milliseconds.
    pub elapsed: u64,
    /// What all owners together had found.
    pub share: PartitionResult,
}

impl Manifest {
    fn path(folder: &Path) -> PathBuf {
        folder.join("manifest")
    }

    fn part(folder: &Path, number: u64, owner: usize) -> PathBuf {
        folder.join(format!("part-{number}-{owner}"))
    }

    /// Reads the manifest of a checkpoint.
    pub fn read(folder: &Path) -> Result<Self, Broken> {
        let path = Self::path(folder);
        let broken = |why: Unreadable| Broken::of(&path, why);
        let mut reader = SectionReader::open(&path).map_err(broken)?;
        let section = reader.next_section().map_err(broken)?;
        let section = section.ok_or_else(|| broken(Unreadable::Damaged))?;
        reader.next_section().map_err(broken)?;
        Self::decode(&mut Reader::new(&section.bytes))
            .map_err(|Damaged| broken(Unreadable::Damaged))
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        let mut manifest = Manifest {
            number: reader.number()?,
            parts: reader.number()?,
            search: reader.number()?,
            elapsed: reader.number()?,
            job: reader.bytes()?.to_vec(),
            ..Manifest::default()
        };
        let mut text = || {
            let bytes = reader.bytes()?;
            String::from_utf8(bytes.to_vec()).map_err(|_| Damaged)
        };
        manifest.folder = text()?;
        let count: usize = text()?.parse().map_err(|_| Damaged)?;
        for _ in 0..count {
            manifest.words.push(text()?);
        }
        manifest.share = PartitionResult::read(reader)?;
        Ok(manifest)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        for number in [self.number, self.parts, self.search, self.elapsed] {
            writer.number(number);
        }
        writer.bytes(&self.job);
        writer.bytes(self.folder.as_bytes());
        writer.bytes(self.words.len().to_string().as_bytes());
        self.words.iter().for_each(|word| writer.bytes(word.as_bytes()));
        self.share.write(&mut writer);
        writer.bytes
    }

    /// Makes this the checkpoint of the folder, and removes what belongs to no checkpoint any more.
    pub fn commit(&self, folder: &Path) -> io::Result<()> {
        let mut file = Sections::create(&Self::path(folder))?;
        file.write(MANIFEST, self.number, &self.encode())?;
        file.finish()?;
        if let Ok(opened) = std::fs::File::open(folder) {
            let _ = opened.sync_all();
        }
        let own = format!("part-{}-", self.number);
        for entry in std::fs::read_dir(folder)?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("part-") && !name.starts_with(&own) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Ok(())
    }
}

/// A checkpoint that cannot be used, in one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken(pub String);

impl Broken {
    fn of(path: &Path, why: Unreadable) -> Self {
        Broken(format!("cannot resume from {}: {why}", path.display()))
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

/// Makes the folder of checkpoints, if it is not there.
pub fn prepare(folder: &Path) -> Result<(), Broken> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Broken(format!("cannot write to {}: {error}", folder.display())))
}

/// Writes the states of one owner.
pub fn write_part(
    folder: &Path,
    number: u64,
    owner: usize,
    part: &dyn Partition,
) -> io::Result<u64> {
    let mut file = Sections::create(&Manifest::part(folder, number, owner))?;
    let mut failed = None;
    part.save(&mut |time, bytes| match file.write(STATES, time.number(), &bytes) {
        Ok(()) => true,
        Err(error) => {
            failed = Some(error);
            false
        }
    });
    match failed {
        Some(error) => Err(error),
        None => file.finish(),
    }
}

/// Gives the owner what is its own of all parts, and the counts.
pub fn restore(folder: &Path, manifest: &Manifest, part: &mut dyn Partition) -> Result<(), Broken> {
    let mut parts = Vec::new();
    for owner in 0..manifest.parts as usize {
        let path = Manifest::part(folder, manifest.number, owner);
        let mut reader = SectionReader::open(&path).map_err(|why| Broken::of(&path, why))?;
        let next = reader.next_section().map_err(|why| Broken::of(&path, why))?;
        parts.push((path, reader, next));
    }
    // Earlier times first, of all parts.
    loop {
        let waiting = parts.iter_mut().filter(|(_, _, next)| next.is_some());
        let Some((path, reader, next)) =
            waiting.min_by_key(|(_, _, next)| next.as_ref().map_or(u64::MAX, |next| next.time))
        else {
            break;
        };
        if let Some(section) = next.take() {
            part.restore(Time::from_number(section.time), &section.bytes)
                .map_err(|Damaged| Broken::of(path, Unreadable::Damaged))?;
        }
        *next = reader.next_section().map_err(|why| Broken::of(path, why))?;
    }
    part.restore_counts(&manifest.share);
    Ok(())
}

/// Reads all parts once, so that damage is known before the search goes on.
pub fn verify(folder: &Path, manifest: &Manifest) -> Result<(), Broken> {
    for owner in 0..manifest.parts as usize {
        let path = Manifest::part(folder, manifest.number, owner);
        let broken = |why| Broken::of(&path, why);
        let mut reader = SectionReader::open(&path).map_err(broken)?;
        while reader.next_section().map_err(broken)?.is_some() {}
    }
    Ok(())
}

/// When a checkpoint is due, and what became of the last one.
#[derive(Debug)]
pub struct Clock {
    every: Duration,
    last: Instant,
    /// The number of the last checkpoint.
    pub number: u64,
    /// Why the last one could not be written, and how often that happened.
    pub failed: Option<(String, u64)>,
    /// Checkpoints that were written, and their bytes.
    pub written: (u64, u64),
}

impl Clock {
    /// A checkpoint is due after this time; the last one had this number.
    fn new(every: Duration, number: u64) -> Self {
        Clock { every, last: Instant::now(), number, failed: None, written: (0, 0) }
    }

    /// For one of the searches of a run. Where the run was interrupted in a later search, this one is only made
    /// again: it must not take the place of what the later one goes on from. The checkpoints of a search have larger numbers
    /// than those of earlier ones, so that no part is written over another that a manifest names.
    pub fn of_search(search: u64, every: Duration, resumed: Option<&Manifest>) -> Self {
        let is_over = resumed.is_some_and(|manifest| search < manifest.search);
        let every = if is_over { Duration::MAX } else { every };
        let last = resumed.map_or(0, |manifest| manifest.number);
        Clock::new(every, last.max(search << 32))
    }

    /// Whether it is time for one.
    pub fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// One was written, or could not be.
    pub fn done(&mut self, result: io::Result<u64>) {
        self.last = Instant::now();
        match result {
            Ok(bytes) => self.written = (self.written.0 + 1, self.written.1 + bytes),
            Err(error) => {
                let times = self.failed.take().map_or(0, |(_, times)| times);
                self.failed = Some((error.to_string(), times + 1));
            }
        }
    }

    /// What a report says of it.
    pub fn notes(&self, folder: &Path) -> Vec<String> {
        let mut notes = Vec::new();
        if self.written.0 > 0 {
            notes.push(format!(
                "{} checkpoints in {}, {} KiB in all",
                self.written.0,
                folder.display(),
                self.written.1 >> 10
            ));
        }
        if let Some((why, times)) = &self.failed {
            // If the folder was removed, or the disk has failed, the earlier ones are gone, too.
            let kept = match Manifest::read(folder) {
                Ok(manifest) if manifest.number > 0 => "the previous one can be resumed",
                _ => "there is none that can be resumed",
            };
            notes.push(format!(
                "{times} checkpoints could not be written ({why}); {kept}, and the search continued"
            ));
        }
        notes
    }
}

/// Saves a search in one process from time to time.
pub struct Checkpoints<'a> {
    /// Where to.
    pub folder: &'a Path,
    /// When.
    pub clock: Clock,
    /// What does not change from one to the next.
    pub manifest: Manifest,
    /// When the search began, and what it had taken before.
    pub start: (Instant, u64),
}

impl Checkpoints<'_> {
    fn save(&mut self, owners: &[&mut dyn Partition]) -> io::Result<u64> {
        let number = self.clock.number + 1;
        let mut bytes = 0;
        let mut share = PartitionResult::default();
        for (at, owner) in owners.iter().enumerate() {
            bytes += write_part(self.folder, number, at, &**owner)?;
            share.add(&owner.share());
        }
        let elapsed = self.start.0.elapsed().as_millis() as u64 + self.start.1;
        let parts = owners.len() as u64;
        let manifest = Manifest { number, parts, elapsed, share, ..self.manifest.clone() };
        manifest.commit(self.folder)?;
        self.clock.number = number;
        Ok(bytes)
    }
}

impl Saver for Checkpoints<'_> {
    fn between(&mut self, owners: &[&mut dyn Partition]) -> Option<Stop> {
        if self.clock.is_due() {
            let result = self.save(owners);
            self.clock.done(result);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_of_a_run_do_not_write_over_each_other() {
        let at_once = Duration::ZERO;
        let numbers: Vec<u64> =
            (0..3).map(|search| Clock::of_search(search, at_once, None).number).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1000 < pair[1]), "{numbers:?}");
        let resumed = Manifest { search: 1, number: numbers[1] + 7, ..Manifest::default() };
        let clock = |search| Clock::of_search(search, at_once, Some(&resumed));
        assert!(!clock(0).is_due(), "it is only made again");
        assert!(clock(1).is_due() && clock(2).is_due());
        assert_eq!(clock(1).number, resumed.number);
        assert!(clock(2).number > resumed.number);
    }
}
