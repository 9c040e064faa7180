//! The execution behind a visit, found again from the log.
//!
//! Visits to a state before it is expanded are merged: where a process goes on from one, the visit in which it had moved last
//! itself is the one that it came from.

use super::retrace::{Mover, retrace};
use super::visit_log::{Entry, NO_PARENT, TRANSPARENT, UNKNOWN_PROCESS};
use super::visited_set::{Private, VisitedSet};
use crate::store::{StateId, Store};
use preempt_core::{ProcessId, Step, System};

/// What executions are found again from.
pub(crate) trait Past: VisitedSet {
    /// The visit to a state in which this process moved last; there is at most one.
    fn find(&self, id: StateId, mover: u16) -> Option<u32>;

    /// The steps of the execution behind a visit, from where the process `by` goes on.
    fn steps_to<S: System + ?Sized>(&mut self, system: &S, visit: u32, by: u8) -> Vec<Step> {
        let mut entries = vec![self.entry(self.visit_of(by, visit))];
        while let Some(entry) = entries.last().filter(|entry| entry.parent != NO_PARENT) {
            entries.push(self.entry(self.visit_of(entry.by, entry.parent)));
        }
        entries.reverse();
        let mover = |entry: &Entry| Mover::new(entry.mover(), entry.is(TRANSPARENT));
        let movers: Vec<Mover> = entries.iter().map(mover).collect();
        let mut target = Vec::new();
        let found = retrace(system, &movers, |at, state| {
            self.load(entries[at].state, &mut target);
            target == state
        });
        found.expect("the log holds steps of the system")
    }

    /// The visit from which a process went on, where that was found out at `visit`: if it moved last in another one,
    /// which was merged, it is that one.
    fn visit_of(&self, by: u8, visit: u32) -> u32 {
        let first = self.entry(visit);
        let record = self.record(first.state);
        let is_mover = |by: u8| self.has_mover(first.state, record, ProcessId(by.into()));
        if by == UNKNOWN_PROCESS || first.mover == u16::from(by) || !is_mover(by) {
            return visit;
        }
        self.find(first.state, by.into()).unwrap_or(visit)
    }
}

impl<T: Store> Past for Private<'_, T> {
    fn find(&self, id: StateId, mover: u16) -> Option<u32> {
        let is_it = |entry: &Entry| entry.state == id && entry.mover == mover;
        self.log.iter().rposition(is_it).map(|at| at as u32)
    }
}
