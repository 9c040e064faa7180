//! Looking at a state: which processes take their steps at a visit, and which have to wait.

use super::{Bucketed, CurrentVisit, DeferredVisit, Movers, Others, when};
use crate::search::bounded::least_preemptions::StateRecord;
use crate::search::iterative::outgoing::When;
use crate::search::iterative::visit_log::{Entry, MERGED, REVISIT};
use crate::search::iterative::visit_memory::VisitMemory;
use crate::search::iterative::visited_set::{Key, VisitedSet};
use crate::search::shared::halt::Halt;
use crate::search::shared::visit_rule::Turn;
use crate::store::memory::pages;
use preempt_core::engine::ProcessSelection;
use preempt_core::{ProcessId, System};

impl<S: System + ?Sized, V: VisitedSet> Bucketed<'_, S, V> {
    /// Finds the edges out of the state of a visit, and has those stored that will be needed.
    pub(super) fn look_at(&mut self, visit: u32) -> Result<(), Halt> {
        let entry = self.visited.entry(visit);
        if entry.is(MERGED) {
            return Ok(());
        }
        let tail = self.begin(visit, entry.state);
        loop {
            let record = self.visited.memory().record(entry.state);
            let (steps, current) = self.expand_for(entry, record)?;
            let counters = &mut self.outgoing.counters;
            counters.state_bytes = counters.state_bytes.max(self.state.len());
            let is_first = match self.reduce {
                true => !record.is_expanded(),
                false => !entry.is(REVISIT),
            };
            let invalid_end = steps == 0
                && is_first
                && counters.reports_deadlocks()
                && !self.system.is_valid_end(&self.state);
            if self.reduce {
                self.add_task(visit, tail.0, current, invalid_end);
                return Ok(());
            }
            // A visit that was not merged may be dealt with before the first one, which does what is for all.
            let is_early = entry.is(REVISIT) && !record.is_expanded();
            let leaves_rest = is_early && current.movers != Movers::Stuck;
            let (then, rest) =
                if leaves_rest { (record, None) } else { self.put_off(record, current) };
            let then = if is_early { then } else { then.expanded() };
            let wide = self.outgoing.moves_wide();
            if wide {
                self.visited.memory_mut().hold_wide_movers();
            }
            if !self.visited.memory_mut().claim(entry.state, record, then) {
                // Another thread has come to the state in between: look again.
                self.visited.memory_mut().release_wide_movers();
                self.expander.arrivals.truncate(tail.1);
                self.outgoing.retreat(tail.0, tail.1);
                continue;
            }
            let is_uniform =
                rest == Some(When::Now) || current.movers == Movers::CanMove(Others::Blocked);
            let all_go_now = is_uniform && record.has_movers(current.merged);
            if !all_go_now {
                let memory = self.visited.memory();
                let known = (entry, record);
                self.outgoing.decide(tail.0, |process| when(memory, known, current, rest, process));
            }
            if wide {
                self.visited.memory_mut().release_wide_movers();
            }
            if !leaves_rest {
                self.count_put_off(visit, record, current, rest);
            }
            if current.merged != 0 && self.outgoing.moves(ProcessId::PROPERTY) {
                let is_merged = |one| current.is_mover(one) && Some(one) != current.mover;
                self.outgoing.repeat_property(tail.0, is_merged);
            }
            if invalid_end {
                self.invalid_end(visit)?;
            }
            return self.hash_near(entry.state, tail.1);
        }
    }

    /// As [`Self::look_at`], for the processes that had to wait.
    pub(super) fn look_at_others(&mut self, deferred: DeferredVisit) -> Result<(), Halt> {
        let entry = self.visited.entry(deferred.visit);
        // No visit arrives at the lowest count of the state any more.
        let record = self.visited.memory().record(entry.state);
        if record.all_run() || !self.visited.memory_mut().claim(entry.state, record, record.freed())
        {
            return Ok(());
        }
        let tail = self.begin(deferred.visit, entry.state);
        let (system, outgoing) = (self.system, &mut self.outgoing);
        let rest = ProcessSelection { first: None, also: 0, without: record.small_movers() };
        let steps = match system.is_compiled() {
            true => {
                Some(self.expander.expand_selection(system, &mut self.state, rest, outgoing)?)
            }
            false => None,
        };
        let current = CurrentVisit { mover: None, merged: 0, movers: Movers::WentOn };
        let (memory, known) = (self.visited.memory(), (entry, record));
        let has_turn = |process| when(memory, known, current, Some(When::Now), process);
        if steps.is_none() || (steps == Some(0) && deferred.others == Others::CanMove) {
            self.enabled.clear();
            system.enabled(&mut self.state, &mut self.enabled);
            self.selected.clear();
            for (process, steps) in self.enabled.by_process() {
                if has_turn(process).is_some() {
                    self.selected.extend_from_slice(steps);
                }
            }
            self.expander.expand_selected(system, &self.state, &self.selected, outgoing)?;
        }
        if self.reduce {
            self.add_task(deferred.visit, tail.0, current, false);
            return Ok(());
        }
        self.outgoing.decide(tail.0, has_turn);
        self.hash_near(entry.state, tail.1)
    }

    /// Loads a state to expand it; says where its edges and arrivals will begin.
    #[inline(always)]
    pub(super) fn begin(&mut self, visit: u32, state: Key<V>) -> (usize, usize) {
        self.looked_at += 1;
        self.visited.load_parent(visit, state, &mut self.state);
        self.outgoing.begin(visit);
        (self.outgoing.list.len(), self.expander.arrivals.len())
    }

    /// Where the store makes use of the state before: hashes the arrivals from `first` on.
    #[inline(always)]
    pub(super) fn hash_near(&mut self, state: Key<V>, first: usize) -> Result<(), Halt> {
        if self.visited.memory().hashes_near() {
            let bytes = &self.expander.successors.data;
            self.visited.memory_mut().hash_successors(
                state,
                bytes,
                &mut self.expander.arrivals[first..],
            )?;
        }
        Ok(())
    }

    /// When those processes go on that did not move last, if they are to, and what that makes of a record.
    #[inline(always)]
    pub(super) fn put_off(
        &self,
        record: StateRecord,
        current: CurrentVisit,
    ) -> (StateRecord, Option<When>) {
        match current.turn(record) {
            Turn::Waited => (record, Some(When::Now)),
            Turn::All => {
                let was_put_off = self.looks_ahead() && record.is_deferred();
                let rest = if was_put_off { When::PulledForward } else { When::Now };
                (record.freed(), Some(rest))
            }
            Turn::Nothing => (record, None),
            Turn::Mover if leaves_nothing(record, current) => (record, None),
            Turn::Mover => (record.deferred(), self.looks_ahead().then_some(When::Later)),
        }
    }

    /// Notes, of what a visit has claimed, what is left to the next bucket.
    #[inline(always)]
    pub(super) fn count_put_off(
        &mut self,
        visit: u32,
        record: StateRecord,
        current: CurrentVisit,
        rest: Option<When>,
    ) {
        match current.movers {
            Movers::Stuck if self.looks_ahead() && record.is_deferred() => {
                self.next.ahead -= i64::from(!record.all_run());
            }
            Movers::CanMove(others) if !leaves_nothing(record, current) => match rest {
                Some(_) => self.next.ahead += 1,
                None => {
                    self.visited.keep(visit);
                    pages::push(&mut self.next.deferred, DeferredVisit { visit, others });
                }
            },
            _ => {}
        }
    }

    /// Expands `self.state` at a visit: at least the steps that are to be run. Gives the number of steps,
    /// and what is known of the last movers.
    pub(super) fn expand_for(
        &mut self,
        entry: Entry<Key<V>>,
        record: StateRecord,
    ) -> Result<(usize, CurrentVisit), Halt> {
        let is_first = !self.reduce && !entry.is(REVISIT);
        let merged = if is_first { record.small_movers() } else { 0 };
        let is_whole = self.looks_ahead() && (is_first || self.reduce);
        let (system, outgoing) = (self.system, &mut self.outgoing);
        let Some(mover) = entry.mover() else {
            let steps = self.expander.expand(system, &mut self.state, outgoing)?;
            return Ok((steps, CurrentVisit { mover: None, merged, movers: Movers::Stuck }));
        };
        let is_compiled = system.is_compiled();
        if is_compiled && !self.reduce && !is_whole {
            if record.all_run() && !is_first {
                // All others were run, so that only the mover is of interest.
                let own = self.expander.expand_process(system, &mut self.state, mover, outgoing)?;
                if let Some(steps) = own {
                    return Ok((steps, self.found_at(mover, merged, Others::Blocked)));
                }
            } else {
                let without = record.small_movers();
                let movers = ProcessSelection { first: Some(mover), also: merged, without };
                let steps =
                    self.expander.expand_selection(system, &mut self.state, movers, outgoing)?;
                // Only if none of these has steps, all must be looked at to know whether one has.
                if steps > 0 {
                    return Ok((steps, self.found_at(mover, merged, Others::Unknown)));
                }
            }
        }
        if is_whole || is_compiled && !(self.reduce && self.bucket == self.last) {
            let steps = self.expander.expand(system, &mut self.state, &mut self.outgoing)?;
            let others =
                if self.outgoing.others_move(mover) { Others::CanMove } else { Others::Blocked };
            return Ok((steps, self.found_at(mover, merged, others)));
        }
        let others = self.select(mover, merged);
        let (state, selected) = (&self.state, &self.selected);
        let steps = self.expander.expand_selected(system, state, selected, &mut self.outgoing)?;
        Ok((steps, self.found_at(mover, merged, others)))
    }

    /// What was found out at a visit where all last movers were looked at.
    #[inline(always)]
    pub(super) fn found_at(&self, mover: ProcessId, merged: u64, others: Others) -> CurrentVisit {
        let movers = match self.outgoing.moves(mover) && self.outgoing.all_move(merged) {
            true => Movers::CanMove(others),
            false => Movers::Stuck,
        };
        CurrentVisit { mover: Some(mover), merged, movers }
    }

    /// Whether the bound keeps a process from moving after this visit.
    pub(in crate::search::iterative) fn keeps_back(&mut self, deferred: DeferredVisit) -> bool {
        let entry = self.visited.entry(deferred.visit);
        self.visited.load(deferred.visit, entry.state, &mut self.state);
        entry.mover().is_some_and(|mover| self.select(mover, 0) == Others::CanMove)
    }

    /// Selects the steps of `self.state` that may be run: those of all processes, if one of the last movers cannot go
    /// on.
    pub(super) fn select(&mut self, mover: ProcessId, merged: u64) -> Others {
        self.enabled.clear();
        self.system.enabled(&mut self.state, &mut self.enabled);
        self.selected.clear();
        let moves = |process: ProcessId| !self.enabled.of(process).is_empty();
        let mut small = (0..64u16).filter(|process| merged >> process & 1 != 0).map(ProcessId);
        let all_move = moves(mover) && small.all(moves);
        let mut others = Others::Blocked;
        for (process, steps) in self.enabled.by_process() {
            let is_merged = process.0 < 64 && merged >> process.0 & 1 != 0;
            let other = process != mover && process != ProcessId::PROPERTY;
            if other {
                others = Others::CanMove;
            }
            if !other || is_merged || !all_move || self.reduce && self.is_transparent(process) {
                self.selected.extend_from_slice(steps);
            }
        }
        others
    }
}

/// Whether a visit whose last movers go on has nothing to put off: no other process has a step, or another visit has seen to it.
#[inline(always)]
fn leaves_nothing(record: StateRecord, current: CurrentVisit) -> bool {
    current.movers == Movers::CanMove(Others::Blocked) || record.all_run() || record.is_deferred()
}
