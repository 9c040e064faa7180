//! Bucket by bucket of preemptions, in files.
//!
//! Paper: [MQ07] Algorithm 1
//!
//! As `external.rs`, with visits (a state and its last mover) in place of states: the candidates of a round are sorted by
//! their states, so that all visits of a round to a state come together, and are compared with what is known of the state.
//! What is known is a record: which processes were run from it, and whether all were. A level is expanded in order, so that the
//! records that its expansion makes can be written as a run at the same time.
//!
//! Differs from the paper, as `preempt-partitioned/src/buckets.rs` does: round 0 of a bucket runs the processes that had to wait in the
//! bucket before. States, transitions and errors of every bucket are those of the search in memory. The loop is not that of
//! `iterative/phases.rs`: whether a visit is new is known only after a whole round was sorted (delayed duplicate detection), so a
//! bucket is a sequence of rounds.

use crate::candidates::Candidates;
use crate::external::{failed, finish, kept, written};
use crate::folder::Folder;
use crate::known::Known;
use crate::levels::Levels;
use crate::record::{Record, Waiting, first_mark, union};
use crate::run::{Run, RunReader, for_each_state};
use preempt_check::store::hash;
use preempt_check::{Budget, Finding, Options, Progress};
use preempt_core::{BoundRow, Stop, System};
use preempt_partitioned::{
    PartitionResult, Ran, Time, TraceSegment, TraceTarget, Visits, along, combine,
};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

/// Searches by preemptions with files in `folder`, which are gone afterwards, and so much memory for what is not in files.
pub fn external_buckets(
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
    let mut search = Buckets {
        visits: Visits::new(system, options),
        folder,
        candidates: Candidates::new(memory / 2, union),
        levels: Levels::default(),
        starts: Vec::new(),
        records: Known::new(memory / 4, union),
        deferred: Candidates::new(memory / 8, first_mark),
        rows: Vec::new(),
        states: 0,
        revisits: 0,
        left_waiting: 0,
        stop: None,
        last_bucket: Visits::last_bucket(options),
    };
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

struct Buckets<'a> {
    visits: Visits<'a>,
    folder: Folder,
    candidates: Candidates,
    /// The visits of each time, as [`Waiting`] beside their states.
    levels: Levels,
    /// The number of the first level of each bucket.
    starts: Vec<usize>,
    /// What is known of each state: a [`Record`].
    records: Known,
    /// States from which a process waits for the next bucket, with the mark of the last mover.
    deferred: Candidates,
    rows: Vec<BoundRow>,
    states: u64,
    revisits: u64,
    /// States from which a process would have gone on with one preemption more than the bound.
    left_waiting: u64,
    stop: Option<Stop>,
    last_bucket: u32,
}

