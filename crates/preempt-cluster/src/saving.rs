//! Checkpoints of a search on many processes.
//!
//! A worker for which one is due marks the time behind the one that it is about to expand: the mark travels with the states,
//! so that every worker has it when everything of that time has arrived. Then nothing is under way: each worker writes its part and waits. When
//! all have written, the first worker writes the manifest and lets them go on. No worker expands anything in between.

use preempt_disk::checkpoint::{self, Broken, Clock, Manifest};
use preempt_disk::finished;
use preempt_partitioned::{Damaged, Outcome, Partition, PartitionResult, Reader, Writer};
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Where and how often searches are written down.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A folder that all processes see.
    pub folder: PathBuf,
    /// How often.
    pub every: Duration,
    /// What does not change from one checkpoint to the next.
    pub manifest: Manifest,
    /// Where to go on from, if the search was begun before.
    pub resumed: Option<Manifest>,
}

impl Plan {
    /// What the next search found when it was made before; then it is not made again. All processes see the same folder.
    pub(crate) fn finished(&self, searches: &AtomicU64) -> Option<Outcome> {
        let search = searches.load(Ordering::SeqCst);
        let manifest = self.resumed.as_ref()?;
        let found = finished::read(&self.folder, search, &manifest.job)?;
        searches.fetch_add(1, Ordering::SeqCst);
        Some(found)
    }

    /// Keeps what a search found that has come to its end.
    pub(crate) fn finish(&self, search: u64, found: &Outcome) -> io::Result<()> {
        finished::write(&self.folder, search, &self.manifest.job, found)
    }
}

/// One worker's part in checkpoints.
pub(crate) struct Saving<'a> {
    plan: &'a Plan,
    clock: Clock,
    worker: usize,
    search: u64,
    start: Instant,
    /// What the first worker reports in the end.
    notes: &'a Mutex<Vec<String>>,
    /// What all have written so far, in this checkpoint.
    shares: PartitionResult,
    failed: Option<String>,
    bytes: u64,
}

impl<'a> Saving<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        worker: usize,
        search: u64,
        notes: &'a Mutex<Vec<String>>,
    ) -> Self {
        Saving {
            plan,
            clock: Clock::of_search(search, plan.every, plan.resumed.as_ref()),
            worker,
            search,
            start: Instant::now(),
            notes,
            shares: PartitionResult::default(),
            failed: None,
            bytes: 0,
        }
    }

    /// The checkpoint that this search goes on from.
    fn resumed(&self) -> Option<&'a Manifest> {
        self.plan.resumed.as_ref().filter(|manifest| manifest.search == self.search)
    }

    /// Takes what is this worker's of a checkpoint, or the initial state.
    pub(crate) fn begin(&self, part: &mut dyn Partition) -> Result<(), Broken> {
        match self.resumed() {
            Some(manifest) => checkpoint::restore(&self.plan.folder, manifest, part),
            None => {
                part.begin();
                checkpoint::prepare(&self.plan.folder)?;
                // Others may still make theirs, but none has written anything yet.
                if self.worker == 0 && self.search == 0 {
                    finished::forget(&self.plan.folder);
                }
                Ok(())
            }
        }
    }

    /// Has a sentence reported.
    pub(crate) fn complain(&self, Broken(why): Broken) {
        if let Ok(mut notes) = self.notes.lock() {
            notes.push(why);
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.clock.is_due()
    }

    /// Writes this worker's part; the letter says how that went.
    pub(crate) fn write(&mut self, part: &dyn Partition) -> Vec<u8> {
        let number = self.clock.number + 1;
        let result = checkpoint::write_part(&self.plan.folder, number, self.worker, part);
        let mut writer = Writer::default();
        match &result {
            Ok(bytes) => {
                writer.number(1 + bytes);
                part.share().write(&mut writer);
            }
            Err(error) => {
                writer.number(0);
                writer.bytes(error.to_string().as_bytes());
            }
        }
        if self.worker != 0 {
            // Whether it became a checkpoint is for the first worker to know.
            self.clock.done(Ok(0));
            self.clock.number = number;
        }
        writer.bytes
    }

    /// Takes the letter of a worker.
    pub(crate) fn note(&mut self, letter: &[u8]) {
        let mut reader = Reader::new(letter);
        let mut read = || -> Result<(), Damaged> {
            match reader.number()? {
                0 => {
                    let why = String::from_utf8_lossy(reader.bytes()?).into_owned();
                    self.failed.get_or_insert(why);
                }
                bytes => {
                    self.bytes += bytes - 1;
                    self.shares.add(&PartitionResult::read(&mut reader)?);
                }
            }
            Ok(())
        };
        if let Err(Damaged) = read() {
            self.failed.get_or_insert("a part is damaged".into());
        }
    }

    /// All have written: makes it the checkpoint, if all went well.
    pub(crate) fn commit(&mut self, workers: usize) {
        let number = self.clock.number + 1;
        let before = self.resumed().map_or(0, |manifest| manifest.elapsed);
        let result = match self.failed.take() {
            Some(why) => Err(io::Error::other(why)),
            None => {
                let manifest = Manifest {
                    number,
                    parts: workers as u64,
                    search: self.search,
                    elapsed: self.start.elapsed().as_millis() as u64 + before,
                    share: std::mem::take(&mut self.shares),
                    ..self.plan.manifest.clone()
                };
                manifest.commit(&self.plan.folder).map(|()| self.bytes)
            }
        };
        self.shares = PartitionResult::default();
        self.bytes = 0;
        self.clock.done(result);
        self.clock.number = number;
    }

    /// Says what became of the checkpoints.
    pub(crate) fn end(self) {
        if self.worker == 0
            && let Ok(mut notes) = self.notes.lock()
        {
            if let Some(manifest) = self.resumed() {
                notes.push(format!(
                    "resumed from a checkpoint with {} states after {:.1} s",
                    manifest.share.states,
                    manifest.elapsed as f64 / 1000.0
                ));
            }
            notes.extend(self.clock.notes(&self.plan.folder));
        }
    }
}
