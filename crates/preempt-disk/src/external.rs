//! Breadth-first search in files: for more states than memory can hold.
//!
//! Duplicates are found late (delayed duplicate detection, Korf 2003). The successors of a level are collected in memory, sorted
//! and written as runs; at the end of the level the runs are merged, and what earlier levels have is dropped (`known.rs`).
//! What remains is the next level: a run itself, and the queue. Small runs stay in memory, and small levels are collected
//! (`levels.rs`), so that a search of many thin levels makes few files.
//!
//! Chosen over a table in memory with states on the disk, which needs 8 bytes and more per state in memory: this needs one number
//! per block of about a thousand states.
//!
//! Invariant: a run holds distinct states, no two levels share one, and all levels stay until the end: the way back to a
//! violation leads through them.

use crate::candidates::Candidates;
use crate::folder::Folder;
use crate::known::Known;
use crate::levels::Levels;
use crate::run::{Run, RunReader, RunWriter, for_each_state, no_notes};
use preempt_check::store::hash;
use preempt_check::{Budget, Finding, Options, Progress};
use preempt_core::{Stop, System};
use preempt_partitioned::{PartitionResult, Single, TraceSegment, TraceTarget, along, combine};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

/// Searches with files in `folder`, which are gone afterwards, and so much memory for what is not in files.
pub fn external(
    system: &dyn System,
    options: &Options,
    budget: &mut Budget<'_>,
    folder: &Path,
    memory: usize,
) -> Finding {
    let folder = match Folder::inside(folder, kept(memory)) {
        Ok(folder) => folder,
        Err(error) => return failed(system, options, &error),
    };
    let single = match Single::new(system, options, budget) {
        Ok(single) => single,
        Err(stop) => {
            let share = PartitionResult { stop: Some(stop), ..PartitionResult::default() };
            return finish(combine(system, options, share, None), budget, Vec::new());
        }
    };
    let mut search = External::new(single, folder, options, memory);
    let result = search.explore(budget);
    let mut share = search.share();
    let mut notes = vec![written(&search.folder, share.states, budget)];
    if let Err(error) = result {
        notes.push(error.to_string());
        share.site = None;
        share.stop = Some(Stop::Disk);
    }
    let steps = share.site.clone().and_then(|site| along(&site, |goal| search.seek(goal).ok()?));
    finish(combine(system, options, share, steps), budget, notes)
}

/// How much of the memory a run may take before it is written to a file: there are up to a hundred at a time.
pub(crate) fn kept(memory: usize) -> usize {
    (memory / 256).min(1 << 18)
}

/// What was written, for the report.
pub(crate) fn written(folder: &Folder, states: u64, budget: &Budget<'_>) -> String {
    format!(
        "states in files: {:.1} MiB written to {} files, {:.0} states/s",
        folder.written as f64 / f64::from(1 << 20),
        folder.files,
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
    let share = PartitionResult { stop: Some(Stop::Disk), ..PartitionResult::default() };
    let mut finding = combine(system, options, share, None);
    finding.notes.push(error.to_string());
    finding
}

/// All states, level by level.
pub(crate) struct External<'a> {
    pub(crate) single: Single<'a>,
    pub(crate) folder: Folder,
    pub(crate) candidates: Candidates,
    pub(crate) levels: Levels,
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
            levels: Levels::default(),
            visited: Known::new(memory / 4, no_notes),
            states: 0,
            arrivals: 0,
            stop: None,
            depth: options.depth.unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn explore(&mut self, budget: &mut Budget<'_>) -> io::Result<()> {
        let Some(initial) = self.single.initial() else { return Ok(()) };
        let mut writer = self.folder.run();
        writer.push(hash(&initial), &initial, &[])?;
        let mut level = self.add_level(writer)?;
        while self.stop.is_none() && !self.single.has_enough() {
            if self.levels.len() as u64 >= self.depth {
                self.stop = Some(Stop::Depth);
                return Ok(());
            }
            self.expand(&level, budget)?;
            if self.stop.is_some() || self.single.has_enough() {
                return Ok(());
            }
            match self.keep_new()? {
                Some(new) => level = new,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Ends the run of a level.
    fn add_level(&mut self, writer: RunWriter) -> io::Result<Rc<Run>> {
        let run = self.folder.finish(writer)?;
        self.states += run.states;
        self.levels.push(&mut self.folder, &run)?;
        self.visited.add(&mut self.folder, &run)?;
        Ok(run)
    }

    /// Finds the successors of a level.
    fn expand(&mut self, level: &Rc<Run>, budget: &mut Budget<'_>) -> io::Result<()> {
        let depth = self.levels.len() as u32 - 1;
        let mut state = Vec::new();
        for_each_state(level, |reader, waiting| {
            state.clear();
            state.extend_from_slice(reader.state());
            let (candidates, arrivals) = (&mut self.candidates, &mut self.arrivals);
            let expanded = self.single.expand(depth, &mut state, |next| {
                *arrivals += 1;
                candidates.push(next, &[], true);
            });
            self.stop = self.stop.or(expanded.err());
            if self.single.has_enough() || self.stop.is_some() {
                return Ok(ControlFlow::Break(()));
            }
            self.candidates.make_room(&mut self.folder)?;
            self.stop = budget.poll(|| self.progress(waiting));
            Ok(if self.stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    }

    /// Makes a level of what is in no earlier one, if there is anything.
    fn keep_new(&mut self) -> io::Result<Option<Rc<Run>>> {
        let mut merge = self.candidates.take(&mut self.folder)?;
        let mut visited = self.visited.questions();
        let mut writer = self.folder.run();
        let mut any = false;
        while let Some((hash, state, _)) = merge.next()? {
            if !visited.is_known(hash, state)? {
                any = true;
                writer.push(hash, state, &[])?;
            }
        }
        if any { self.add_level(writer).map(Some) } else { Ok(None) }
    }

    pub(crate) fn progress(&self, waiting: u64) -> Progress {
        Progress {
            states: self.states,
            transitions: self.arrivals,
            depth: self.levels.len() as u64,
            queue: waiting,
            memory: self.candidates.memory() + self.visited.memory() + self.levels.memory(),
            ..Progress::default()
        }
    }

    pub(crate) fn share(&self) -> PartitionResult {
        let counted = self.single.share();
        PartitionResult {
            states: self.states,
            // The initial state is reached by no step.
            matched: (self.arrivals + 1).saturating_sub(self.states),
            memory: self.progress(0).memory as u64,
            stop: self.stop.or(counted.stop),
            ..counted
        }
    }

    /// A predecessor among the states of the level before.
    pub(crate) fn seek(&mut self, goal: &TraceTarget) -> io::Result<Option<TraceSegment>> {
        let Some(level) = goal.time.round.checked_sub(1) else { return Ok(None) };
        let mut reader = RunReader::open(&self.levels.get(level as usize)?)?;
        while !reader.ended {
            if let Some(steps) = self.single.steps_to(reader.state(), goal) {
                let mut from = goal.clone();
                from.time.round = level;
                from.state = reader.state().to_vec();
                return Ok(Some(TraceSegment { from, steps }));
            }
            reader.advance()?;
        }
        Ok(None)
    }
}
