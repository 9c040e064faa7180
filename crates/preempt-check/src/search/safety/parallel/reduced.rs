//! With reduction: the states of a batch are expanded by one selection after the other, until each has one that is enough.
//!
//! A selection is enough if it leads to a state that is new or waits (`unexpanded.rs`). Following these successors, every
//! step that was left for later is taken in the end. Where the store forgets states, only new ones count.
//!
//! Invariant: no step of a state is taken twice: steps that led to nothing new would lead to nothing new a moment later.

use super::leftover::{Attempt, Try};
use super::queues::{Chunk, Waiting};
use super::worker::{BATCH, Worker};
use crate::reduce::EVERYTHING;
use crate::store::concurrent::ConcurrentStore;
use crate::store::{Pending, StateId, StoreFull};
use preempt_core::System;
use std::ops::Range;

impl<S: System + ?Sized, T: ConcurrentStore> Worker<'_, S, T> {
    /// Expands states of a chunk, from this one on, until there are enough successors; inserts these. Says where to
    /// go on.
    pub(super) fn expand_by_selections(
        &mut self,
        chunk: &Chunk,
        mut at: usize,
    ) -> (usize, Result<(), StoreFull>) {
        self.restart();
        self.tries.clear();
        self.states.clear();
        while at < chunk.len() && self.expander.arrivals.len() < BATCH {
            self.load(chunk, at);
            let waiting = chunk.waiting[at];
            self.team.unexpanded.remove(waiting.place);
            let start = self.states.len();
            self.states.extend_from_slice(&self.state);
            let state = start..self.states.len();
            let (pick, arrivals) = match self.expand_selection(waiting, 0) {
                Ok(expanded) => expanded,
                Err(full) => return (at, Err(full)),
            };
            self.tries.push(Try { waiting, pick, arrivals, state });
            at += 1;
        }
        (at, self.settle())
    }

    /// Inserts all arrivals, and goes on with those states whose selections were not enough.
    fn settle(&mut self) -> Result<(), StoreFull> {
        loop {
            self.insert()?;
            let mut tries = std::mem::take(&mut self.tries);
            tries.retain_mut(|attempt| {
                let is_open = self.is_open(attempt);
                if !is_open && attempt.pick != EVERYTHING {
                    self.gain.count();
                }
                attempt.arrivals = 0..0;
                is_open
            });
            self.tries = tries;
            self.restart();
            if self.tries.is_empty() {
                return Ok(());
            }
            for at in 0..self.tries.len() {
                let Try { waiting, pick, ref state, .. } = self.tries[at];
                self.state.clear();
                self.state.extend_from_slice(&self.states[state.clone()]);
                let (pick, arrivals) = self.expand_selection(waiting, pick + 1)?;
                (self.tries[at].pick, self.tries[at].arrivals) = (pick, arrivals);
            }
        }
    }

    /// Whether other steps of a state must be taken, too.
    fn is_open(&self, attempt: &Try) -> bool {
        attempt.pick != EVERYTHING
            && !self.expander.arrivals[attempt.arrivals.clone()].iter().any(|a| self.waits(a))
    }

    fn waits(&self, Pending { inserted, .. }: &Pending) -> bool {
        let is_stored = inserted.id != StateId::UNKNOWN;
        inserted.new || is_stored && self.team.unexpanded.contains(inserted.id.0)
    }

    /// Expands `self.state` by its first selection numbered `from` or more, but for what those before have taken.
    fn expand_selection(
        &mut self,
        waiting: Waiting,
        from: u16,
    ) -> Result<(u16, Range<usize>), StoreFull> {
        let system = self.team.system;
        self.events.at = waiting.place;
        self.expander.enabled.clear();
        system.enabled(&mut self.state, &mut self.expander.enabled);
        let enabled = &self.expander.enabled;
        if enabled.is_empty() {
            self.events.check_end(&self.state);
        }
        self.tried.clear();
        let mut pick = self.selector.next(system, &self.state, enabled, 0);
        while pick < from {
            self.tried.extend_from_slice(self.selector.selected());
            pick = self.selector.next(system, &self.state, enabled, pick + 1);
        }
        let tried = &self.tried;
        self.selector.leave_out(|step| tried.contains(step));
        let first = self.expander.arrivals.len();
        let steps = self.selector.selected();
        self.expander.expand_selected(system, &self.state, steps, &mut self.events)?;
        self.collect(waiting.place, first)?;
        Ok((pick, first..self.expander.arrivals.len()))
    }

    /// What must still be done when the store is full.
    pub(super) fn attempts(&mut self) -> Vec<Attempt> {
        let tries = std::mem::take(&mut self.tries);
        let open = tries.iter().filter(|attempt| self.is_open(attempt));
        open.map(|open| Attempt { waiting: open.waiting, refused: open.pick }).collect()
    }

    /// Inserts what was left over when another store was full, and goes on with these states.
    pub(super) fn resume_attempts(&mut self, attempts: Vec<Attempt>) -> Result<(), StoreFull> {
        self.tries.clear();
        self.states.clear();
        for Attempt { waiting, refused } in attempts {
            self.team.store.load(&mut self.local, waiting.place, &mut self.state);
            let start = self.states.len();
            self.states.extend_from_slice(&self.state);
            let state = start..self.states.len();
            self.tries.push(Try { waiting, pick: refused, arrivals: 0..0, state });
        }
        self.settle()
    }
}
