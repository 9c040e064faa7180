//! Accepting cycles, in files: OWCTY ("one way catch them young", Černá and Pelánek 2003) over sorted runs.
//!
//! 1. **Reach**: all states, level by level (`external.rs`).
//! 2. **Forward**: of the states that are left, those that accepting ones among them lead to, level by level; beside each
//!    the number of steps that lead to it from such states.
//! 3. **Trim**: states to which no step leads are removed, and their steps taken off the numbers, until every state has one.
//!
//! 2 and 3 are repeated until nothing more is removed. Why that is right is said in `preempt-partitioned/src/cycles.rs`, which does the same
//! in memory. Predecessors are noted only if there is a cycle to show, in one more pass over the states that are left.
//!
//! Cycles that would show early are not looked for: it would take a number for every state.

use crate::external::{External, failed, finish, kept, written};
use crate::folder::Folder;
use crate::known::Known;
use crate::levels::Levels;
use crate::run::{Combine, Run, RunReader, damaged, for_each_state, no_notes};
use preempt_check::search::nested::NestedOptions;
use preempt_check::store::hash;
use preempt_check::{Budget, Finding};
use preempt_core::{Step, Stop, System};
use preempt_partitioned::{
    Outcome, PartitionResult, Single, Time, TraceTarget, ViolationSite, along, finite_options,
};
use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

/// Searches for accepting cycles with files in `folder`, which are gone afterwards, and so much memory for what is not in
/// files.
pub fn external_cycles(
    system: &dyn System,
    nested: &NestedOptions,
    budget: &mut Budget<'_>,
    folder: &Path,
    memory: usize,
) -> Finding {
    let options = finite_options(nested);
    let folder = match Folder::inside(folder, kept(memory)) {
        Ok(folder) => folder,
        Err(error) => return failed(system, &options, &error),
    };
    let single = Single::for_cycles(system, &options);
    let mut passes =
        Passes { search: External::new(single, folder, &options, memory), memory: memory / 4 };
    let result = passes.find(budget);
    let mut share = passes.search.share();
    let mut notes = vec![written(&passes.search.folder, share.states, budget)];
    let (mut steps, mut cycle) = (None, None);
    match result {
        Ok(found) => {
            cycle = found.and_then(|circle| passes.lasso(&circle));
            share.errors += u64::from(cycle.is_some());
            steps = share.site.clone().and_then(|site| passes.way_to(&site));
        }
        Err(error) => {
            notes.push(error.to_string());
            share = PartitionResult { site: None, stop: Some(Stop::Disk), ..share };
        }
    }
    let (steps, cycle_start) = match cycle {
        Some((steps, start)) => (Some(steps), Some(start as u64)),
        None => (steps, None),
    };
    let outcome = Outcome { all: share, steps, cycle_start };
    let finding = outcome.finding(system, &options, nested.kind);
    finish(finding, budget, notes)
}

/// The number beside a state.
fn count_of(note: &[u8]) -> io::Result<i64> {
    Ok(i64::from_le_bytes(note.try_into().map_err(|_| damaged())?))
}

/// What a step adds to the number of the state that it leads to.
fn one_step(_: &RunReader) -> Vec<u8> {
    1_i64.to_le_bytes().to_vec()
}

/// Where one note will do.
const FIRST: Combine = no_notes;

/// Adds up numbers. A note of another length is found when it is read.
fn sum(note: &mut Vec<u8>, other: &[u8]) {
    match (count_of(note), count_of(other)) {
        (Ok(a), Ok(b)) => note.copy_from_slice(&(a + b).to_le_bytes()),
        _ => note.clear(),
    }
}

struct Passes<'a> {
    search: External<'a>,
    /// For what a pass knows of states.
    memory: usize,
}