impl Buckets<'_> {
    fn explore(&mut self, budget: &mut Budget<'_>) -> io::Result<()> {
        let (initial, goes_on) = self.visits.initial();
        let mut writer = self.folder.run();
        let first = Waiting { marks: vec![0], ran: Ran::default() };
        writer.push(hash(&initial), &initial, &first.encode())?;
        self.states = 1;
        let mut level = Some(self.folder.finish(writer)?);
        let mut time = Time::default();
        if !goes_on {
            return Ok(());
        }
        while let Some(run) = level {
            if time.round == 0 {
                self.starts.push(self.levels.len());
            }
            self.levels.push(&mut self.folder, &run)?;
            self.expand(time, &run, budget)?;
            if self.stop.is_some() || self.visits.has_enough() {
                return Ok(());
            }
            time = time.next();
            level = self.keep_new()?;
            if level.is_none() {
                self.rows.push(self.row(time.bucket));
                time = Time { bucket: time.bucket + 1, round: 0 };
                level = self.wake(time.bucket <= self.last_bucket)?;
            }
        }
        Ok(())
    }

    fn row(&self, bound: u32) -> BoundRow {
        BoundRow {
            stale: None,
            bound,
            states: self.states,
            transitions: self.visits.transitions,
            errors: self.visits.errors(),
        }
    }

    /// Expands the visits of a time; writes what is known of their states then, and the processes that have to wait.
    fn expand(&mut self, time: Time, level: &Rc<Run>, budget: &mut Budget<'_>) -> io::Result<()> {
        let mut records = self.folder.run();
        let mut state = Vec::new();
        for_each_state(level, |reader, waiting| {
            let Waiting { marks, mut ran } = Waiting::decode(reader.note())?;
            state.clear();
            state.extend_from_slice(reader.state());
            let candidates = &mut self.candidates;
            let mut each = |next: &[u8], mark: u16| {
                candidates.push(next, &Record::visited(mark), true);
            };
            let expanded = match time.round == 0 && time.bucket > 0 {
                true => {
                    let mark = marks.first().copied().unwrap_or(0);
                    let result =
                        self.visits.expand_deferred(time, &mut state, mark, &ran, &mut each);
                    ran.is_free = true;
                    result.map(|()| None)
                }
                false => self
                    .visits
                    .expand(time, &mut state, &marks, &mut ran, &mut each)
                    .map(|after| after.waits),
            };
            match expanded {
                // Its states are sorted as they were found: asking for their steps may have changed this one.
                Ok(waiting) => {
                    records.push(reader.hash, reader.state(), &Record::encode(&ran))?;
                    if let Some(mark) = waiting {
                        self.deferred.push(reader.state(), &mark.to_le_bytes(), true);
                    }
                }
                Err(stop) => self.stop = Some(stop),
            }
            if self.visits.has_enough() || self.stop.is_some() {
                return Ok(ControlFlow::Break(()));
            }
            self.candidates.make_room(&mut self.folder)?;
            self.deferred.make_room(&mut self.folder)?;
            self.stop = budget.poll(|| self.progress(waiting));
            Ok(if self.stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let records = self.folder.finish(records)?;
        self.records.add(&mut self.folder, &records)
    }

    /// The visits among the candidates that no earlier one covers, if there are any.
    fn keep_new(&mut self) -> io::Result<Option<Rc<Run>>> {
        let mut merge = self.candidates.take(&mut self.folder)?;
        let mut known = self.records.questions();
        let mut writer = self.folder.run();
        let mut any = false;
        while let Some((hash, state, note)) = merge.next()? {
            let mut marks = Record::decode(note)?.movers;
            let ran = match known.ask(hash, state)? {
                Some(record) => Record::decode(record)?,
                None => {
                    self.states += 1;
                    // Its first visit is not a second one.
                    self.revisits = self.revisits.wrapping_sub(1);
                    Ran::default()
                }
            };
            marks.retain(|mark| !ran.is_free && !ran.movers.contains(mark));
            self.revisits = self.revisits.wrapping_add(marks.len() as u64);
            if !marks.is_empty() {
                any = true;
                writer.push(hash, state, &Waiting { marks, ran }.encode())?;
            }
        }
        if any { self.folder.finish(writer).map(Some) } else { Ok(None) }
    }

    /// The states from which a process waits, now that a bucket has ended. Unless another one begins they are only counted.
    fn wake(&mut self, begins: bool) -> io::Result<Option<Rc<Run>>> {
        let mut merge = self.deferred.take(&mut self.folder)?;
        let mut known = self.records.questions();
        let mut writer = self.folder.run();
        let mut any = false;
        while let Some((hash, state, note)) = merge.next()? {
            let Some(record) = known.ask(hash, state)? else { continue };
            let ran = Record::decode(record)?;
            if ran.is_free {
                continue;
            }
            if !begins {
                self.left_waiting += 1;
                continue;
            }
            any = true;
            let marks = Waiting::mark(note)?;
            writer.push(hash, state, &Waiting { marks: vec![marks], ran }.encode())?;
        }
        if any { self.folder.finish(writer).map(Some) } else { Ok(None) }
    }

    fn progress(&self, waiting: u64) -> Progress {
        let kept = self.levels.memory() + self.starts.len() * size_of::<usize>();
        Progress {
            states: self.states,
            transitions: self.visits.transitions,
            queue: waiting,
            memory: self.candidates.memory()
                + self.deferred.memory()
                + self.records.memory()
                + kept,
            ..Progress::default()
        }
    }

    fn share(&self) -> PartitionResult {
        let counted = self.visits.share();
        let mut rows = self.rows.clone();
        if let Some(bucket) = self.starts.len().checked_sub(1)
            && rows.last().is_none_or(|row| (row.bound as usize) < bucket)
        {
            rows.push(self.row(bucket as u32));
        }
        PartitionResult {
            states: self.states,
            revisits: self.revisits,
            memory: self.progress(0).memory as u64,
            deferred: self.left_waiting,
            stop: self.stop.or(counted.stop),
            rows,
            ..counted
        }
    }

    /// A visit just before the goal.
    fn seek(&mut self, goal: &TraceTarget) -> io::Result<Option<TraceSegment>> {
        let Time { bucket, round } = goal.time;
        let is_woken = round == 0;
        let start = |bucket: u32| self.starts.get(bucket as usize).copied();
        let Some(first) = start(bucket) else { return Ok(None) };
        let rounds = match (round.checked_sub(1), bucket.checked_sub(1)) {
            (Some(before), _) => before..round,
            // The same state in the bucket before, when it had to wait.
            (None, Some(before)) => 0..(first - start(before).unwrap_or(first)) as u32,
            (None, None) => return Ok(None),
        };
        let bucket = bucket - u32::from(is_woken);
        let Some(first) = start(bucket) else { return Ok(None) };
        for round in rounds {
            let time = Time { bucket, round };
            let mut reader = RunReader::open(&self.levels.get(first + round as usize)?)?;
            if is_woken && !reader.has(hash(&goal.state), &goal.state)? {
                continue;
            }
            while !reader.ended {
                let Waiting { marks, .. } = Waiting::decode(reader.note())?;
                for mark in marks {
                    let from = TraceTarget {
                        time,
                        state: reader.state().to_vec(),
                        mover: Waiting::mover(mark),
                    };
                    if is_woken && from.mover == goal.mover {
                        return Ok(Some(TraceSegment { from, steps: Vec::new() }));
                    }
                    let cost = u32::from(time.round == 0 && time.bucket > 0);
                    if !is_woken
                        && let Some(steps) = self.visits.steps_to(reader.state(), mark, goal, cost)
                    {
                        return Ok(Some(TraceSegment { from, steps }));
                    }
                }
                if is_woken {
                    break;
                }
                reader.advance()?;
            }
        }
        Ok(None)
    }
}
