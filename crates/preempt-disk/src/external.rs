//! Breadth-first search in files: for more states than memory can hold.
//!
//! Duplicates are found late (delayed duplicate detection, Korf 2003). The successors of a level are collected in memory, sorted
//! and written as runs; at the end of the level the runs are merged, and what is in a run of earlier levels is dropped.
//! What remains is the next level: a run itself, and the queue.
//!
//! Runs of earlier levels are merged with others of about their size, so that there are few of them and each state is
//! written a number of times that grows with the logarithm of their number. A level is compared with a run block by
//! block, and only blocks in which one of its states could be are read: a small level costs little, however much was visited.
//!
//! Chosen over a table in memory with states on the disk, which needs 8 bytes and more per state in memory: this needs one number
//! per block of about a thousand states.
//!
//! Invariant: a run holds distinct states, no two levels share one, and the files of all levels stay until the end:
//! the way back to a violation leads through them.

use crate::run::{Merge, Run, RunReader, RunWriter};
use preempt_check::search::partitioned::{Goal, Share, Single, Way, along, combine};
use preempt_check::store::hash;
use preempt_check::{Budget, Finding, Options, Progress};
use preempt_core::{Stop, System};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// Runs that are merged at once.
const MOST_RUNS: usize = 64;
/// Least memory for the successors of a level.
const LEAST_BUFFER: usize = 1 << 20;
/// Slots of the filter of what was found lately.
const LATELY: usize = 1 << 14;

/// Searches with files in `folder`, which are gone afterwards.
pub fn external(
    system: &dyn System,
    options: &Options,
    budget: &mut Budget<'_>,
    folder: &Path,
) -> Finding {
    let folder = match std::fs::create_dir_all(folder)
        .and_then(|()| tempfile::Builder::new().prefix("preempt-").tempdir_in(folder))
    {
        Ok(folder) => folder,
        Err(error) => return failed(system, options, Share::default(), &error),
    };
    let mut search = External {
        single: Single::new(system, options),
        folder: folder.path(),
        buffer: Buffer::new(budget.memory_limit() / 2),
        levels: Vec::new(),
        visited: Vec::new(),
        files: 0,
        states: 0,
        arrivals: 0,
        written: 0,
        stop: None,
        depth: options.depth.unwrap_or(u64::MAX),
    };
    let result = search.explore(budget);
    let mut share = search.share();
    let mut notes = vec![format!(
        "states in files: {} MiB written, {:.0} states/s",
        search.written >> 20,
        share.states as f64 / budget.elapsed().as_secs_f64().max(1e-9)
    )];
    if let Err(error) = result {
        notes.push(error.to_string());
        share.site = None;
        share.stop = Some(Stop::Disk);
    }
    let steps = share.site.clone().and_then(|site| along(&site, |goal| search.seek(goal).ok()?));
    let mut finding = combine(system, options, share, steps);
    finding.statistics.seconds = budget.elapsed().as_secs_f64();
    finding.statistics.memory_bytes = budget.peak_memory() as u64;
    finding.notes.extend(notes);
    finding
}

/// A search that could not begin.
fn failed(system: &dyn System, options: &Options, share: Share, error: &io::Error) -> Finding {
    let share = Share { stop: Some(Stop::Disk), ..share };
    let mut finding = combine(system, options, share, None);
    finding.notes.push(error.to_string());
    finding
}

struct External<'a> {
    single: Single<'a>,
    folder: &'a Path,
    buffer: Buffer,
    /// The states of each level.
    levels: Vec<Rc<Run>>,
    /// All states, in a few runs; the last ones are the smallest.
    visited: Vec<Rc<Run>>,
    /// Files made so far.
    files: u64,
    states: u64,
    /// Successors found.
    arrivals: u64,
    written: u64,
    stop: Option<Stop>,
    depth: u64,
}