impl Passes<'_> {
    /// The states of an accepting cycle, the first and last of which are the same; `None` if there is none, if something
    /// else was found, or if the search had to stop.
    fn find(&mut self, budget: &mut Budget<'_>) -> io::Result<Option<Vec<Vec<u8>>>> {
        self.search.explore(budget)?;
        if self.search.stop.is_some() || self.search.share().site.is_some() {
            return Ok(None);
        }
        let mut all = std::mem::replace(&mut self.search.visited, Known::new(0, no_notes));
        let mut left = Self::those(&mut self.search.folder, &mut all, |_| Ok(true))?;
        drop(all);
        self.search.candidates.combine_with(sum);
        let mut before = u64::MAX;
        loop {
            let Some(counts) = self.forward(&left, budget)? else { return Ok(None) };
            let Some(trimmed) = self.trim(counts, budget)? else { return Ok(None) };
            left = trimmed;
            match left.states {
                0 => return Ok(None),
                states if states == before => return self.circle(&left, budget),
                states => before = states,
            }
        }
    }

    /// Finds the successors of some states, each with what `note` says of a step from there; says whether it could be
    /// finished.
    fn expand(
        &mut self,
        states: &Rc<Run>,
        note: impl Fn(&RunReader) -> Vec<u8>,
        budget: &mut Budget<'_>,
    ) -> io::Result<bool> {
        let search = &mut self.search;
        let mut state = Vec::new();
        for_each_state(states, |reader, _| {
            state.clear();
            state.extend_from_slice(reader.state());
            let (candidates, note) = (&mut search.candidates, note(reader));
            let expanded =
                search.single.expand_again(&mut state, |next| candidates.push(next, &note, false));
            search.candidates.make_room(&mut search.folder)?;
            let stop = expanded.err().or_else(|| budget.poll(|| search.progress(0)));
            search.stop = search.stop.or(stop);
            Ok(if stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(self.search.stop.is_none())
    }

    /// The accepting ones of some states, with a note each.
    fn accepting(&mut self, among: &Rc<Run>, note: &[u8]) -> io::Result<Rc<Run>> {
        let mut writer = self.search.folder.run();
        for_each_state(among, |reader, _| {
            if self.search.single.is_accepting(reader.state()) {
                writer.push(reader.hash, reader.state(), note)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.search.folder.finish(writer)
    }

    /// What accepting states among those that are left lead to, with the number of steps to each; `None` if it could not be
    /// finished.
    fn forward(&mut self, left: &Rc<Run>, budget: &mut Budget<'_>) -> io::Result<Option<Known>> {
        let mut counts = Known::new(self.memory, sum);
        let mut level = self.accepting(left, &0_i64.to_le_bytes())?;
        counts.add(&mut self.search.folder, &level)?;
        while level.states > 0 {
            if !self.expand(&level, one_step, budget)? {
                return Ok(None);
            }
            let folder = &mut self.search.folder;
            let mut merge = self.search.candidates.take(folder)?;
            let mut known = counts.questions();
            let mut among = RunReader::before_first(left)?;
            let (mut new, mut touched) = (folder.run(), folder.run());
            while let Some((hash, state, count)) = merge.next()? {
                if among.has(hash, state)? {
                    touched.push(hash, state, count)?;
                    if !known.is_known(hash, state)? {
                        new.push(hash, state, &[])?;
                    }
                }
            }
            let touched = folder.finish(touched)?;
            counts.add(folder, &touched)?;
            level = folder.finish(new)?;
        }
        Ok(Some(counts))
    }

    /// What is left of the states if none of them is without a predecessor; `None` if it could not be finished.
    fn trim(&mut self, mut counts: Known, budget: &mut Budget<'_>) -> io::Result<Option<Rc<Run>>> {
        let none = |note: &[u8]| Ok(count_of(note)? == 0);
        let mut removed = Self::those(&mut self.search.folder, &mut counts, none)?;
        while removed.states > 0 {
            if !self.expand(&removed, one_step, budget)? {
                return Ok(None);
            }
            let folder = &mut self.search.folder;
            let mut merge = self.search.candidates.take(folder)?;
            let mut known = counts.questions();
            let (mut next, mut touched) = (folder.run(), folder.run());
            while let Some((hash, state, note)) = merge.next()? {
                let Some(before) = known.ask(hash, state)? else { continue };
                let (before, less) = (count_of(before)?, count_of(note)?);
                touched.push(hash, state, &(-less).to_le_bytes())?;
                if before == less {
                    next.push(hash, state, &[])?;
                }
            }
            let touched = folder.finish(touched)?;
            counts.add(folder, &touched)?;
            removed = folder.finish(next)?;
        }
        let some = |note: &[u8]| Ok(count_of(note)? > 0);
        Self::those(&mut self.search.folder, &mut counts, some).map(Some)
    }

    /// The states whose notes are such.
    fn those(
        folder: &mut Folder,
        known: &mut Known,
        are: impl Fn(&[u8]) -> io::Result<bool>,
    ) -> io::Result<Rc<Run>> {
        let mut writer = folder.run();
        let mut all = known.all(folder)?;
        while let Some((hash, state, note)) = all.next()? {
            if are(note)? {
                writer.push(hash, state, &[])?;
            }
        }
        folder.finish(writer)
    }

    /// A predecessor of each state that is left: of an accepting one any, of others one that is nearer to an accepting one.
    /// `None` if it could not be finished.
    fn predecessors(
        &mut self,
        left: &Rc<Run>,
        budget: &mut Budget<'_>,
    ) -> io::Result<Option<Known>> {
        self.search.candidates.combine_with(FIRST);
        let mut predecessors = Known::new(self.memory, FIRST);
        let mut level = self.accepting(left, &[])?;
        while level.states > 0 {
            if !self.expand(&level, |reader| reader.state().to_vec(), budget)? {
                return Ok(None);
            }
            let folder = &mut self.search.folder;
            let mut merge = self.search.candidates.take(folder)?;
            let mut known = predecessors.questions();
            let mut among = RunReader::before_first(left)?;
            let (mut next, mut new) = (folder.run(), folder.run());
            while let Some((hash, state, predecessor)) = merge.next()? {
                if among.has(hash, state)? && !known.is_known(hash, state)? {
                    new.push(hash, state, predecessor)?;
                    if !self.search.single.is_accepting(state) {
                        next.push(hash, state, &[])?;
                    }
                }
            }
            let new = folder.finish(new)?;
            predecessors.add(folder, &new)?;
            level = folder.finish(next)?;
        }
        Ok(Some(predecessors))
    }

    /// From predecessor to predecessor, until an accepting state comes a second time.
    fn circle(
        &mut self,
        left: &Rc<Run>,
        budget: &mut Budget<'_>,
    ) -> io::Result<Option<Vec<Vec<u8>>>> {
        let Some(mut predecessors) = self.predecessors(left, budget)? else { return Ok(None) };
        let mut state = RunReader::open(&self.accepting(left, &[])?)?.state().to_vec();
        let (mut path, mut met) = (Vec::new(), HashMap::new());
        loop {
            if self.search.single.is_accepting(&state)
                && let Some(first) = met.insert(state.clone(), path.len())
            {
                path.push(state);
                let mut circle = path.split_off(first);
                circle.reverse();
                return Ok(Some(circle));
            }
            let mut questions = predecessors.questions();
            let before = questions.ask(hash(&state), &state)?.ok_or_else(damaged)?.to_vec();
            path.push(std::mem::replace(&mut state, before));
        }
    }

    /// The steps to a cycle and round it, and where it begins.
    fn lasso(&mut self, circle: &[Vec<u8>]) -> Option<(Vec<Step>, usize)> {
        let first = circle.first()?;
        let round = level_of(&self.search.levels, first).ok()? as u32;
        let TraceTarget { time, state, mover } = goal(round, first);
        let mut steps =
            self.way_to(&ViolationSite { time, state, mover, path: Vec::new(), fault: None })?;
        let start = steps.len();
        for pair in circle.windows(2) {
            steps.extend(self.search.single.steps_to(&pair[0], &goal(0, &pair[1]))?);
        }
        Some((steps, start))
    }

    fn way_to(&mut self, site: &ViolationSite) -> Option<Vec<Step>> {
        along(site, |goal| self.search.seek(goal).ok()?)
    }
}

fn goal(round: u32, state: &[u8]) -> TraceTarget {
    TraceTarget { time: Time { bucket: 0, round }, state: state.to_vec(), mover: None }
}

/// Which of these has the state.
fn level_of(levels: &Levels, state: &[u8]) -> io::Result<usize> {
    for at in 0..levels.len() {
        if RunReader::before_first(&levels.get(at)?)?.has(hash(state), state)? {
            return Ok(at);
        }
    }
    Err(damaged())
}
