//! Accepting cycles, in files: OWCTY ("one way catch them young", Černá and Pelánek 2003) over sorted runs.
//!
//! 1. **Reach**: all states, level by level (`external.rs`).
//! 2. **Forward**: of the states that are left, those that accepting ones among them lead to, level by level; beside each
//!    the number of steps that lead to it from such states.
//! 3. **Trim**: states to which no step leads are removed, and their steps taken off the numbers, until every state has one.
//!
//! 2 and 3 are repeated until nothing more is removed. Why that is right is said in `partitioned/cycles.rs`, which does the same
//! in memory. No predecessors are kept: the way back goes through the levels of the last forward pass. That can take as
//! long as the pass for each accepting state on it; there is one only if there is a cycle to show.
//!
//! Cycles that would show early are not looked for: it would take a number for every state.

use crate::external::{External, failed, finish, written};
use crate::folder::Folder;
use crate::known::Known;
use crate::run::{Run, RunReader, damaged};
use preempt_check::search::nested::NestedOptions;
use preempt_check::search::partitioned::{
    Goal, Share, Single, Site, Time, along, combine, finite_options,
};
use preempt_check::store::hash;
use preempt_check::{Budget, Counterexample, Finding};
use preempt_core::{Step, Stop, System};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::rc::Rc;

/// Searches for accepting cycles with files in `folder`, which are gone afterwards.
pub fn external_cycles(
    system: &dyn System,
    nested: &NestedOptions,
    budget: &mut Budget<'_>,
    folder: &Path,
) -> Finding {
    let options = finite_options(nested);
    let folder = match Folder::inside(folder) {
        Ok(folder) => folder,
        Err(error) => return failed(system, &options, &error),
    };
    let single = Single::for_cycles(system, &options);
    let mut passes =
        Passes { search: External::new(single, folder, &options, budget.memory_limit()) };
    let result = passes.find(budget);
    let mut share = passes.search.share();
    let mut notes = vec![written(passes.search.folder.written, share.states, budget)];
    let (mut steps, mut cycle) = (None, None);
    match result {
        Ok(found) => {
            cycle = found.and_then(|circle| passes.lasso(&circle));
            share.errors += u64::from(cycle.is_some());
            steps = share.site.clone().and_then(|site| passes.way_to(&site));
        }
        Err(error) => {
            notes.push(error.to_string());
            share = Share { site: None, stop: Some(Stop::Disk), ..share };
        }
    }
    let mut finding = combine(system, &options, share, steps);
    if let Some((steps, start)) = cycle {
        let (kind, cycle_start) = (nested.kind, Some(start));
        let message = String::new();
        finding.counterexample =
            Some(Counterexample { steps, kind, fault: None, message, cycle_start });
    }
    finish(finding, budget, notes)
}

/// The number beside a state.
fn count_of(note: &[u8]) -> io::Result<i64> {
    Ok(i64::from_le_bytes(note.try_into().map_err(|_| damaged())?))
}

/// Adds up numbers. A note of another length is found when it is read.
fn sum(note: &mut Vec<u8>, other: &[u8]) {
    match (count_of(note), count_of(other)) {
        (Ok(a), Ok(b)) => note.copy_from_slice(&(a + b).to_le_bytes()),
        _ => note.clear(),
    }
}

/// States that a forward pass reached: level by level, and with the number of steps that lead to each.
struct Reached {
    levels: Vec<Rc<Run>>,
    counts: Known,
}

struct Passes<'a> {
    search: External<'a>,
}

