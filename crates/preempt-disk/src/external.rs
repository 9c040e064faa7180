//! Breadth-first search in files: for more states than memory can hold.
//!
//! Duplicates are found late (delayed duplicate detection, Korf 2003). The successors of a level are collected in memory, sorted
//! and written as runs; at the end of the level the runs are merged, and what is in a run of earlier levels is dropped.
//! What remains is the next level: a run itself, and the queue.
//!
//! Chosen over a table in memory with states on the disk, which needs 8 bytes and more per state in memory: this needs one number
//! per block of about a thousand states.
//!
//! Invariant: a run holds distinct states, no two levels share one, and the files of all levels stay until the end:
//! the way back to a violation leads through them.

use crate::candidates::Candidates;
use crate::folder::Folder;
use crate::known::Known;
use crate::run::{Run, RunReader, RunWriter, no_notes};
use preempt_check::search::partitioned::{Goal, Share, Single, Way, along, combine};
use preempt_check::store::hash;
use preempt_check::{Budget, Finding, Options, Progress};
use preempt_core::{Stop, System};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// Searches with files in `folder`, which are gone afterwards.
pub fn external(
    system: &dyn System,
    options: &Options,
    budget: &mut Budget<'_>,
    folder: &Path,
) -> Finding {
    let folder = match Folder::inside(folder) {
        Ok(folder) => folder,
        Err(error) => return failed(system, options, &error),
    };
    let single = Single::new(system, options);
    let mut search = External::new(single, folder, options, budget.memory_limit());
    let result = search.explore(budget);
    let mut share = search.share();
    let mut notes = vec![written(search.folder.written, share.states, budget)];
    if let Err(error) = result {
        notes.push(error.to_string());
        share.site = None;
        share.stop = Some(Stop::Disk);
    }
    let steps = share.site.clone().and_then(|site| along(&site, |goal| search.seek(goal).ok()?));
    finish(combine(system, options, share, steps), budget, notes)
}

/// What was written, for the report.
pub(crate) fn written(bytes: u64, states: u64, budget: &Budget<'_>) -> String {
    format!(
        "states in files: {} MiB written, {:.0} states/s",
        bytes >> 20,
        states as f64 / budget.elapsed().as_secs_f64().max(1e-9)
    )
}

/// Adds what it took.
pub(crate) fn finish(mut finding: Finding, budget: &Budget<'_>, notes: Vec<String>) -> Finding {
    finding.statistics.seconds = budget.elapsed().as_secs_f64();
    finding.statistics.memory_bytes = budget.peak_memory() as u64;
    finding.notes.extend(notes);
    finding
}

/// A search that could not begin.
pub(crate) fn failed(system: &dyn System, options: &Options, error: &io::Error) -> Finding {
    let share = Share { stop: Some(Stop::Disk), ..Share::default() };
    let mut finding = combine(system, options, share, None);
    finding.notes.push(error.to_string());
    finding
}

/// All states, level by level.
pub(crate) struct External<'a> {
    pub(crate) single: Single<'a>,
    pub(crate) folder: Folder,
    pub(crate) candidates: Candidates,
    /// The states of each level.
    pub(crate) levels: Vec<Rc<Run>>,
    pub(crate) visited: Known,
    states: u64,
    /// Successors found.
    arrivals: u64,
    pub(crate) stop: Option<Stop>,
    depth: u64,
}

