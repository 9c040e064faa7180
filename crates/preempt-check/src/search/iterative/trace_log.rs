//! The execution behind a visit, found again from the log.
//!
//! Visits to a state before it is expanded are merged: where a process goes on from one, the visit in which it had moved last
//! itself is the one that it came from.

use super::retrace::{Mover, retrace};
use super::visit_log::{Entry, NO_PARENT, TRANSPARENT, UNKNOWN_PROCESS};
use super::visited_set::{LocalVisits, VisitedSet};
use crate::store::{StateId, Store};
use preempt_core::{ProcessId, Step, System};

/// What executions are found again from.
pub(super) trait TraceLog {
    /// What a state is known by.
    type Key: Copy;

    /// The visit with this number.
    fn visit(&self, number: u32) -> Entry<Self::Key>;

    /// The visit to a state in which this process moved last; there is at most one.
    fn find(&self, state: Self::Key, mover: u16) -> Option<u32>;

    /// Whether a process was the last mover of a visit at the lowest count of the state.
    fn was_mover(&self, state: Self::Key, process: ProcessId) -> bool;

    /// Whether these are the bytes of a state.
    fn is_state(&mut self, state: Self::Key, bytes: &[u8]) -> bool;

    /// The steps of the execution behind a visit, from where the process `by` goes on. `None` where no step fits, which
    /// only a lossy store can bring about.
    fn steps_to<S: System + ?Sized>(
        &mut self,
        system: &S,
        visit: u32,
        by: u8,
    ) -> Option<Vec<Step>> {
        let mut entries = vec![self.visit(self.visit_of(by, visit))];
        while let Some(entry) = entries.last().filter(|entry| entry.parent != NO_PARENT) {
            entries.push(self.visit(self.visit_of(entry.by, entry.parent)));
        }
        entries.reverse();
        let mover = |entry: &Entry<Self::Key>| Mover::new(entry.mover(), entry.is(TRANSPARENT));
        let movers: Vec<Mover> = entries.iter().map(mover).collect();
        retrace(system, &movers, |at, state| self.is_state(entries[at].state, state))
    }

    /// The visit from which a process went on, where that was found out at `visit`: if it moved last in another one,
    /// which was merged, it is that one.
    fn visit_of(&self, by: u8, visit: u32) -> u32 {
        let first = self.visit(visit);
        let was_mover = |by: u8| self.was_mover(first.state, ProcessId(by.into()));
        if by == UNKNOWN_PROCESS || first.mover == u16::from(by) || !was_mover(by) {
            return visit;
        }
        self.find(first.state, by.into()).unwrap_or(visit)
    }
}

impl<T: Store> TraceLog for LocalVisits<'_, T> {
    type Key = StateId;

    fn visit(&self, number: u32) -> Entry {
        self.entry(number)
    }

    fn find(&self, state: StateId, mover: u16) -> Option<u32> {
        let is_it = |entry: &Entry| entry.state == state && entry.mover == mover;
        self.log.iter().rposition(is_it).map(|at| at as u32)
    }

    fn was_mover(&self, state: StateId, process: ProcessId) -> bool {
        self.has_mover(state, self.record(state), process)
    }

    fn is_state(&mut self, state: StateId, bytes: &[u8]) -> bool {
        let mut stored = Vec::new();
        self.store.load(state, &mut stored);
        stored == bytes
    }
}
