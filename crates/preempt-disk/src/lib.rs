//! preempt's searches in files.
//!
//! 1. `sections.rs`: files that are written whole or not at all; `checkpoint.rs`: a search written down, from which it
//!    goes on; `finished.rs`: what was found by those that are over.
//! 2. `run.rs`: sorted runs of states, with notes beside them (`record.rs`); `folder.rs`: where their files are;
//!    `candidates.rs`: what was found and is to be compared; `known.rs`: what it is compared with, in memory (`recent.rs`)
//!    and in runs (`filter.rs`); `entries.rs`: what both have in memory; `levels.rs`: the way back.
//! 3. Searches whose states are in such files: `external.rs`, level by level; `buckets.rs`, by preemptions; `cycles.rs`,
//!    accepting cycles.
//!
//! Invariant: what cannot be read as it was written is refused, never guessed; what cannot be written ends in a note or an
//! inconclusive answer, never in a wrong one.

#![forbid(unsafe_code)]

mod buckets;
mod candidates;
pub mod checkpoint;
mod cycles;
mod entries;
mod external;
mod filter;
pub mod finished;
mod folder;
mod known;
mod levels;
mod recent;
mod record;
mod run;
mod sections;

pub use buckets::external_buckets;
pub use checkpoint::{Broken, Checkpoints, Clock, Manifest};
pub use cycles::external_cycles;
pub use external::external;
pub use sections::{SectionReader, Sections, Unreadable};

use preempt_check::search::nested::NestedOptions;
use preempt_check::{Budget, Covered, Finding, Options, Preemptions, RemoteSearch};
use preempt_core::{Stop, System, ViolationKind};
use preempt_partitioned::{
    Cycles, Outcome, Owner, Partition, explore, explore_cycles, finite_options, note_reduction,
    partition, trace_back,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Searches in files of a folder.
#[derive(Clone, Debug)]
pub struct OnDisk {
    /// Where the files are, while the search runs.
    pub folder: PathBuf,
    /// Memory for states that are not in files; all that the search may use, unless given.
    pub memory: Option<usize>,
}

impl OnDisk {
    /// In files of this folder.
    pub fn new(folder: PathBuf) -> Self {
        OnDisk { folder, memory: None }
    }

    fn memory(&self, budget: &Budget<'_>) -> usize {
        self.memory.unwrap_or(budget.memory_limit().max(LEAST))
    }
}

/// With less memory nothing but files would be made.
const LEAST: usize = 1 << 20;

impl RemoteSearch for OnDisk {
    fn safety(&self, system: &dyn System, options: &Options, budget: &mut Budget<'_>) -> Finding {
        let memory = self.memory(budget);
        let mut finding = match options.preemptions {
            Preemptions::Any => external(system, options, budget, &self.folder, memory),
            _ => external_buckets(system, options, budget, &self.folder, memory),
        };
        note_reduction(system, options, budget, &mut finding);
        finding
    }

    fn cycles(
        &self,
        system: &dyn System,
        nested: NestedOptions,
        budget: &mut Budget<'_>,
    ) -> Finding {
        external_cycles(system, &nested, budget, &self.folder, self.memory(budget))
    }

    fn simplifies(&self) -> bool {
        true
    }
}

/// Searches in memory that are written down from time to time.
#[derive(Debug)]
pub struct Saved {
    /// Where to.
    pub folder: PathBuf,
    /// How often.
    pub every: Duration,
    /// What does not change from one checkpoint to the next: the command and what it is about.
    pub manifest: Manifest,
    /// Where to go on from, if the search was begun before.
    pub resumed: Option<Manifest>,
    /// Searches made so far.
    pub searches: AtomicU64,
}

/// What a report says of a search that is not made again.
pub const FINISHED_BEFORE: &str = "resumed: this search was finished before the interruption";

impl Saved {
    /// Makes a search, or takes what it found before. `explore` makes the one with this number, from its beginning or from
    /// the checkpoint.
    fn search<'s>(
        &'s self,
        budget: &mut Budget<'_>,
        explore: impl FnOnce(u64, &mut Budget<'_>) -> Result<(Outcome, Checkpoints<'s>), Broken>,
        report: impl FnOnce(Outcome, &mut Budget<'_>) -> Finding,
    ) -> Finding {
        let search = self.searches.fetch_add(1, Ordering::SeqCst);
        let job = &self.manifest.job;
        let before = self.resumed.as_ref().and_then(|_| finished::read(&self.folder, search, job));
        if let Some(found) = before {
            let mut finding = report(found, budget);
            finding.notes.push(FINISHED_BEFORE.into());
            return finding;
        }
        let (found, saver) = match explore(search, budget) {
            Ok(explored) => explored,
            Err(Broken(why)) => {
                return Finding { notes: vec![why], ..Finding::new(Covered::Part(Stop::Disk)) };
            }
        };
        let kept = finished::write(&self.folder, search, job, &found);
        let finding = report(found, budget);
        let mut finding = self.end(finding, &saver, budget);
        if let Err(error) = kept {
            finding.notes.push(format!("what was found could not be written: {error}"));
        }
        finding
    }

    /// Has a part begin, or go on from the checkpoint. Gives what saves it from time to time.
    fn begin(&self, search: u64, part: &mut dyn Partition) -> Result<Checkpoints<'_>, Broken> {
        let resumed = self.resumed.as_ref().filter(|manifest| manifest.search == search);
        match resumed {
            Some(manifest) => checkpoint::restore(&self.folder, manifest, part)?,
            None => {
                part.begin();
                checkpoint::prepare(&self.folder)?;
                if search == 0 {
                    finished::forget(&self.folder);
                }
            }
        }
        Ok(Checkpoints {
            folder: &self.folder,
            clock: Clock::of_search(search, self.every, self.resumed.as_ref()),
            manifest: Manifest { search, ..self.manifest.clone() },
            start: (Instant::now(), resumed.map_or(0, |manifest| manifest.elapsed)),
        })
    }

    /// What is reported of a search that has come to its end.
    fn end(&self, mut finding: Finding, saver: &Checkpoints<'_>, budget: &Budget<'_>) -> Finding {
        let before = saver.start.1 as f64 / 1000.0;
        finding.statistics.seconds = budget.elapsed().as_secs_f64() + before;
        finding.statistics.memory_bytes = budget.peak_memory() as u64;
        let resumed = self.resumed.as_ref();
        if let Some(manifest) = resumed.filter(|one| one.search == saver.manifest.search) {
            let states = manifest.share.states;
            finding.notes.push(format!(
                "resumed from a checkpoint with {states} states after {before:.1} s"
            ));
        }
        finding.notes.extend(saver.clock.notes(&self.folder));
        finding
    }
}

