//! The execution behind a visit, found again from the log.
//!
//! Visits to a state before it is expanded are merged: where a process goes on from one, the visit in which it had moved last
//! itself is the one that it came from.

use super::retrace::{Mover, retrace};
use super::visit_log::{Entry, NO_PARENT, TRANSPARENT, UNKNOWN_PROCESS};
use super::visit_memory::VisitMemory;
use preempt_core::{ProcessId, Step, System};

/// What executions are found again from.
pub(super) trait TraceLog {
    /// Where states and records are.
    type Memory: VisitMemory;

    /// States and records.
    fn memory(&mut self) -> &mut Self::Memory;

    /// The visit with this number.
    fn visit(&self, number: u32) -> Entry<<Self::Memory as VisitMemory>::Key>;

    /// The visit to a state in which this process moved last; there is at most one.
    fn find(&self, state: <Self::Memory as VisitMemory>::Key, mover: u16) -> Option<u32>;

    /// The steps of the execution behind a visit, from where the process `by` goes on. `None` where no step fits, which
    /// only a lossy store can bring about.
    fn steps_to<S: System + ?Sized>(
        &mut self,
        system: &S,
        visit: u32,
        by: u8,
    ) -> Option<Vec<Step>> {
        let mut entries = vec![self.visit_of(by, visit)];
        while let Some(entry) = entries.last().filter(|entry| entry.parent != NO_PARENT) {
            let before = self.visit_of(entry.by, entry.parent);
            entries.push(before);
        }
        entries.reverse();
        let movers = entries.iter().map(|entry| (entry.mover(), entry.is(TRANSPARENT)));
        let movers: Vec<Mover> = movers.collect();
        retrace(system, &movers, |at, state| self.memory().is_state(entries[at].state, state))
    }

    /// The visit from which a process went on, where that was found out at `visit`: if it moved last in another one,
    /// which was merged, it is that one.
    fn visit_of(&mut self, by: u8, visit: u32) -> Entry<<Self::Memory as VisitMemory>::Key> {
        let first = self.visit(visit);
        if by == UNKNOWN_PROCESS || first.mover == u16::from(by) {
            return first;
        }
        let memory = self.memory();
        let was_mover =
            memory.has_mover(first.state, memory.record(first.state), ProcessId(by.into()));
        let merged = if was_mover { self.find(first.state, by.into()) } else { None };
        merged.map_or(first, |merged| self.visit(merged))
    }
}
