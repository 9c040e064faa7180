//! preempt's searches in files.
//!
//! 1. `sections.rs`: files that are written whole or not at all; `checkpoint.rs`: a search written down, from which it
//!    goes on.
//! 2. `run.rs`: sorted files of states; `external.rs`: a search whose states are in such files.
//!
//! Invariant: what cannot be read as it was written is refused, never guessed; what cannot be written ends in a note or an
//! inconclusive answer, never in a wrong one.

pub mod checkpoint;
mod external;
mod run;
mod sections;

pub use checkpoint::{Broken, Checkpoints, Clock, Manifest};
pub use external::external;
pub use sections::{SectionReader, Sections, Unreadable};

use preempt_check::search::nested::NestedOptions;
use preempt_check::search::partitioned::{
    Elsewhere, Owner, Partition, combine, explore, partition, trace_back, why_unreduced,
};
use preempt_check::{Budget, Finding, Options};
use preempt_core::{Stop, System};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const CYCLES: &str = "infinite executions are not searched in files";

fn not_for_cycles() -> Finding {
    Finding { stop: Some(Stop::Unsupported), notes: vec![CYCLES.into()], ..Finding::default() }
}

fn note_reduction(system: &dyn System, options: &Options, finding: &mut Finding) {
    if let Some(why) = why_unreduced(system, options) {
        finding.notes.push(format!("no partial-order reduction: {why}"));
    }
}

/// Searches in files of a folder.
#[derive(Clone, Debug)]
pub struct OnDisk {
    /// Where the files are, while the search runs.
    pub folder: PathBuf,
}

impl Elsewhere for OnDisk {
    fn safety(&self, system: &dyn System, options: &Options, budget: &mut Budget<'_>) -> Finding {
        let mut finding = external(system, options, budget, &self.folder);
        note_reduction(system, options, &mut finding);
        finding
    }

    fn cycles(&self, _: &dyn System, _: NestedOptions, _: &mut Budget<'_>) -> Finding {
        not_for_cycles()
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

impl Elsewhere for Saved {
    fn safety(&self, system: &dyn System, options: &Options, budget: &mut Budget<'_>) -> Finding {
        let search = self.searches.fetch_add(1, Ordering::SeqCst);
        let mut part = partition(system, options, Owner::ALONE, budget.memory_limit());
        let resumed = self.resumed.as_ref().filter(|manifest| manifest.search == search);
        let result = match resumed {
            Some(manifest) => checkpoint::restore(&self.folder, manifest, &mut *part),
            None => {
                part.begin();
                std::fs::create_dir_all(&self.folder).map_err(|error| {
                    Broken(format!("cannot write to {}: {error}", self.folder.display()))
                })
            }
        };
        if let Err(Broken(why)) = result {
            let stop = Some(Stop::Disk);
            return Finding { stop, notes: vec![why], ..Finding::default() };
        }
        let before = resumed.map_or(0, |manifest| manifest.elapsed);
        let number = self.resumed.as_ref().map_or(0, |manifest| manifest.number);
        let mut saver = Checkpoints {
            folder: &self.folder,
            clock: Clock::new(self.every, number),
            manifest: Manifest { search, ..self.manifest.clone() },
            start: (Instant::now(), before),
        };
        let mut owners: [&mut dyn Partition; 1] = [&mut *part];
        explore(&mut owners, options.max_errors, budget, &mut saver);
        let (all, steps) = trace_back(&mut owners);
        let mut finding = combine(system, options, all, steps);
        finding.statistics.seconds = budget.elapsed().as_secs_f64() + before as f64 / 1000.0;
        finding.statistics.memory_bytes = budget.peak_memory() as u64;
        note_reduction(system, options, &mut finding);
        if let Some(manifest) = resumed {
            finding.notes.push(format!(
                "resumed from a checkpoint with {} states after {:.1} s",
                manifest.share.states,
                before as f64 / 1000.0
            ));
        }
        finding.notes.extend(saver.clock.notes(&self.folder));
        finding
    }

    fn cycles(&self, _: &dyn System, _: NestedOptions, _: &mut Budget<'_>) -> Finding {
        not_for_cycles()
    }

    fn simplifies(&self) -> bool {
        true
    }
}