impl RemoteSearch for Saved {
    fn safety(&self, system: &dyn System, options: &Options, budget: &mut Budget<'_>) -> Finding {
        self.search(
            budget,
            |search, budget| {
                let mut part = partition(system, options, Owner::ALONE, budget);
                let mut saver = self.begin(search, &mut *part)?;
                let mut owners: [&mut dyn Partition; 1] = [&mut *part];
                explore(&mut owners, options.max_errors, budget, &mut saver);
                let (all, steps) = trace_back(&mut owners);
                Ok((Outcome { all, steps, cycle_start: None }, saver))
            },
            |found, budget| {
                let mut finding = found.finding(system, options, ViolationKind::AcceptanceCycle);
                note_reduction(system, options, budget, &mut finding);
                finding
            },
        )
    }

    fn cycles(
        &self,
        system: &dyn System,
        nested: NestedOptions,
        budget: &mut Budget<'_>,
    ) -> Finding {
        let options = finite_options(&nested);
        self.search(
            budget,
            |search, budget| {
                let mut part = Cycles::new(system, &options, Owner::ALONE, budget);
                let mut saver = self.begin(search, &mut part)?;
                let parts = std::slice::from_mut(&mut part);
                let found =
                    explore_cycles(system, &options, nested.kind, parts, budget, &mut saver);
                Ok((found, saver))
            },
            |found, _| found.finding(system, &options, nested.kind),
        )
    }

    fn simplifies(&self) -> bool {
        true
    }
}