impl<'a> External<'a> {
    /// A search that has not begun.
    pub(crate) fn new(
        single: Single<'a>,
        folder: Folder,
        options: &Options,
        memory: usize,
    ) -> Self {
        External {
            single,
            folder,
            candidates: Candidates::new(memory / 2, no_notes),
            levels: Vec::new(),
            visited: Known::new(no_notes),
            states: 0,
            arrivals: 0,
            stop: None,
            depth: options.depth.unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn explore(&mut self, budget: &mut Budget<'_>) -> io::Result<()> {
        let Some(initial) = self.single.initial() else { return Ok(()) };
        let mut writer = self.folder.file(false)?;
        writer.push(hash(&initial), &initial, &[])?;
        self.add_level(writer)?;
        while self.stop.is_none() && !self.single.has_enough() {
            if self.levels.len() as u64 >= self.depth {
                self.stop = Some(Stop::Depth);
                return Ok(());
            }
            let Some(level) = self.levels.last().cloned() else { return Ok(()) };
            self.expand(&level, budget)?;
            if self.stop.is_some() || self.single.has_enough() {
                return Ok(());
            }
            if !self.keep_new()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Ends the file of a level.
    fn add_level(&mut self, writer: RunWriter) -> io::Result<()> {
        let run = self.folder.finish(writer)?;
        self.states += run.states;
        self.levels.push(run.clone());
        self.visited.add(&mut self.folder, run)
    }

    /// Finds the successors of a level.
    fn expand(&mut self, level: &Rc<Run>, budget: &mut Budget<'_>) -> io::Result<()> {
        let depth = self.levels.len() as u32 - 1;
        let mut reader = RunReader::open(level)?;
        let mut state = Vec::new();
        let mut done = 0;
        while !reader.ended {
            state.clear();
            state.extend_from_slice(reader.state());
            let (candidates, arrivals) = (&mut self.candidates, &mut self.arrivals);
            let expanded = self.single.expand(depth, &mut state, |next| {
                *arrivals += 1;
                candidates.push(next, &[], true);
            });
            if let Err(stop) = expanded {
                self.stop = Some(stop);
            }
            if self.single.has_enough() || self.stop.is_some() {
                return Ok(());
            }
            self.candidates.make_room(&mut self.folder)?;
            done += 1;
            let waiting = level.states - done;
            if let Some(stop) = budget.poll(|| self.progress(waiting)) {
                self.stop = Some(stop);
                return Ok(());
            }
            reader.advance()?;
        }
        Ok(())
    }

    /// Makes a level of what is in no earlier one; says whether there is anything.
    fn keep_new(&mut self) -> io::Result<bool> {
        let mut merge = self.candidates.take(&mut self.folder)?;
        let mut visited = self.visited.questions()?;
        let mut writer = self.folder.file(false)?;
        let mut any = false;
        while let Some((hash, state, _)) = merge.next()? {
            if !visited.is_known(hash, state)? {
                any = true;
                writer.push(hash, state, &[])?;
            }
        }
        drop(visited);
        if any {
            self.add_level(writer)?;
        }
        Ok(any)
    }

    pub(crate) fn progress(&self, waiting: u64) -> Progress {
        let runs = self.levels.iter().map(|run| run.memory()).sum::<usize>();
        Progress {
            states: self.states,
            transitions: self.arrivals,
            depth: self.levels.len() as u64,
            queue: waiting,
            memory: self.candidates.memory() + self.visited.memory() + runs,
            ..Progress::default()
        }
    }

    pub(crate) fn share(&self) -> Share {
        let counted = self.single.share();
        Share {
            states: self.states,
            // The initial state is reached by no step.
            matched: (self.arrivals + 1).saturating_sub(self.states),
            memory: self.progress(0).memory as u64,
            stop: self.stop.or(counted.stop),
            ..counted
        }
    }

    /// A predecessor among the states of the level before.
    pub(crate) fn seek(&mut self, goal: &Goal) -> io::Result<Option<Way>> {
        let Some(level) = goal.time.round.checked_sub(1) else { return Ok(None) };
        let Some(run) = self.levels.get(level as usize) else { return Ok(None) };
        let mut reader = RunReader::open(run)?;
        while !reader.ended {
            if let Some(steps) = self.single.steps_to(reader.state(), goal) {
                let mut from = goal.clone();
                from.time.round = level;
                from.state = reader.state().to_vec();
                return Ok(Some(Way { from, steps }));
            }
            reader.advance()?;
        }
        Ok(None)
    }
}