impl Passes<'_> {
    /// The states of an accepting cycle, the first and last of which are the same; `None` if there is none, if something
    /// else was found, or if the search had to stop.
    fn find(&mut self, budget: &mut Budget<'_>) -> io::Result<Option<Vec<Vec<u8>>>> {
        self.search.explore(budget)?;
        if self.search.stop.is_some() || self.search.share().site.is_some() {
            return Ok(None);
        }
        self.search.candidates.combine_with(sum);
        let mut writer = self.search.folder.file(true)?;
        let mut all = self.search.visited.all()?;
        while let Some((hash, state, _)) = all.next()? {
            writer.push(hash, state, &[])?;
        }
        drop(all);
        let mut left = self.search.folder.finish(writer)?;
        let mut before = u64::MAX;
        loop {
            let Some(mut reached) = self.forward(&left, budget)? else { return Ok(None) };
            let Some(trimmed) = self.trim(&mut reached, budget)? else { return Ok(None) };
            left = trimmed;
            match left.states {
                0 => return Ok(None),
                states if states == before => return self.circle(&left, &reached),
                states => before = states,
            }
        }
    }

    /// Finds the successors of some states, each with the number of steps to it; says whether it could be finished.
    fn expand(&mut self, states: &Rc<Run>, budget: &mut Budget<'_>) -> io::Result<bool> {
        let mut reader = RunReader::open(states)?;
        let mut state = Vec::new();
        let search = &mut self.search;
        while !reader.ended {
            state.clear();
            state.extend_from_slice(reader.state());
            let candidates = &mut search.candidates;
            let one = 1_i64.to_le_bytes();
            let expanded =
                search.single.expand_again(&mut state, |next| candidates.push(next, &one, false));
            search.stop = search.stop.or(expanded.err());
            search.candidates.make_room(&mut search.folder)?;
            search.stop = search.stop.or(budget.poll(|| search.progress(0)));
            if search.stop.is_some() {
                return Ok(false);
            }
            reader.advance()?;
        }
        Ok(true)
    }

    /// What accepting states among those that are left lead to; `None` if it could not be finished.
    fn forward(&mut self, left: &Rc<Run>, budget: &mut Budget<'_>) -> io::Result<Option<Reached>> {
        let mut reached = Reached { levels: Vec::new(), counts: Known::new(sum) };
        let mut writer = self.search.folder.file(true)?;
        let mut reader = RunReader::open(left)?;
        while !reader.ended {
            if self.search.single.is_accepting(reader.state()) {
                writer.push(reader.hash, reader.state(), &0_i64.to_le_bytes())?;
            }
            reader.advance()?;
        }
        let mut level = self.search.folder.finish(writer)?;
        reached.counts.add(&mut self.search.folder, level.clone())?;
        while level.states > 0 {
            reached.levels.push(level.clone());
            if !self.expand(&level, budget)? {
                return Ok(None);
            }
            let folder = &mut self.search.folder;
            let mut merge = self.search.candidates.take(folder)?;
            let mut known = reached.counts.questions()?;
            let mut among = RunReader::open(left)?;
            let (mut new, mut touched) = (folder.file(true)?, folder.file(true)?);
            while let Some((hash, state, count)) = merge.next()? {
                if among.has(hash, state)? {
                    touched.push(hash, state, count)?;
                    if !known.is_known(hash, state)? {
                        new.push(hash, state, &[])?;
                    }
                }
            }
            drop(known);
            let touched = folder.finish(touched)?;
            reached.counts.add(folder, touched)?;
            level = folder.finish(new)?;
        }
        Ok(Some(reached))
    }

    /// What is left of the states if none of them is without a predecessor; `None` if it could not be finished.
    fn trim(
        &mut self,
        reached: &mut Reached,
        budget: &mut Budget<'_>,
    ) -> io::Result<Option<Rc<Run>>> {
        let mut removed = self.those(&reached.counts, |count| count == 0)?;
        while removed.states > 0 {
            if !self.expand(&removed, budget)? {
                return Ok(None);
            }
            let folder = &mut self.search.folder;
            let mut merge = self.search.candidates.take(folder)?;
            let mut known = reached.counts.questions()?;
            let (mut next, mut touched) = (folder.file(true)?, folder.file(true)?);
            while let Some((hash, state, note)) = merge.next()? {
                let Some(before) = known.ask(hash, state)? else { continue };
                let (before, less) = (count_of(before)?, count_of(note)?);
                touched.push(hash, state, &(-less).to_le_bytes())?;
                if before == less {
                    next.push(hash, state, &[])?;
                }
            }
            drop(known);
            let touched = folder.finish(touched)?;
            reached.counts.add(folder, touched)?;
            removed = folder.finish(next)?;
        }
        self.those(&reached.counts, |count| count > 0).map(Some)
    }

    /// The states whose numbers are such.
    fn those(&mut self, counts: &Known, are: impl Fn(i64) -> bool) -> io::Result<Rc<Run>> {
        let mut writer = self.search.folder.file(true)?;
        let mut all = counts.all()?;
        while let Some((hash, state, note)) = all.next()? {
            if are(count_of(note)?) {
                writer.push(hash, state, &[])?;
            }
        }
        self.search.folder.finish(writer)
    }

    /// Back through the levels of the last forward pass, until an accepting state comes a second time.
    fn circle(&mut self, left: &Rc<Run>, reached: &Reached) -> io::Result<Option<Vec<Vec<u8>>>> {
        let Some(first) = reached.levels.first() else { return Ok(None) };
        let mut state = RunReader::open(first)?.state().to_vec();
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
            // An accepting state was there from the beginning: any state may lead to it.
            let level = level_of(&reached.levels, &state)?;
            let among = match level.checked_sub(1) {
                Some(before) => &reached.levels[before],
                None => left,
            };
            let Some(before) = self.predecessor(among, &state)? else { return Err(damaged()) };
            path.push(std::mem::replace(&mut state, before));
        }
    }

    /// One of some states that leads to this one.
    fn predecessor(&mut self, among: &Rc<Run>, state: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let goal = goal(0, state);
        let mut reader = RunReader::open(among)?;
        while !reader.ended {
            if self.search.single.steps_to(reader.state(), &goal).is_some() {
                return Ok(Some(reader.state().to_vec()));
            }
            reader.advance()?;
        }
        Ok(None)
    }

    /// The steps to a cycle and round it, and where it begins.
    fn lasso(&mut self, circle: &[Vec<u8>]) -> Option<(Vec<Step>, usize)> {
        let first = circle.first()?;
        let round = level_of(&self.search.levels, first).ok()? as u32;
        let Goal { time, state, mover } = goal(round, first);
        let mut steps = self.way_to(&Site { time, state, mover, path: Vec::new(), fault: None })?;
        let start = steps.len();
        for pair in circle.windows(2) {
            steps.extend(self.search.single.steps_to(&pair[0], &goal(0, &pair[1]))?);
        }
        Some((steps, start))
    }

    fn way_to(&mut self, site: &Site) -> Option<Vec<Step>> {
        along(site, |goal| self.search.seek(goal).ok()?)
    }
}

fn goal(round: u32, state: &[u8]) -> Goal {
    Goal { time: Time { bucket: 0, round }, state: state.to_vec(), mover: None }
}

/// Which of these has the state.
fn level_of(levels: &[Rc<Run>], state: &[u8]) -> io::Result<usize> {
    for (at, level) in levels.iter().enumerate() {
        if RunReader::open(level)?.has(hash(state), state)? {
            return Ok(at);
        }
    }
    Err(damaged())
}