impl External<'_> {
    fn explore(&mut self, budget: &mut Budget<'_>) -> io::Result<()> {
        let Some(initial) = self.single.initial() else { return Ok(()) };
        let mut writer = self.file(false)?;
        writer.push(hash(&initial), &initial)?;
        self.add_level(writer)?;
        while self.stop.is_none() && !self.single.has_enough() {
            if self.levels.len() as u64 >= self.depth {
                self.stop = Some(Stop::Depth);
                return Ok(());
            }
            let Some(level) = self.levels.last().cloned() else { return Ok(()) };
            let candidates = self.expand(&level, budget)?;
            if self.stop.is_some() || self.single.has_enough() {
                return Ok(());
            }
            if !self.keep_new(candidates)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn file(&mut self, temporary: bool) -> io::Result<RunWriter> {
        self.files += 1;
        RunWriter::create(&self.folder.join(format!("run-{}", self.files)), temporary)
    }

    /// Ends the file of a level.
    fn add_level(&mut self, writer: RunWriter) -> io::Result<()> {
        let run = writer.finish()?;
        self.written += run.bytes;
        self.states += run.states;
        self.levels.push(run.clone());
        self.visited.push(run);
        // Merge what is of about the same size.
        while let [.., larger, smaller] = &self.visited[..]
            && larger.bytes < 2 * smaller.bytes
        {
            let pair = self.visited.split_off(self.visited.len() - 2);
            let merged = self.merge(&pair)?;
            self.visited.push(merged);
        }
        Ok(())
    }

    fn merge(&mut self, runs: &[Rc<Run>]) -> io::Result<Rc<Run>> {
        let mut writer = self.file(true)?;
        let mut merge = Merge::new(runs)?;
        while let Some((hash, state)) = merge.next()? {
            writer.push(hash, state)?;
        }
        let run = writer.finish()?;
        self.written += run.bytes;
        Ok(run)
    }

    /// The successors of a level, in runs.
    fn expand(&mut self, level: &Rc<Run>, budget: &mut Budget<'_>) -> io::Result<Vec<Rc<Run>>> {
        let depth = self.levels.len() as u32 - 1;
        let mut reader = RunReader::open(level)?;
        let mut candidates = Vec::new();
        let mut state = Vec::new();
        let mut done = 0;
        while !reader.ended {
            state.clear();
            state.extend_from_slice(reader.state());
            let (buffer, arrivals) = (&mut self.buffer, &mut self.arrivals);
            let expanded = self.single.expand(depth, &mut state, |next| {
                *arrivals += 1;
                buffer.push(next);
            });
            if let Err(stop) = expanded {
                self.stop = Some(stop);
            }
            if self.single.has_enough() || self.stop.is_some() {
                return Ok(candidates);
            }
            if self.buffer.is_full() {
                candidates.push(self.spill()?);
                if candidates.len() == MOST_RUNS {
                    let merged = self.merge(&candidates)?;
                    candidates = vec![merged];
                }
            }
            done += 1;
            let waiting = level.states - done;
            if let Some(stop) = budget.poll(|| self.progress(waiting)) {
                self.stop = Some(stop);
                return Ok(candidates);
            }
            reader.advance()?;
        }
        if !self.buffer.is_empty() {
            candidates.push(self.spill()?);
        }
        Ok(candidates)
    }

    fn spill(&mut self) -> io::Result<Rc<Run>> {
        let mut writer = self.file(true)?;
        self.buffer.drain_sorted(|hash, state| writer.push(hash, state))?;
        let run = writer.finish()?;
        self.written += run.bytes;
        Ok(run)
    }

    /// Makes a level of what is in no earlier one; says whether there is anything.
    fn keep_new(&mut self, candidates: Vec<Rc<Run>>) -> io::Result<bool> {
        let mut merge = Merge::new(&candidates)?;
        let mut visited: Vec<RunReader> =
            self.visited.iter().map(RunReader::open).collect::<io::Result<_>>()?;
        let mut writer = self.file(false)?;
        let mut any = false;
        while let Some((hash, state)) = merge.next()? {
            let mut known = false;
            for run in &mut visited {
                known = known || run.has(hash, state)?;
            }
            if !known {
                any = true;
                writer.push(hash, state)?;
            }
        }
        drop(visited);
        if any {
            self.add_level(writer)?;
        }
        Ok(any)
    }

    fn progress(&self, waiting: u64) -> Progress {
        let runs = self.visited.iter().chain(&self.levels).map(|run| run.memory()).sum::<usize>();
        Progress {
            states: self.states,
            transitions: self.arrivals,
            depth: self.levels.len() as u64,
            queue: waiting,
            memory: self.buffer.memory() + runs,
            ..Progress::default()
        }
    }

    fn share(&self) -> Share {
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
    fn seek(&mut self, goal: &Goal) -> io::Result<Option<Way>> {
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

/// Successors in memory, unsorted.
struct Buffer {
    limit: usize,
    bytes: Vec<u8>,
    /// Hash, beginning and length.
    entries: Vec<(u64, u32, u32)>,
    /// Entries that were added lately, by hash.
    lately: Vec<u32>,
}

impl Buffer {
    fn new(limit: usize) -> Self {
        // Positions are kept in 32 bits.
        let limit = limit.clamp(LEAST_BUFFER, 1 << 31);
        Buffer { limit, bytes: Vec::new(), entries: Vec::new(), lately: vec![u32::MAX; LATELY] }
    }

    fn push(&mut self, state: &[u8]) {
        let hash = hash(state);
        let slot = &mut self.lately[(hash >> 20) as usize % LATELY];
        if let Some(&(other, start, length)) = self.entries.get(*slot as usize)
            && other == hash
            && self.bytes[start as usize..(start + length) as usize] == *state
        {
            return;
        }
        *slot = self.entries.len() as u32;
        self.entries.push((hash, self.bytes.len() as u32, state.len() as u32));
        self.bytes.extend_from_slice(state);
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.entries.len() * 16 + LATELY * 4
    }

    fn is_full(&self) -> bool {
        // What has no more room doubles.
        self.memory() >= self.limit / 2
    }

    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Gives all states in order, each once, and forgets them.
    fn drain_sorted(
        &mut self,
        mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let bytes = &self.bytes;
        let state = |&(_, start, length): &(u64, u32, u32)| {
            &bytes[start as usize..start as usize + length as usize]
        };
        self.entries.sort_unstable_by(|a, b| (a.0, state(a)).cmp(&(b.0, state(b))));
        self.entries.dedup_by(|a, b| a.0 == b.0 && state(a) == state(b));
        for entry in &self.entries {
            each(entry.0, state(entry))?;
        }
        self.bytes.clear();
        self.entries.clear();
        self.lately.fill(u32::MAX);
        Ok(())
    }
}
